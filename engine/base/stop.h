// Cancelling and progress, handed down to everything that can take longer than 300 ms.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "engine/base/result.h"

namespace nabla::engine {

/// What a long job is told and may say. Copyable; a default one never stops and says nothing.
struct JobControl {
    std::stop_token stop;
    /// (phase in words, done, total); called from the job's thread, at most every few milliseconds.
    std::function<void(std::string_view, std::int64_t, std::int64_t)> progress;

    /// ErrorKind::Cancelled when the user has asked to stop.
    Result<void> check() const {
        if (stop.stop_requested())
            return Error{ErrorKind::Cancelled, "cancelled"};
        return {};
    }
    void say(std::string_view phase, std::int64_t done = 0, std::int64_t total = 0) const {
        if (progress)
            progress(phase, done, total);
    }
};

} // namespace nabla::engine

// The value of a result that a test takes for granted; ends the test with the error's text where there is none.
#pragma once

#include <QtGlobal>

#include "engine/base/result.h"

namespace nabla::tests {

template <typename T> T must(engine::Result<T> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
    return std::move(*result);
}

inline void must(engine::Result<void> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
}

} // namespace nabla::tests

// Phase: which part of a training iteration a step belongs to; one word for plans, events and recordings.
#pragma once

#include <cstdint>

namespace nabla::engine {

enum class Phase : std::uint8_t { None, Forward, Backward, Optimizer };

} // namespace nabla::engine

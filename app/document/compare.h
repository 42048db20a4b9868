// Comparing two values element by element, the way every check of ours does.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/result.h"
#include "engine/tensor/runtime_value.h"

namespace nabla::app {

struct Tolerance {
    double rtol = 1e-3; ///< of the expected element (NumPy's rule), unless ofMax
    double atol = 1e-7;
    bool ofMax = false; ///< rtol is a share of the largest finite expected entry
};

/// NaN equals NaN, an infinity equals the same infinity; integers, bools and strings must be equal.
struct ValueDifference {
    double largest = 0;       ///< largest absolute difference of finite elements
    double largestOfMax = 0;  ///< the same over the largest finite expected entry (0 when all are 0 and equal)
    std::int64_t worstIndex = -1;
    std::int64_t outside = 0; ///< elements outside the tolerance
    std::string text;         ///< one sentence about the worst element; empty when nothing is outside
};

/// Errors (Check): another kind, element type (unless both are floats), or shape; the numbers that disagree are named.
engine::Result<ValueDifference> compareValues(const engine::RuntimeValue& expected, const engine::RuntimeValue& actual, const Tolerance& tolerance = {});

} // namespace nabla::app

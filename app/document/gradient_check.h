// Gradients against central differences in double, along random directions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/autodiff/grad.h"
#include "engine/runtime/session.h"

namespace nabla::app {

/// For each wrt value a few random directions d (seeded): (L(x + h d) - L(x - h d)) / 2h against <gradient, d>, where
/// L = sum of output * cotangent. h = 1e-5 scaled by the value's largest entry; a difference above 1e-6 relative fails.
struct GradientCheck {
    bool passed = true;
    double worst = 0;          ///< largest relative difference
    std::string worstValue;
    std::string text;
};
/// `inputs` holds the joint graph's inputs, cotangents included. Kinks near x can fail honestly.
engine::Result<GradientCheck> checkGradients(const engine::Graph& forward, const engine::JointGraph& joint, const engine::NamedValues& inputs,
    const engine::JobControl& job = {});

} // namespace nabla::app

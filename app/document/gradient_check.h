// Gradients against central differences in double, along random directions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/autodiff/grad.h"
#include "engine/runtime/session.h"

namespace nabla::app {

/// For each wrt value a few random directions d (seeded): (L(x + h d) - L(x - h d)) / 2h against <gradient, d>, where
/// L = sum of output * cotangent; extrapolated from h and h / 2 (Richardson). d is as large as the value, element by element, h = 1e-4;
/// a difference above 1e-6 relative fails.
struct GradientCheck {
    bool passed = true;
    double worst = 0;          ///< largest relative difference
    std::string worstValue, worstText; ///< its name; both numbers
    std::string text;
};
/// `inputs` holds the joint graph's inputs, cotangents included. Kinks near x can fail honestly.
engine::Result<GradientCheck> checkGradients(const engine::Graph& forward, const engine::JointGraph& joint, const engine::NamedValues& inputs,
    const engine::JobControl& job = {});

} // namespace nabla::app

// Gradients that are not finite: where that was born, and which node hides it on the way forward.
#pragma once

#include <vector>

#include "engine/autodiff/grad.h"
#include "engine/runtime/session.h"

namespace nabla::app {

/// One warning for each place where a NaN or infinity of a gradient was born, found by stepping through the joint graph and walking back from the
/// first such element of each gradient (numeric_trouble.h). `node` is the forward node, `value` what is differentiated by. When the output itself
/// is finite, the nodes are named that stop the trouble on the way forward (Where, a minimum) but cannot stop it on the way back, since 0 times
/// what is not finite is NaN. Empty when every gradient of `results` is finite. Errors: of running; Cancelled.
engine::Result<std::vector<engine::Diagnostic>> gradientTrouble(const engine::JointGraph& joint, const engine::NamedValues& inputs,
    const engine::NamedValues& results, const engine::SessionOptions& options, const engine::JobControl& job = {});

} // namespace nabla::app

// Optimizers, weight decay, clipping and learning-rate schedules: what is asked for, and its nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/training/node_writer.h"

namespace nabla::engine {

enum class OptimizerKind : std::uint8_t { Sgd, Momentum, Nesterov, Adam, AdamW, Adagrad };

/// Defaults are those of torch.optim (PyTorch 2.15), whose formulas these are: SGD, Adam, AdamW and Adagrad there.
struct OptimizerSpec {
    OptimizerKind kind = OptimizerKind::Adam;
    double momentum = 0.9; ///< Momentum and Nesterov
    double beta1 = 0.9, beta2 = 0.999; ///< Adam, AdamW
    std::optional<double> epsilon; ///< 1e-8; Adagrad 1e-10
    double rateDecay = 0; ///< Adagrad: rate / (1 + steps done * rateDecay)
    double weightDecay = 0;
    /// Coupled: the gradient gets weightDecay * weight added. Decoupled: the weight shrinks by rate * weightDecay beforehand
    /// (Loshchilov and Hutter 2019).
    enum class Decay : std::uint8_t { OfKind, Coupled, Decoupled } decay = Decay::OfKind; ///< OfKind: AdamW decoupled, the others coupled
};

/// Applied to the gradients before the optimizer sees them.
struct ClipSpec {
    enum class Kind : std::uint8_t { None, Norm, Value } kind = Kind::None;
    double limit = 1; ///< torch.nn.utils.clip_grad_norm_(max_norm), clip_grad_value_(clip_value)
};

/// factor(t) of the base rate at step t = 0, 1, 2, …, counted in steps. Every schedule may begin with a warm-up: for t < warmup the factor is
/// (t + 1) / warmup, from then on the schedule is followed with t - warmup.
struct ScheduleSpec {
    enum class Kind : std::uint8_t {
        Constant, ///< 1
        Step,     ///< gamma ^ floor(t / every): torch.optim.lr_scheduler.StepLR
        Cosine,   ///< end + (1 - end) (1 + cos(pi t / length)) / 2, `end` beyond: CosineAnnealingLR's closed form
        Linear,   ///< 1 + (end - 1) min(t, length) / length: LinearLR
    } kind = Kind::Constant;
    std::int64_t warmup = 0;
    std::int64_t every = 1000;
    double gamma = 0.1;
    std::int64_t length = 1000; ///< steps without the warm-up
    double end = 0;             ///< share of the base rate at the end
};

/// `sgd`, `momentum`, `nesterov`, `adam`, `adamw`, `adagrad`.
std::string_view name(OptimizerKind kind);
/// Errors (Usage): the names there are.
Result<OptimizerKind> optimizerFromName(std::string_view text);

/// Errors (Usage): a number out of its range, by name.
Result<void> check(const OptimizerSpec& spec);
Result<void> check(const ClipSpec& spec);
Result<void> check(const ScheduleSpec& spec);

/// One weight in the graph, with what its update needs and leaves behind.
struct UpdateSlot {
    std::string suffix; ///< `momentum`, `exp_avg`, `exp_avg_sq`, `sum`: as PyTorch calls them
    ValueId input, output;
};
struct WeightUpdate {
    ValueId weight, gradient; ///< in
    DType dtype = DType::Float32;
    std::vector<UpdateSlot> states; ///< inputs given by the caller, one per stateNames(); outputs filled in
    ValueId next; ///< out
};

/// The state that an optimizer keeps per weight, each shaped as the weight and zero before the first step.
std::vector<std::string> stateNames(OptimizerKind kind);

/// Writes the factor of the schedule. `step`: int64 scalar, steps done before this one. Returns a float64 scalar.
ValueId writeSchedule(NodeWriter& w, const ScheduleSpec& spec, ValueId step);
/// Writes sqrt(sum of squares) over all gradients, a float64 scalar when one of them is, else float32.
ValueId writeNorm(NodeWriter& w, const std::vector<WeightUpdate>& updates, DType& normType);
/// Replaces the gradients of `updates` by clipped ones.
void writeClip(NodeWriter& w, const ClipSpec& spec, ValueId norm, DType normType, std::vector<WeightUpdate>& updates);
/// Writes the update of every weight. `rate`: float64 scalar of this step; `step` as above.
void writeUpdates(NodeWriter& w, const OptimizerSpec& spec, ValueId rate, ValueId step, std::vector<WeightUpdate>& updates);

} // namespace nabla::engine

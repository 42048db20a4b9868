// What the attributes of RNN, GRU and LSTM say, read once for the kernel and for the expansion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/ops/op_def.h"

namespace nabla::engine {

enum class Activation : std::uint8_t { Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign, Softplus };

/// One activation with its two numbers, where it has them.
struct ActivationSpec {
    Activation kind = Activation::Tanh;
    double alpha = 0, beta = 0;
};

enum class RecurrentKind : std::uint8_t { Rnn, Gru, Lstm };

struct RecurrentSpec {
    RecurrentKind kind = RecurrentKind::Rnn;
    std::int64_t gates = 1;           ///< 1, 3 (z r h) or 4 (i o f c)
    std::vector<bool> reverse;        ///< one per direction
    std::vector<std::vector<ActivationSpec>> activations; ///< per direction: f, then g, h where the operator has them
    std::optional<double> clip;       ///< bound on what goes into the activations
    std::int64_t hiddenSize = 0;      ///< 0: not stated
    bool batchFirst = false;          ///< layout = 1
    bool linearBeforeReset = false;   ///< GRU
    bool coupledGates = false;        ///< LSTM input_forget: f = 1 - i
};

/// Errors (Run): an unknown direction or activation, too few activations, a negative clip.
Result<RecurrentSpec> recurrentSpec(const Node& node);

/// Expansion into Scan and elementary operators; see OpDef::body.
Result<GraphPtr> recurrentBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids);

} // namespace nabla::engine

// Reading of the attributes of RNN, GRU and LSTM.
#include "engine/ops/recurrent_spec.h"

#include <algorithm>
#include <cctype>

namespace nabla::engine {

namespace {

/// Activations by name, with the defaults of the ONNX operators of the same name; `numbers` says how many of alpha, beta it takes.
struct ActivationRow {
    std::string_view name;
    Activation kind;
    int numbers;
    double alpha, beta;
};
constexpr ActivationRow kActivations[] = {
    {"relu", Activation::Relu, 0, 0, 0},
    {"tanh", Activation::Tanh, 0, 0, 0},
    {"sigmoid", Activation::Sigmoid, 0, 0, 0},
    {"affine", Activation::Affine, 2, 1, 0},
    {"leakyrelu", Activation::LeakyRelu, 1, 0.01F, 0},
    {"thresholdedrelu", Activation::ThresholdedRelu, 1, 1, 0},
    {"scaledtanh", Activation::ScaledTanh, 2, 1, 1},
    {"hardsigmoid", Activation::HardSigmoid, 2, 0.2F, 0.5F},
    {"elu", Activation::Elu, 1, 1, 0},
    {"softsign", Activation::Softsign, 0, 0, 0},
    {"softplus", Activation::Softplus, 0, 0, 0},
};

Result<const ActivationRow*> activationRow(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char ch) { return static_cast<char>(std::tolower(static_cast<unsigned char>(ch))); });
    for (const ActivationRow& row : kActivations) {
        if (row.name == text)
            return &row;
    }
    return runError("activation \"{}\" is not known", text);
}

Result<void> readActivations(const Node& node, RecurrentSpec& spec) {
    std::vector<std::string> names = node.stringsAttribute("activations");
    const std::size_t perDirection = spec.kind == RecurrentKind::Lstm ? 3 : spec.kind == RecurrentKind::Gru ? 2 : 1;
    const std::size_t count = perDirection * spec.reverse.size();
    if (names.empty()) {
        for (std::size_t i = 0; i < count; ++i)
            names.emplace_back(i % perDirection == 0 && spec.kind != RecurrentKind::Rnn ? "Sigmoid" : "Tanh");
    }
    if (names.size() < count)
        return runError("{} activations are named, {} are wanted for {} directions", names.size(), count, spec.reverse.size());
    // The numbers are consumed in order, by the functions that take them (ONNX: activation_alpha, activation_beta).
    const std::vector<float> alphas = node.floatsAttribute("activation_alpha"), betas = node.floatsAttribute("activation_beta");
    std::size_t nextAlpha = 0, nextBeta = 0;
    for (std::size_t i = 0; i < count; ++i) {
        NABLA_TRY(const ActivationRow* const row, activationRow(names[i]));
        ActivationSpec activation{row->kind, row->alpha, row->beta};
        if (row->numbers >= 1 && nextAlpha < alphas.size())
            activation.alpha = static_cast<double>(alphas[nextAlpha++]);
        if (row->numbers >= 2 && nextBeta < betas.size())
            activation.beta = static_cast<double>(betas[nextBeta++]);
        if (i % perDirection == 0)
            spec.activations.emplace_back();
        spec.activations.back().push_back(activation);
    }
    return {};
}

} // namespace

Result<RecurrentSpec> recurrentSpec(const Node& node) {
    RecurrentSpec spec;
    spec.kind = node.opType == "LSTM" ? RecurrentKind::Lstm : node.opType == "GRU" ? RecurrentKind::Gru : RecurrentKind::Rnn;
    spec.gates = spec.kind == RecurrentKind::Lstm ? 4 : spec.kind == RecurrentKind::Gru ? 3 : 1;
    const std::string direction = node.stringAttribute("direction", "forward");
    if (direction == "forward")
        spec.reverse = {false};
    else if (direction == "reverse")
        spec.reverse = {true};
    else if (direction == "bidirectional")
        spec.reverse = {false, true};
    else
        return runError("direction \"{}\" is none of forward, reverse, bidirectional", direction);
    NABLA_CHECK(readActivations(node, spec));
    if (node.attribute("clip")) {
        spec.clip = static_cast<double>(node.floatAttribute("clip", 0));
        if (*spec.clip < 0)
            return runError("clip is {}, it must not be negative", *spec.clip);
    }
    spec.hiddenSize = node.intAttribute("hidden_size", 0);
    spec.batchFirst = node.intAttribute("layout", 0) != 0;
    spec.linearBeforeReset = node.intAttribute("linear_before_reset", 0) != 0;
    spec.coupledGates = node.intAttribute("input_forget", 0) != 0;
    return spec;
}

} // namespace nabla::engine

// The nine kinds of operators that share a colour and a glyph in every view; no Qt.
#pragma once

#include <cstdint>
#include <string_view>

namespace nabla::views {

enum class OperatorKind : std::uint8_t {
    Convolution,
    Matrix,
    Activation,
    Normalization,
    Elementwise,
    Reduction, ///< and pooling, losses, sorting
    Movement, ///< reshaping, slicing, joining, indexing, copying
    Control,
    Constant, ///< constants, weights, graph inputs and outputs
    Unknown,
};
constexpr int kOperatorKindCount = 10;

/// The kind of an operator of ONNX (domain "" or "ai.onnx"), ai.onnx.ml, ai.onnx.preview.training, com.microsoft or
/// nabla. An operator of another domain, or one nobody knows, is Unknown.
OperatorKind operatorKind(std::string_view opType, std::string_view domain);

/// One character (UTF-8) for the 16 px tile: "C", "M", ..., "?" for Unknown.
std::string_view operatorGlyph(OperatorKind kind);
/// The kind's name in tokens.json: "conv", "linear", ...; empty for Unknown.
std::string_view operatorToken(OperatorKind kind);
/// The kind in English words, to be translated by the caller: "Convolution".
const char* operatorKindWord(OperatorKind kind);

} // namespace nabla::views

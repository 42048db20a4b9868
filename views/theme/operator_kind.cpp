// Which operator is of which kind. The words are those of the design's table; new operators get one line.
#include "views/theme/operator_kind.h"

#include <algorithm>
#include <iterator>

namespace nabla::views {
namespace {

constexpr std::string_view kConvolution[] = {"CausalConvWithState", "Col2Im", "Conv", "ConvInteger", "ConvTranspose",
    "DeformConv", "FusedConv", "NhwcConv", "QLinearConv"};
constexpr std::string_view kMatrix[]
    = {"Attention", "Det", "Einsum", "FlexAttention", "FusedGemm", "FusedMatMul", "GRU", "Gemm", "GroupQueryAttention",
        "LSTM", "LinearAttention", "LinearClassifier", "LinearRegressor", "MatMul", "MatMulInteger", "MatMulNBits",
        "MultiHeadAttention", "QGemm", "QLinearMatMul", "RNN", "SVMClassifier", "SVMRegressor"};
constexpr std::string_view kActivation[] = {"BiasGelu", "Celu", "Elu", "FastGelu", "Gelu", "HardSigmoid", "HardSwish",
    "Hardmax", "LeakyRelu", "LogSoftmax", "Mish", "PRelu", "QuickGelu", "Relu", "Selu", "Shrink", "Sigmoid", "Softmax",
    "Softplus", "Softsign", "SwiGLU", "Swish", "Tanh", "ThresholdedRelu"};
constexpr std::string_view kNormalization[]
    = {"BatchNormalization", "EmbedLayerNormalization", "GroupNorm", "GroupNormalization", "InstanceNormalization",
        "LRN", "LayerNormalization", "LpNormalization", "MeanVarianceNormalization", "Normalizer", "RMSNormalization",
        "SimplifiedLayerNormalization", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"};
constexpr std::string_view kElementwise[] = {"Abs", "Acos", "Acosh", "Adagrad", "Adam", "Add", "And", "Asin", "Asinh",
    "Atan", "Atanh", "Binarizer", "BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast",
    "CastLike", "CastMap", "Ceil", "Clip", "Cos", "Cosh", "DequantizeLinear", "Div", "Dropout", "DynamicQuantizeLinear",
    "Equal", "Erf", "Exp", "Floor", "FusedElementwise", "Greater", "GreaterOrEqual", "Imputer", "IsInf", "IsNaN",
    "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mod", "Momentum", "Mul", "Neg", "Not", "Or", "Pow",
    "QLinearAdd", "QLinearMul", "QuantizeLinear", "Reciprocal", "RotaryEmbedding", "Round", "Scaler", "Sign", "Sin",
    "Sinh", "Sqrt", "Sub", "Sum", "Tan", "Where", "Xor"};
constexpr std::string_view kReduction[]
    = {"ArgMax", "ArgMin", "AveragePool", "CumProd", "CumSum", "DFT", "GlobalAveragePool", "GlobalLpPool",
        "GlobalMaxPool", "LpPool", "MaxPool", "MaxRoiPool", "MelWeightMatrix", "NegativeLogLikelihoodLoss",
        "NonMaxSuppression", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "RoiAlign", "STFT", "SoftmaxCrossEntropyLoss",
        "TfIdfVectorizer", "TopK", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "Unique"};
constexpr std::string_view kMovement[] = {"AffineGrid", "ArrayFeatureExtractor", "CategoryMapper", "CenterCropPad",
    "Compress", "Concat", "ConcatFromSequence", "DepthToSpace", "DictVectorizer", "Expand", "EyeLike",
    "FeatureVectorizer", "Flatten", "Gather", "GatherElements", "GatherND", "GridSample", "Identity", "ImageDecoder",
    "LabelEncoder", "MaxUnpool", "MemcpyFromHost", "MemcpyToHost", "NonZero", "OneHot", "OneHotEncoder", "Optional",
    "OptionalGetElement", "OptionalHasElement", "Pad", "RegexFullMatch", "ReorderInput", "ReorderOutput", "Reshape",
    "Resize", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "SequenceAt", "SequenceConstruct",
    "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "Shape", "Size", "Slice", "SpaceToDepth",
    "Split", "SplitToSequence", "Squeeze", "StringConcat", "StringNormalizer", "StringSplit", "TensorScatter", "Tile",
    "Transpose", "Trilu", "Unsqueeze", "Upsample", "ZipMap"};
constexpr std::string_view kControl[] = {"Call", "Gradient", "If", "Loop", "Scan", "SequenceMap"};
constexpr std::string_view kConstant[] = {"Bernoulli", "BlackmanWindow", "Constant", "ConstantOfShape", "HammingWindow",
    "HannWindow", "Initializer", "Input", "Multinomial", "Output", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike", "Range"};

struct KindRow {
    std::string_view token, glyph;
    const char* word;
    const std::string_view* first;
    const std::string_view* last;
};

/// In the order of the enumerators.
constexpr KindRow kRows[] = {
    {"conv", "C", "Convolution", std::begin(kConvolution), std::end(kConvolution)},
    {"linear", "M", "Matrix product", std::begin(kMatrix), std::end(kMatrix)},
    {"act", "σ", "Activation", std::begin(kActivation), std::end(kActivation)},
    {"norm", "N", "Normalization", std::begin(kNormalization), std::end(kNormalization)},
    {"elem", "+", "Element-wise", std::begin(kElementwise), std::end(kElementwise)},
    {"reduce", "Σ", "Reduction, pooling", std::begin(kReduction), std::end(kReduction)},
    {"shape", "⇄", "Data movement", std::begin(kMovement), std::end(kMovement)},
    {"control", "◇", "Control flow", std::begin(kControl), std::end(kControl)},
    {"const", "k", "Constant, input", std::begin(kConstant), std::end(kConstant)},
    {"", "?", "Unknown operator", nullptr, nullptr},
};
static_assert(std::size(kRows) == kOperatorKindCount);

constexpr std::string_view kDomains[] = {"", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training",
    "com.microsoft", "com.microsoft.nchwc", "nabla"};

} // namespace

OperatorKind operatorKind(std::string_view opType, std::string_view domain) {
    if (std::find(std::begin(kDomains), std::end(kDomains), domain) == std::end(kDomains))
        return OperatorKind::Unknown;
    for (int k = 0; k < kOperatorKindCount; ++k) {
        if (kRows[k].first != nullptr && std::binary_search(kRows[k].first, kRows[k].last, opType))
            return static_cast<OperatorKind>(k);
    }
    return OperatorKind::Unknown;
}

std::string_view operatorGlyph(OperatorKind kind) {
    return kRows[static_cast<int>(kind)].glyph;
}
std::string_view operatorToken(OperatorKind kind) {
    return kRows[static_cast<int>(kind)].token;
}
const char* operatorKindWord(OperatorKind kind) {
    return kRows[static_cast<int>(kind)].word;
}

} // namespace nabla::views

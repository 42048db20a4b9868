// ai.onnx.ml, features in and features out: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, OneHotEncoder, Scaler.
#include <algorithm>
#include <unordered_map>

#include "engine/ops/cost_rules.h"
#include "engine/ops/ml_common.h"
#include "engine/ops/mover.h"

namespace nabla::engine {

namespace {

using FeatureTypes = TypeList<float, double, std::int64_t, std::int32_t>;

Result<void> runArrayFeatureExtractor(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto indices, needInts(c, 1));
    if (x.rank() == 0)
        return runError("ArrayFeatureExtractor wants at least one axis, input 0 is a scalar");
    const std::int64_t features = x.shape().back(), count = static_cast<std::int64_t>(indices.size());
    for (const std::int64_t i : indices) {
        if (i < 0 || i >= features)
            return runError("index {} is outside the {} features", i, features);
    }
    Shape shape = x.shape();
    shape.back() = count;
    if (shape.size() == 1)
        shape.insert(shape.begin(), 1); // a vector is one row
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    const std::int64_t rows = features == 0 ? 0 : x.elementCount() / features;
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = 0; i < count; ++i)
            copyElements(y, r * count + i, x, r * features + indices[static_cast<std::size_t>(i)], 1);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runBinarizer(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    const float threshold = c.floatAttribute("threshold");
    NABLA_CHECK(dispatch(FeatureTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        const auto in = x.data<T>();
        std::transform(in.begin(), in.end(), y.mutableData<T>().begin(), [&](T v) { return static_cast<T>(static_cast<double>(v) > static_cast<double>(threshold)); });
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

/// Inputs side by side, each cut or filled with zeros to its stated width.
Result<void> runFeatureVectorizer(const KernelContext& c) {
    const auto widths = c.intsAttribute("inputdimensions");
    if (widths.size() != c.inputCount() || widths.empty())
        return runError("inputdimensions names {} widths for {} inputs", widths.size(), c.inputCount());
    std::int64_t rows = 0, width = 0;
    std::vector<Tensor> inputs;
    std::vector<RowShape> shapes;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (widths[i] < 0 || widths[i] > INT32_MAX)
            return runError("inputdimensions[{}] is {}", i, widths[i]);
        NABLA_TRY(const Tensor x, needTensor(c, i));
        NABLA_TRY(const RowShape shape, rowShape(c, x));
        if (i > 0 && shape.rows != rows)
            return runError("input {} has {} rows, the first has {}", i, shape.rows, rows);
        rows = shape.rows;
        width += widths[i];
        NABLA_TRY(Tensor floats, asFloats(x));
        inputs.push_back(std::move(floats));
        shapes.push_back(shape);
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, {rows, width}));
    float* out = y.mutableData<float>().data();
    std::fill_n(out, y.elementCount(), 0.0F);
    for (std::size_t i = 0; i < widths.size(); out += widths[i], ++i) {
        const float* in = inputs[i].data<float>().data();
        for (std::int64_t r = 0; r < rows; ++r)
            std::copy_n(in + r * shapes[i].columns, std::min(widths[i], shapes[i].columns), out + r * width);
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// A list that holds one number for all features, or one for each.
template <typename T> Result<void> checkPerFeature(std::string_view what, const std::vector<T>& values, std::int64_t features) {
    if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != features)
        return runError("{} has {} numbers for {} features", what, values.size(), features);
    return {};
}
template <typename T> T perFeature(const std::vector<T>& values, std::size_t feature) { return values.size() == 1 ? values[0] : values[feature]; }

std::int64_t featureCount(const Tensor& x) { return x.rank() == 0 ? 1 : x.shape().back(); }

template <typename T, typename V> Result<void> impute(const KernelContext& c, const Tensor& x, const std::vector<V>& imputed, V replaced) {
    NABLA_CHECK(checkPerFeature(kIsFloat<T> ? "imputed_value_floats" : "imputed_value_int64s", imputed, featureCount(x)));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    const auto in = x.data<T>();
    const auto out = y.mutableData<T>();
    const auto features = static_cast<std::size_t>(std::max<std::int64_t>(1, featureCount(x)));
    const bool nan = replaced != replaced;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const bool missing = nan ? in[i] != in[i] : in[i] == static_cast<T>(replaced);
        out[i] = missing ? static_cast<T>(perFeature(imputed, i % features)) : in[i];
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runImputer(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    return dispatch(FeatureTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        if constexpr (kIsFloat<T>)
            return impute<T>(c, x, c.floatsAttribute("imputed_value_floats"), c.floatAttribute("replaced_value_float"));
        else
            return impute<T>(c, x, c.intsAttribute("imputed_value_int64s"), c.intAttribute("replaced_value_int64"));
    });
}

Result<void> runNormalizer(const KernelContext& c) {
    NABLA_TRY(const Tensor given, needTensor(c, 0));
    NABLA_TRY(const RowShape shape, rowShape(c, given));
    NABLA_TRY(const Tensor x, asFloats(given));
    const std::string norm = c.stringAttribute("norm");
    if (norm != "MAX" && norm != "L1" && norm != "L2")
        return runError("norm is \"{}\", wants MAX, L1 or L2", norm.substr(0, 100));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, x.shape()));
    for (std::int64_t r = 0; r < shape.rows; ++r) {
        const auto row = x.data<float>().subspan(static_cast<std::size_t>(r * shape.columns), static_cast<std::size_t>(shape.columns));
        double divisor = norm == "MAX" && !row.empty() ? static_cast<double>(*std::max_element(row.begin(), row.end())) : 0.0; // the largest, not the largest magnitude
        for (const float v : row) {
            if (norm != "MAX")
                divisor += norm == "L1" ? std::abs(static_cast<double>(v)) : static_cast<double>(v) * static_cast<double>(v);
        }
        if (norm == "L2")
            divisor = std::sqrt(divisor);
        const auto out = y.mutableData<float>().subspan(static_cast<std::size_t>(r * shape.columns), row.size());
        std::transform(row.begin(), row.end(), out.begin(), [&](float v) { return divisor == 0 ? v : static_cast<float>(static_cast<double>(v) / divisor); });
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runScaler(const KernelContext& c) {
    NABLA_TRY(const Tensor given, needTensor(c, 0));
    NABLA_TRY(const Tensor x, asFloats(given));
    auto scale = c.floatsAttribute("scale"), offset = c.floatsAttribute("offset");
    if (scale.empty())
        scale = {1.0F};
    if (offset.empty())
        offset = {0.0F};
    NABLA_CHECK(checkPerFeature("scale", scale, featureCount(x)));
    NABLA_CHECK(checkPerFeature("offset", offset, featureCount(x)));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, x.shape()));
    const auto in = x.data<float>();
    const auto out = y.mutableData<float>();
    const auto features = static_cast<std::size_t>(std::max<std::int64_t>(1, featureCount(x)));
    for (std::size_t i = 0; i < in.size(); ++i)
        out[i] = (in[i] - perFeature(offset, i % features)) * perFeature(scale, i % features);
    c.setOutput(0, std::move(y));
    return {};
}

/// 1 at the place of each element's category. `placeOf` gives it, or -1.
template <typename F> Result<void> oneHot(const KernelContext& c, const Tensor& x, std::size_t categories, F&& placeOf) {
    Shape shape = x.shape();
    shape.push_back(static_cast<std::int64_t>(categories));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, shape));
    const auto out = y.mutableData<float>();
    std::fill(out.begin(), out.end(), 0.0F);
    const bool unknownIsZeros = c.intAttribute("zeros") != 0;
    for (std::int64_t i = 0; i < x.elementCount(); ++i) {
        const std::int64_t place = placeOf(i);
        if (place >= 0)
            out[static_cast<std::size_t>(i) * categories + static_cast<std::size_t>(place)] = 1.0F;
        else if (!unknownIsZeros)
            return runError("element {} is \"{}\", which is none of the {} categories, and zeros is 0", i, x.asText(i).substr(0, 100), categories);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runOneHotEncoder(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    const auto integers = c.node().intsAttribute("cats_int64s");
    const auto strings = c.node().stringsAttribute("cats_strings");
    if (integers.empty() == strings.empty())
        return runError("one of cats_int64s and cats_strings is wanted, got {} and {}", integers.size(), strings.size());
    if ((x.dtype() == DType::String) == strings.empty())
        return runError("OneHotEncoder looks {} up in {}", name(x.dtype()), strings.empty() ? "cats_int64s" : "cats_strings");
    const auto find = [](const auto& places, const auto& key) {
        const auto it = places.find(key);
        return it == places.end() ? std::int64_t{-1} : it->second;
    };
    if (!strings.empty()) {
        std::unordered_map<std::string, std::int64_t> places;
        for (std::size_t i = 0; i < strings.size(); ++i)
            places[strings[i]] = static_cast<std::int64_t>(i);
        return oneHot(c, x, strings.size(), [&](std::int64_t i) { return find(places, x.data<std::string>()[static_cast<std::size_t>(i)]); });
    }
    if (!isFloat(x.dtype()) && !isInteger(x.dtype()))
        return typeError(c, x.dtype());
    std::unordered_map<std::int64_t, std::int64_t> places;
    for (std::size_t i = 0; i < integers.size(); ++i)
        places[integers[i]] = static_cast<std::int64_t>(i);
    return oneHot(c, x, integers.size(), [&](std::int64_t i) { return isFloat(x.dtype()) && std::isnan(x.asDouble(i)) ? -1 : find(places, x.asInt64(i)); });
}

std::optional<ValueType> likeInput(const Graph&, const Node&, const InferenceInputs& inputs, std::size_t) {
    return inputs.types.empty() || !inputs.types[0].isTensor() ? std::nullopt : std::optional(inputs.types[0]);
}
std::optional<ValueType> vectorizedType(const Graph&, const Node& node, const InferenceInputs& inputs, std::size_t) {
    std::int64_t width = 0;
    for (const std::int64_t part : node.intsAttribute("inputdimensions")) {
        if (part < 0 || part > INT32_MAX)
            return std::nullopt;
        width += part;
    }
    return floatRows(inputs, width);
}

constexpr auto kMl = "ai.onnx.ml";
constexpr auto kNoTraining = "operators of ai.onnx.ml hold what was learned elsewhere; PyTorch has none of them to compare a rule with";

constexpr OpDef kOps[] = {
    {.name = "ArrayFeatureExtractor", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, ArrayFeatureExtractor-1", .run = runArrayFeatureExtractor,
        .gradient = notDifferentiable(kNoTraining), .flops = noFlops, .bytes = readsChosen},
    {.name = "Binarizer", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, Binarizer-1", .run = runBinarizer,
        .gradient = notDifferentiable("its result is 0 or 1"), .flops = elementwise<1>},
    {.name = "FeatureVectorizer", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, FeatureVectorizer-1", .run = runFeatureVectorizer,
        .gradient = notDifferentiable(kNoTraining), .flops = noFlops, .refineShape = vectorizedType},
    {.name = "Imputer", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, Imputer-1", .run = runImputer, .gradient = notDifferentiable(kNoTraining), .flops = elementwise<1>,
        .refineShape = likeInput},
    {.name = "Normalizer", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, Normalizer-1", .run = runNormalizer,
        .gradient = notDifferentiable(kNoTraining), .flops = perOutput<3>, .refineShape = floatLikeInput},
    {.name = "OneHotEncoder", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, OneHotEncoder-1", .run = runOneHotEncoder,
        .gradient = notDifferentiable("its result is 0 or 1"), .flops = noFlops},
    {.name = "Scaler", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, Scaler-1", .run = runScaler, .gradient = notDifferentiable(kNoTraining), .flops = perOutput<2>,
        .refineShape = floatLikeInput},
};

} // namespace

std::span<const OpDef> mlFeatureOps() { return kOps; }

} // namespace nabla::engine

// ai.onnx.ml, looking values up and maps: CategoryMapper, LabelEncoder, CastMap, DictVectorizer, ZipMap.
#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "engine/ops/cost_rules.h"
#include "engine/ops/ml_common.h"
#include "engine/ops/mover.h"

namespace nabla::engine {

namespace {

/// Where each key stands; the first of equal ones. Keys are strings or numbers of one type. NaN finds NaN, as the standard says of keys,
/// and -0 finds 0, as onnxruntime and the reference evaluator have it.
class KeyTable {
public:
    explicit KeyTable(const Tensor& keys) : m_type(keys.dtype()) {
        for (std::int64_t i = 0; i < keys.elementCount(); ++i) {
            if (m_type == DType::String)
                m_strings.emplace(keys.data<std::string>()[static_cast<std::size_t>(i)], i);
            else
                m_numbers.emplace(bits(keys, i), i);
        }
    }
    /// Position of element i of a tensor of the keys' type; -1 when there is none.
    std::int64_t find(const Tensor& x, std::int64_t i) const {
        if (m_type == DType::String) {
            const auto it = m_strings.find(x.data<std::string>()[static_cast<std::size_t>(i)]);
            return it == m_strings.end() ? -1 : it->second;
        }
        const auto it = m_numbers.find(bits(x, i));
        return it == m_numbers.end() ? -1 : it->second;
    }

private:
    static std::uint64_t bits(const Tensor& t, std::int64_t i) {
        if (!isFloat(t.dtype()))
            return static_cast<std::uint64_t>(t.asInt64(i));
        const double value = t.asDouble(i);
        return std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
    }
    DType m_type;
    std::unordered_map<std::string, std::int64_t> m_strings;
    std::unordered_map<std::uint64_t, std::int64_t> m_numbers;
};

template <typename T> Tensor vectorOf(const std::vector<T>& values) { return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values); }

/// y = values[place of x among keys], or `otherwise`.
Result<void> lookUp(const KernelContext& c, const Tensor& keys, const Tensor& values, const Tensor& otherwise) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    if (keys.dtype() != x.dtype())
        return runError("{} has keys of type {}, its input is {}", c.node().opType, name(keys.dtype()), name(x.dtype()));
    if (keys.elementCount() != values.elementCount())
        return runError("{} has {} keys and {} values", c.node().opType, keys.elementCount(), values.elementCount());
    if (otherwise.dtype() != values.dtype() || otherwise.elementCount() != 1)
        return runError("the default is {}{}, one {} is wanted", name(otherwise.dtype()), toString(otherwise.shape()), name(values.dtype()));
    const KeyTable table(keys);
    NABLA_TRY(Tensor y, c.makeOutput(0, values.dtype(), x.shape()));
    for (std::int64_t i = 0; i < x.elementCount(); ++i) {
        const std::int64_t place = table.find(x, i);
        copyElements(y, i, place < 0 ? otherwise : values, std::max<std::int64_t>(0, place), 1);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runCategoryMapper(const KernelContext& c) {
    const Tensor integers = vectorOf(c.node().intsAttribute("cats_int64s")), strings = vectorOf(c.node().stringsAttribute("cats_strings"));
    if (c.input(0).dtype() == DType::String)
        return lookUp(c, strings, integers, Tensor::scalar(c.intAttribute("default_int64")));
    return lookUp(c, integers, strings, Tensor::scalar(c.stringAttribute("default_string")));
}

/// The one list among `<prefix>tensor`, `<prefix>strings`, `<prefix>int64s` and `<prefix>floats`. Errors: none or several.
Result<Tensor> listAttribute(const Node& node, const std::string& prefix) {
    std::optional<Tensor> found;
    for (const std::string_view kind : {"tensor", "strings", "int64s", "floats"}) {
        const std::string name = prefix + std::string(kind);
        const Attribute* attribute = node.attribute(name);
        if (!attribute)
            continue;
        if (found)
            return runError("LabelEncoder has several lists {}…, one is wanted", prefix);
        const TensorPtr tensor = node.tensorAttribute(name);
        if (kind == "tensor" && !tensor)
            return runError("{} is no tensor", name);
        found = kind == "tensor" ? *tensor : kind == "strings" ? vectorOf(node.stringsAttribute(name)) : kind == "int64s" ? vectorOf(node.intsAttribute(name)) : vectorOf(node.floatsAttribute(name));
    }
    if (!found)
        return runError("LabelEncoder has none of {}tensor, {}strings, {}int64s and {}floats", prefix, prefix, prefix, prefix);
    return *found;
}

/// LabelEncoder-1: a string to its place in classes_strings, an integer to the string there.
Result<void> runClassesStrings(const KernelContext& c) {
    const std::vector<std::string> classes = c.node().stringsAttribute("classes_strings");
    std::vector<std::int64_t> places(classes.size());
    std::iota(places.begin(), places.end(), 0);
    if (c.input(0).dtype() == DType::String)
        return lookUp(c, vectorOf(classes), vectorOf(places), Tensor::scalar(c.intAttribute("default_int64")));
    return lookUp(c, vectorOf(places), vectorOf(classes), Tensor::scalar(c.stringAttribute("default_string")));
}

Result<void> runLabelEncoder(const KernelContext& c) {
    if (c.hasAttribute("classes_strings"))
        return runClassesStrings(c);
    NABLA_TRY(const Tensor keys, listAttribute(c.node(), "keys_"));
    NABLA_TRY(const Tensor values, listAttribute(c.node(), "values_"));
    if (keys.dtype() != DType::String && !isFloat(keys.dtype()) && !isInteger(keys.dtype()))
        return typeError(c, keys.dtype());
    if (const TensorPtr otherwise = c.node().tensorAttribute("default_tensor"))
        return lookUp(c, keys, values, *otherwise);
    if (values.dtype() == DType::String)
        return lookUp(c, keys, values, Tensor::scalar(c.stringAttribute("default_string")));
    NABLA_TRY(const Tensor otherwise, castTensor(isFloat(values.dtype()) ? Tensor::scalar(c.floatAttribute("default_float")) : Tensor::scalar(c.intAttribute("default_int64")), values.dtype()));
    return lookUp(c, keys, values, otherwise);
}

// ---- maps ----

Result<const RuntimeMap*> mapInput(const KernelContext& c) {
    const RuntimeMap* map = c.inputValue(0).map();
    if (!map)
        return runError("input 0 of {} is no map", c.node().opType);
    return map;
}

/// Element i under another type, by the conversions of onnxruntime: std::stof, std::stoll, "%f".
Result<void> castInto(Tensor& to, std::int64_t at, const Tensor& from, std::int64_t i) {
    const auto place = static_cast<std::size_t>(at);
    if (from.dtype() != DType::String) {
        if (to.dtype() == DType::String)
            to.mutableData<std::string>()[place] = fmt::format("{:f}", from.asDouble(i));
        else if (to.dtype() == DType::Int64)
            to.mutableData<std::int64_t>()[place] = from.asInt64(i);
        else
            to.mutableData<float>()[place] = static_cast<float>(from.asDouble(i));
        return {};
    }
    const std::string& text = from.data<std::string>()[static_cast<std::size_t>(i)];
    if (to.dtype() == DType::String) {
        to.mutableData<std::string>()[place] = text;
        return {};
    }
    const char* const end = text.data() + text.size();
    const auto read = to.dtype() == DType::Int64 ? std::from_chars(text.data(), end, to.mutableData<std::int64_t>()[place])
                                                 : std::from_chars(text.data(), end, to.mutableData<float>()[place]);
    if (read.ec != std::errc() || read.ptr != end)
        return runError("value \"{}\" is no {}", text.substr(0, 100), name(to.dtype()));
    return {};
}

Result<void> runCastMap(const KernelContext& c) {
    NABLA_TRY(const RuntimeMap* const map, mapInput(c));
    const std::string target = c.stringAttribute("cast_to"), form = c.stringAttribute("map_form");
    const DType type = target == "TO_FLOAT" ? DType::Float32 : target == "TO_INT64" ? DType::Int64 : target == "TO_STRING" ? DType::String : DType::Undefined;
    if (type == DType::Undefined)
        return runError("cast_to is \"{}\", wants TO_FLOAT, TO_STRING or TO_INT64", target.substr(0, 100));
    if (form != "DENSE" && form != "SPARSE")
        return runError("map_form is \"{}\", wants DENSE or SPARSE", form.substr(0, 100));
    if (map->keys.dtype() != DType::Int64)
        return runError("CastMap wants a map with int64 keys, it has {}", name(map->keys.dtype()));
    const auto keys = map->keys.data<std::int64_t>();
    std::vector<std::int64_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)]; });
    const bool sparse = form == "SPARSE";
    const std::int64_t length = sparse ? c.intAttribute("max_map") : static_cast<std::int64_t>(keys.size());
    if (length < 0)
        return runError("max_map is {}", length);
    NABLA_TRY(Tensor y, c.makeOutput(0, type, {1, length}));
    fillElements(y, 0, length, type == DType::String ? Tensor::scalar<std::string>("0.f") : Tensor{}); // what onnxruntime fills with
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::int64_t at = sparse ? keys[static_cast<std::size_t>(order[i])] : static_cast<std::int64_t>(i);
        if (at < 0 || at >= length)
            return runError("key {} is outside max_map {}", at, length);
        NABLA_CHECK(castInto(y, at, map->values, order[i]));
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runDictVectorizer(const KernelContext& c) {
    NABLA_TRY(const RuntimeMap* const map, mapInput(c));
    const auto strings = c.node().stringsAttribute("string_vocabulary");
    const auto integers = c.node().intsAttribute("int64_vocabulary");
    if (!strings.empty() && !integers.empty())
        return runError("one of string_vocabulary and int64_vocabulary is wanted, got both");
    const Tensor vocabulary = strings.empty() ? vectorOf(integers) : vectorOf(strings);
    if (map->keys.elementCount() > 0 && map->keys.dtype() != vocabulary.dtype())
        return runError("the map has {} keys, the vocabulary is {}", name(map->keys.dtype()), name(vocabulary.dtype()));
    const KeyTable table(map->keys);
    NABLA_TRY(Tensor y, c.makeOutput(0, map->values.dtype(), {1, vocabulary.elementCount()}));
    for (std::int64_t i = 0; i < vocabulary.elementCount(); ++i) {
        const std::int64_t place = map->keys.elementCount() == 0 ? -1 : table.find(vocabulary, i);
        if (place < 0)
            fillElements(y, i, 1);
        else
            copyElements(y, i, map->values, place, 1);
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// Every map shares the keys; its values are a row of one copy of the input.
Result<void> runZipMap(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
        return typeError(c, x.dtype());
    NABLA_TRY(const RowShape shape, rowShape(c, x));
    NABLA_TRY(const ClassLabels labels, ClassLabels::read(c.node(), "classlabels_int64s"));
    if (static_cast<std::int64_t>(labels.count()) != shape.columns)
        return runError("ZipMap has {} labels for {} columns", labels.count(), shape.columns);
    const Tensor keys = labels.tensor();
    if (KeyTable table(keys); shape.columns > 0) {
        for (std::int64_t i = 0; i < keys.elementCount(); ++i) {
            if (table.find(keys, i) != i)
                return runError("label \"{}\" stands twice", keys.asText(i).substr(0, 100));
        }
    }
    NABLA_TRY(const Tensor kept, x.clone());
    RuntimeSequence maps;
    maps.elements.reserve(static_cast<std::size_t>(shape.rows));
    const std::int64_t rowBytes = storageBytes(x.dtype(), shape.columns);
    for (std::int64_t r = 0; r < shape.rows; ++r) {
        Tensor row = Tensor::view(x.dtype(), {shape.columns}, kept.raw() + r * rowBytes, kept.owner());
        maps.elements.emplace_back(std::make_shared<const RuntimeMap>(RuntimeMap{keys, std::move(row)}));
    }
    c.setOutput(0, RuntimeValue(std::make_shared<const RuntimeSequence>(std::move(maps))));
    return {};
}

constexpr auto kMl = "ai.onnx.ml";
constexpr auto kLookUp = "it looks its input up in a table";
constexpr auto kMap = "the cotangent of a map is not defined";

constexpr OpDef kOps[] = {
    {.name = "CategoryMapper", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, CategoryMapper-1", .run = runCategoryMapper,
        .gradient = notDifferentiable(kLookUp), .flops = noFlops},
    {.name = "LabelEncoder", .domain = kMl, .since = 4, .source = "ONNX Operators-ml.md, LabelEncoder-4", .run = runLabelEncoder,
        .gradient = notDifferentiable(kLookUp), .flops = noFlops},
    {.name = "CastMap", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, CastMap-1", .run = runCastMap, .gradient = notDifferentiable(kMap),
        .flops = noFlops},
    {.name = "DictVectorizer", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, DictVectorizer-1", .run = runDictVectorizer,
        .gradient = notDifferentiable(kMap), .flops = noFlops},
    {.name = "ZipMap", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, ZipMap-1", .run = runZipMap, .gradient = notDifferentiable(kMap),
        .flops = noFlops},
};

} // namespace

std::span<const OpDef> mlLabelOps() { return kOps; }

} // namespace nabla::engine

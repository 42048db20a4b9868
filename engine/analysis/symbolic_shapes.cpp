// One rule per family; each computes whole shapes and the caller takes from them what is missing.
#include "engine/analysis/symbolic_shapes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <unordered_map>

namespace nabla::engine {

namespace {

constexpr std::int64_t kFar = 1'000'000'000; // exporters write slice ends from here on for "to the end"

struct In {
    const Node& node;
    std::int64_t opset;
    const InferenceInputs& inputs;

    const SymbolicShape* shape(std::size_t i) const {
        return i < inputs.types.size() && inputs.types[i].isTensor() && inputs.types[i].shape ? &*inputs.types[i].shape : nullptr;
    }
    /// Elements of an integer input: constant or symbolic.
    std::optional<SymbolicShape> data(std::size_t i) const {
        if (i < inputs.shapeData.size() && inputs.shapeData[i])
            return inputs.shapeData[i];
        if (i >= inputs.constants.size() || !inputs.constants[i] || !isInteger(inputs.constants[i]->dtype()))
            return std::nullopt;
        const auto values = inputs.constants[i]->toInt64s();
        return SymbolicShape(values.begin(), values.end());
    }
    std::optional<std::vector<std::int64_t>> ints(std::string_view attribute, std::size_t input) const {
        if (node.attribute(attribute))
            return node.intsAttribute(attribute);
        const auto values = data(input);
        if (!values)
            return std::nullopt;
        std::vector<std::int64_t> out;
        for (const Dim& value : *values) {
            if (!value.constant())
                return std::nullopt;
            out.push_back(*value.constant());
        }
        return out;
    }
    std::optional<std::size_t> axis(std::int64_t value, std::size_t rank) const {
        const auto size = static_cast<std::int64_t>(rank);
        if (value < -size || value >= size)
            return std::nullopt;
        return static_cast<std::size_t>(value < 0 ? value + size : value);
    }
};

using Shapes = std::vector<SymbolicShape>;
using Rule = Shapes (*)(const In&);

Dim productOf(const SymbolicShape& shape, std::size_t begin, std::size_t end) {
    Dim product(1);
    for (std::size_t i = begin; i < end; ++i)
        product = product * shape[i];
    return product;
}

Shapes ruleConcat(const In& in) {
    const SymbolicShape* first = in.shape(0);
    const auto axis = first ? in.axis(in.node.intAttribute("axis", 1), first->size()) : std::nullopt;
    if (!axis)
        return {};
    SymbolicShape out = *first;
    out[*axis] = Dim(0);
    for (std::size_t i = 0; i < in.node.inputs.size(); ++i) {
        const SymbolicShape* shape = in.shape(i);
        if (!shape || shape->size() != out.size())
            return {};
        out[*axis] = out[*axis] + (*shape)[*axis];
    }
    return {out};
}

Shapes ruleReshape(const In& in) {
    const SymbolicShape* from = in.shape(0);
    const auto wanted = in.node.attribute("shape") ? std::optional(SymbolicShape{}) : in.data(1);
    if (!from || !wanted || in.node.attribute("shape"))
        return {};
    const bool zeroIsZero = in.node.intAttribute("allowzero", 0) != 0;
    SymbolicShape out = *wanted;
    std::optional<std::size_t> rest;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto value = out[i].constant();
        if (value && *value == 0 && !zeroIsZero && i < from->size())
            out[i] = (*from)[i];
        else if (value && *value == -1)
            rest = i;
    }
    if (rest) {
        SymbolicShape left = *from, right = out;
        right.erase(right.begin() + static_cast<std::ptrdiff_t>(*rest));
        std::erase_if(left, [&](const Dim& dim) { // a factor on both sides needs no division
            const auto same = std::find_if(right.begin(), right.end(), [&](const Dim& other) { return dim.sameAs(other) && !dim.constant(); });
            if (same == right.end())
                return false;
            right.erase(same);
            return true;
        });
        out[*rest] = Dim::floorDiv(productOf(left, 0, left.size()), productOf(right, 0, right.size()));
    }
    return {out};
}

Shapes ruleFlatten(const In& in) {
    const SymbolicShape* from = in.shape(0);
    if (!from)
        return {};
    const auto rank = static_cast<std::int64_t>(from->size());
    const std::int64_t given = in.node.intAttribute("axis", 1);
    if (given < -rank || given > rank)
        return {};
    const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
    return {{productOf(*from, 0, axis), productOf(*from, axis, from->size())}};
}

/// Begin and end padding of spatial axis i, as a sum; nothing where auto_pad decides otherwise.
struct Windows {
    std::vector<std::int64_t> kernel, strides, dilations, pads;
    std::string autoPad;
    bool ceil = false;
};

std::optional<Windows> windowsOf(const In& in, std::size_t spatial, std::vector<std::int64_t> kernel) {
    Windows w;
    w.kernel = std::move(kernel);
    const auto list = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
        auto values = in.node.intsAttribute(name);
        return values.empty() ? std::vector<std::int64_t>(count, otherwise) : values;
    };
    w.strides = list("strides", spatial, 1);
    w.dilations = list("dilations", spatial, 1);
    w.pads = list("pads", 2 * spatial, 0);
    w.autoPad = in.node.stringAttribute("auto_pad", "NOTSET");
    w.ceil = in.node.intAttribute("ceil_mode", 0) != 0;
    const bool fits = w.kernel.size() == spatial && w.strides.size() == spatial && w.dilations.size() == spatial && w.pads.size() == 2 * spatial;
    const auto positive = [](const std::vector<std::int64_t>& all) { return std::all_of(all.begin(), all.end(), [](std::int64_t v) { return v > 0 && v < kFar; }); };
    const bool sane = positive(w.kernel) && positive(w.strides) && positive(w.dilations) && std::all_of(w.pads.begin(), w.pads.end(), [](std::int64_t v) { return v > -kFar && v < kFar; });
    return fits && sane ? std::optional(w) : std::nullopt;
}

Dim windowCount(const Windows& w, const Dim& size, std::size_t i, std::size_t spatial) {
    const std::int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (w.autoPad == "SAME_UPPER" || w.autoPad == "SAME_LOWER")
        return Dim::ceilDiv(size, Dim(w.strides[i]));
    const std::int64_t pad = w.autoPad == "VALID" ? 0 : w.pads[i] + w.pads[spatial + i];
    const Dim room = size + Dim(pad - extent);
    return (w.ceil ? Dim::ceilDiv(room, Dim(w.strides[i])) : Dim::floorDiv(room, Dim(w.strides[i]))) + Dim(1);
}

Shapes ruleConv(const In& in) {
    const SymbolicShape *x = in.shape(0), *weights = in.shape(1);
    if (!x || !weights || x->size() < 3 || weights->size() != x->size())
        return {};
    const std::size_t spatial = x->size() - 2;
    std::vector<std::int64_t> kernel = in.node.intsAttribute("kernel_shape");
    for (std::size_t i = 0; kernel.size() < spatial && i < spatial; ++i)
        kernel.push_back((*weights)[i + 2].constant().value_or(0));
    const auto windows = windowsOf(in, spatial, kernel);
    if (!windows)
        return {};
    SymbolicShape out = {(*x)[0], (*weights)[0]};
    for (std::size_t i = 0; i < spatial; ++i)
        out.push_back(windowCount(*windows, (*x)[i + 2], i, spatial));
    return {out};
}

Shapes rulePool(const In& in) {
    const SymbolicShape* x = in.shape(0);
    if (!x || x->size() < 3)
        return {};
    const std::size_t spatial = x->size() - 2;
    const auto windows = windowsOf(in, spatial, in.node.intsAttribute("kernel_shape"));
    if (!windows || windows->ceil) // ceil_mode drops windows that begin in the padding: no closed form in names
        return {};
    SymbolicShape out = {(*x)[0], (*x)[1]};
    for (std::size_t i = 0; i < spatial; ++i)
        out.push_back(windowCount(*windows, (*x)[i + 2], i, spatial));
    return Shapes(2, out); // MaxPool's indices have the same shape
}

Shapes ruleConvTranspose(const In& in) {
    const SymbolicShape *x = in.shape(0), *weights = in.shape(1);
    if (!x || !weights || x->size() < 3 || weights->size() != x->size() || in.node.attribute("output_shape") || in.node.stringAttribute("auto_pad", "NOTSET") != "NOTSET")
        return {};
    const std::size_t spatial = x->size() - 2;
    std::vector<std::int64_t> kernel = in.node.intsAttribute("kernel_shape");
    for (std::size_t i = 0; kernel.size() < spatial && i < spatial; ++i)
        kernel.push_back((*weights)[i + 2].constant().value_or(0));
    const auto w = windowsOf(in, spatial, kernel);
    const std::int64_t group = in.node.intAttribute("group", 1);
    if (!w || group < 1)
        return {};
    auto extra = in.node.intsAttribute("output_padding");
    extra.resize(spatial, 0);
    SymbolicShape out = {(*x)[0], (*weights)[1] * Dim(group)};
    for (std::size_t i = 0; i < spatial; ++i)
        out.push_back(((*x)[i + 2] - Dim(1)) * Dim(w->strides[i]) + Dim(extra[i]) + Dim((w->kernel[i] - 1) * w->dilations[i] + 1 - w->pads[i] - w->pads[spatial + i]));
    return {out};
}

/// The length of dim[start:end:step] for a size that is at least as large as |start| and |end| where those are small.
Dim slicedLength(const Dim& dim, const Dim& start, const Dim& end, std::int64_t step) {
    const auto from = start.constant(), to = end.constant();
    if (step == -1 && from && to && *from == -1 && *to < -kFar)
        return dim;
    if (step < 1)
        return {};
    const Dim begin = !from ? start : *from < 0 ? dim + Dim(*from) : Dim(*from);
    const Dim stop = !to ? Dim::min(dim, end) : *to >= kFar ? dim : *to < 0 ? dim + Dim(*to) : Dim::min(dim, Dim(*to));
    if (from && (*from < -kFar || *from > kFar))
        return {};
    return Dim::ceilDiv(stop - begin, Dim(step));
}

Shapes ruleSlice(const In& in) {
    const SymbolicShape* x = in.shape(0);
    const bool old = in.node.attribute("starts") != nullptr;
    if (!x || old)
        return {};
    const auto starts = in.data(1), ends = in.data(2);
    auto axes = in.node.input(3) ? in.ints("", 3) : std::optional(std::vector<std::int64_t>{});
    auto steps = in.node.input(4) ? in.ints("", 4) : std::optional(std::vector<std::int64_t>{});
    if (!starts || !ends || !axes || !steps || starts->size() != ends->size())
        return {};
    for (std::size_t i = axes->size(); i < starts->size(); ++i)
        axes->push_back(static_cast<std::int64_t>(i));
    steps->resize(starts->size(), 1);
    SymbolicShape out = *x;
    for (std::size_t i = 0; i < starts->size(); ++i) {
        const auto axis = in.axis((*axes)[i], x->size());
        if (!axis)
            return {};
        out[*axis] = slicedLength((*x)[*axis], (*starts)[i], (*ends)[i], (*steps)[i]);
    }
    return {out};
}

Shapes ruleExpand(const In& in) {
    const SymbolicShape* x = in.shape(0);
    const auto wanted = in.data(1);
    if (!x || !wanted)
        return {};
    const std::size_t rank = std::max(x->size(), wanted->size());
    SymbolicShape out(rank);
    for (std::size_t i = 0; i < rank; ++i) {
        const Dim a = i + x->size() < rank ? Dim(1) : (*x)[i + x->size() - rank];
        const Dim b = i + wanted->size() < rank ? Dim(1) : (*wanted)[i + wanted->size() - rank];
        const bool aIsOne = a.constant() == 1, bIsOne = b.constant() == 1;
        out[i] = aIsOne ? b : bIsOne || a.sameAs(b) ? a : a.constant() ? a : b.constant() ? b : Dim();
    }
    return {out};
}

Shapes ruleTile(const In& in) {
    const SymbolicShape* x = in.shape(0);
    const auto repeats = in.data(1);
    if (!x || !repeats || repeats->size() != x->size())
        return {};
    SymbolicShape out;
    for (std::size_t i = 0; i < x->size(); ++i)
        out.push_back((*x)[i] * (*repeats)[i]);
    return {out};
}

Shapes rulePad(const In& in) {
    const SymbolicShape* x = in.shape(0);
    const auto pads = in.node.attribute("pads") ? std::optional(SymbolicShape{}) : in.data(1);
    if (!x || !pads || in.node.attribute("pads"))
        return {};
    auto axes = in.node.input(3) ? in.ints("", 3) : std::optional(std::vector<std::int64_t>{});
    if (axes && !in.node.input(3)) {
        for (std::size_t i = 0; i < x->size(); ++i)
            axes->push_back(static_cast<std::int64_t>(i));
    }
    if (!axes || pads->size() != 2 * axes->size())
        return {};
    SymbolicShape out = *x;
    for (std::size_t i = 0; i < axes->size(); ++i) {
        const auto axis = in.axis((*axes)[i], x->size());
        if (!axis)
            return {};
        out[*axis] = (*x)[*axis] + (*pads)[i] + (*pads)[i + axes->size()];
    }
    return {out};
}

Shapes ruleRange(const In& in) {
    const auto start = in.data(0), limit = in.data(1), delta = in.data(2);
    if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1 || !(*delta)[0].constant() || *(*delta)[0].constant() < 1)
        return {};
    return {{Dim::ceilDiv((*limit)[0] - (*start)[0], (*delta)[0])}};
}

Shapes ruleSplit(const In& in) {
    const SymbolicShape* x = in.shape(0);
    const auto axis = x ? in.axis(in.node.intAttribute("axis", 0), x->size()) : std::nullopt;
    if (!axis || in.node.attribute("split") || in.node.input(1))
        return {};
    const auto parts = static_cast<std::int64_t>(in.node.outputs.size());
    const Dim part = Dim::floorDiv((*x)[*axis], Dim(parts));
    if (!(part * Dim(parts)).sameAs((*x)[*axis])) // an uneven split: the last one is smaller, which one cannot say in names
        return {};
    SymbolicShape out = *x;
    out[*axis] = part;
    return Shapes(in.node.outputs.size(), out);
}

Shapes ruleBlocks(const In& in) {
    const SymbolicShape* x = in.shape(0);
    const std::int64_t block = in.node.intAttribute("blocksize", 0);
    if (!x || x->size() != 4 || block < 1 || block > 1 << 15)
        return {};
    const Dim size(block), area(block * block);
    if (in.node.opType == "DepthToSpace")
        return {{(*x)[0], Dim::floorDiv((*x)[1], area), (*x)[2] * size, (*x)[3] * size}};
    return {{(*x)[0], (*x)[1] * area, Dim::floorDiv((*x)[2], size), Dim::floorDiv((*x)[3], size)}};
}

const std::unordered_map<std::string_view, Rule>& rules() {
    static const std::unordered_map<std::string_view, Rule> kRules = {{"Concat", ruleConcat}, {"Reshape", ruleReshape}, {"Flatten", ruleFlatten},
        {"Conv", ruleConv}, {"MaxPool", rulePool}, {"AveragePool", rulePool}, {"LpPool", rulePool}, {"ConvTranspose", ruleConvTranspose},
        {"Slice", ruleSlice}, {"Expand", ruleExpand}, {"Tile", ruleTile}, {"Pad", rulePad}, {"Range", ruleRange}, {"Split", ruleSplit},
        {"DepthToSpace", ruleBlocks}, {"SpaceToDepth", ruleBlocks}};
    return kRules;
}

bool isComplete(const ValueType& type) {
    return !type.isTensor() || (type.shape && std::none_of(type.shape->begin(), type.shape->end(), [](const Dim& dim) { return dim.isUnknown(); }));
}

} // namespace

void refineSymbolicShapes(const Node& node, std::int64_t opset, const InferenceInputs& inputs, std::vector<ValueType>& outputs) {
    if (!node.domain.empty() || std::all_of(outputs.begin(), outputs.end(), isComplete))
        return;
    const auto rule = rules().find(node.opType);
    if (rule == rules().end())
        return;
    const Shapes shapes = rule->second(In{node, opset, inputs});
    for (std::size_t i = 0; i < outputs.size() && i < shapes.size(); ++i) {
        ValueType& type = outputs[i];
        if (!type.isTensor())
            continue;
        if (!type.shape) {
            type.shape = shapes[i];
        } else if (type.shape->size() == shapes[i].size()) {
            for (std::size_t d = 0; d < shapes[i].size(); ++d) {
                if ((*type.shape)[d].isUnknown())
                    (*type.shape)[d] = shapes[i][d];
            }
        }
        for (Dim& dim : *type.shape) {
            if (const auto value = dim.constant(); value && *value < 0)
                dim = Dim(); // nonsense sizes are for the library to complain about
        }
    }
}

namespace {

/// sum := product (('+' | '-') product)*; product := factor ('*' factor | '//' factor)*; factor := number | name | '(' sum ')'.
class DimParser {
public:
    explicit DimParser(std::string_view text) : m_text(text) { }
    std::optional<Dim> parse() {
        const auto dim = sum(0);
        skipSpace();
        return dim && m_at == m_text.size() ? dim : std::nullopt;
    }

private:
    void skipSpace() {
        while (m_at < m_text.size() && m_text[m_at] == ' ')
            ++m_at;
    }
    bool accept(std::string_view token) {
        skipSpace();
        if (!m_text.substr(m_at).starts_with(token))
            return false;
        m_at += token.size();
        return true;
    }
    std::optional<Dim> sum(int depth) {
        auto left = product(depth);
        while (left) {
            const bool plus = accept("+");
            if (!plus && !accept("-"))
                break;
            const auto right = product(depth);
            left = !right ? std::nullopt : std::optional(plus ? *left + *right : *left - *right);
        }
        return left;
    }
    std::optional<Dim> product(int depth) {
        auto left = factor(depth);
        while (left) {
            const bool divide = accept("//");
            if (!divide && !accept("*"))
                break;
            const auto right = factor(depth);
            left = !right ? std::nullopt : std::optional(divide ? Dim::floorDiv(*left, *right) : *left * *right);
        }
        return left;
    }
    std::optional<Dim> factor(int depth) {
        if (depth > 20)
            return std::nullopt;
        if (accept("(")) {
            auto inner = sum(depth + 1);
            return inner && accept(")") ? inner : std::nullopt;
        }
        skipSpace();
        const std::size_t start = m_at;
        const auto wordAt = [&](std::size_t i) { return i < m_text.size() && (std::isalnum(static_cast<unsigned char>(m_text[i])) || m_text[i] == '_' || m_text[i] == '.'); };
        while (wordAt(m_at))
            ++m_at;
        const std::string_view word = m_text.substr(start, m_at - start);
        if (word.empty())
            return std::nullopt;
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (error == std::errc() && end == word.data() + word.size())
            return Dim(number);
        return std::isdigit(static_cast<unsigned char>(word[0])) ? std::nullopt : std::optional(Dim::symbol(std::string(word)));
    }

    std::string_view m_text;
    std::size_t m_at = 0;
};

} // namespace

Dim parsedDim(const Dim& dim) {
    if (dim.isUnknown() || dim.constant())
        return dim;
    const std::string text = dim.text();
    if (text.size() > 200 || text.find_first_of("+*-/") == std::string::npos)
        return dim;
    const auto parsed = DimParser(text).parse();
    return parsed && !parsed->isUnknown() ? *parsed : dim;
}

} // namespace nabla::engine

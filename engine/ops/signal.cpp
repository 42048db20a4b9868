// DFT, STFT and MelWeightMatrix.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>

#include "engine/ops/body_sheet.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"
#include "engine/ops/upgrade.h"

namespace nabla::engine {

namespace {

using Complex = std::complex<double>;

enum class Direction : bool { Forward, Inverse };

/// Radices of a length, in the order in which the transform splits it: fours, one two in front, then odd primes.
std::vector<std::size_t> radices(std::size_t n) {
    std::vector<std::size_t> out;
    for (; n % 4 == 0; n /= 4)
        out.push_back(4);
    if (n % 2 == 0) {
        out.insert(out.begin(), 2);
        n /= 2;
    }
    for (std::size_t p = 3; n > 1; p += 2) {
        if (p * p > n)
            p = n;
        for (; n % p == 0; n /= p)
            out.push_back(p);
    }
    return out;
}

template <typename T> std::complex<T> times(std::complex<T> a, std::complex<T> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <typename T> std::complex<T> turn(double sign, std::size_t k, std::size_t n) {
    return std::complex<T>(std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
}

/// Five points with the products that the symmetry of the roots leaves (Winograd 1978).
template <typename T> void fivePoints(std::vector<std::complex<T>>& x, double sign) {
    const T cos1 = static_cast<T>(std::cos(0.4 * std::numbers::pi)), sin1 = static_cast<T>(sign * std::sin(0.4 * std::numbers::pi));
    const T cos2 = static_cast<T>(std::cos(0.8 * std::numbers::pi)), sin2 = static_cast<T>(sign * std::sin(0.8 * std::numbers::pi));
    const auto sum1 = x[1] + x[4], difference1 = x[1] - x[4], sum2 = x[2] + x[3], difference2 = x[2] - x[3], first = x[0];
    const auto pair = [&](std::size_t low, std::size_t high, T c1, T c2, T s1, T s2) {
        const std::complex<T> even = first + c1 * sum1 + c2 * sum2, odd = s1 * difference1 + s2 * difference2;
        const std::complex<T> turned(-odd.imag(), odd.real());
        x[low] = even + turned;
        x[high] = even - turned;
    };
    x[0] = first + sum1 + sum2;
    pair(1, 4, cos1, cos2, sin1, sin2);
    pair(2, 3, cos2, cos1, sin2, -sin1);
}

template <typename T> void fewPoints(std::vector<std::complex<T>>& x, double sign) {
    const std::size_t n = x.size();
    if (n == 2) {
        const auto a = x[0], b = x[1];
        x = {a + b, a - b};
    } else if (n == 5) {
        fivePoints(x, sign);
    } else { // by definition; large primes are summed in double
        std::vector<Complex> turns(n), out(n);
        for (std::size_t k = 0; k < n; ++k)
            turns[k] = turn<double>(sign, k, n);
        for (std::size_t k = 0; k < n; ++k) {
            for (std::size_t i = 0; i < n; ++i)
                out[k] += times(Complex(x[i]), turns[k * i % n]);
        }
        std::transform(out.begin(), out.end(), x.begin(), [](const Complex& z) { return std::complex<T>(z); });
    }
}

/// Decimation in frequency (Gentleman and Sande 1966), in the type of the data.
template <typename T> std::vector<std::complex<T>> split(const std::vector<std::complex<T>>& x, const std::vector<std::size_t>& radix, std::size_t depth, double sign) {
    const std::size_t n = x.size();
    if (n < 2)
        return x;
    const std::size_t p = radix[depth], m = n / p;
    std::vector<std::vector<std::complex<T>>> parts(p, std::vector<std::complex<T>>(m));
    std::vector<std::complex<T>> points(p);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < p; ++j)
            points[j] = x[i + j * m];
        fewPoints(points, sign);
        for (std::size_t k = 0; k < p; ++k)
            parts[k][i] = i == 0 || k == 0 ? points[k] : times(points[k], turn<T>(sign, k * i, n));
    }
    std::vector<std::complex<T>> out(n);
    for (std::size_t k = 0; k < p; ++k) {
        const auto part = split(parts[k], radix, depth + 1, sign);
        for (std::size_t q = 0; q < m; ++q)
            out[q * p + k] = part[q];
    }
    return out;
}

/// The transform of any length; the inverse divides by the length.
template <typename T> void transform(std::vector<std::complex<T>>& x, Direction direction) {
    const auto radix = radices(x.size());
    x = split(x, radix, 0, direction == Direction::Forward ? -1 : 1);
    const T share = T{1} / static_cast<T>(x.size());
    for (std::size_t i = 0; direction == Direction::Inverse && i < x.size(); ++i)
        x[i] *= share;
}

/// In single precision, as NumPy transforms complex64.
void transformSingle(std::vector<Complex>& x, Direction direction) {
    std::vector<std::complex<float>> narrow(x.begin(), x.end());
    transform(narrow, direction);
    std::copy(narrow.begin(), narrow.end(), x.begin());
}

Result<std::int64_t> scalarInput(const KernelContext& c, std::size_t i, std::string_view what) {
    NABLA_CHECK(requireTensor(c, i, what));
    if (c.input(i).elementCount() != 1 || !isInteger(c.input(i).dtype()))
        return runError("{} wants one integer, it is {} {}", what, name(c.input(i).dtype()), toString(c.input(i).shape()));
    return c.input(i).asInt64(0);
}

struct DftShape {
    std::size_t axis = 0;
    std::int64_t length = 0, parts = 1; ///< parts: 1 real, 2 complex
    bool inverse = false, oneSided = false;
    Shape output;
};
Result<DftShape> dftShape(const KernelContext& c) {
    NABLA_CHECK(requireRank(c, 0, 2, "input"));
    const Shape& x = c.input(0).shape();
    if (!isFloat(c.input(0).dtype()))
        return typeError(c, c.input(0).dtype());
    DftShape s;
    s.parts = x.back();
    s.inverse = c.intAttribute("inverse") != 0;
    s.oneSided = c.intAttribute("onesided") != 0;
    if (s.parts != 1 && s.parts != 2)
        return runError("input {} wants a last axis of 1 (real) or 2 (complex)", toString(x));
    if (s.oneSided && (s.inverse ? s.parts != 2 : s.parts != 1))
        return runError("onesided wants {} input, {} has {} parts", s.inverse ? "complex" : "real", toString(x), s.parts);
    std::int64_t axis = -2;
    if (c.hasInput(2)) {
        NABLA_TRY(axis, scalarInput(c, 2, "axis"));
    }
    NABLA_TRY(axis, normalizeAxis(axis, x.size()));
    if (axis == static_cast<std::int64_t>(x.size()) - 1)
        return runError("axis {} is that of the complex parts", axis);
    s.axis = static_cast<std::size_t>(axis);
    s.length = s.inverse && s.oneSided ? 2 * (x[s.axis] - 1) : x[s.axis];
    if (c.hasInput(1)) {
        NABLA_TRY(s.length, scalarInput(c, 1, "dft_length"));
    }
    if (s.length < 1)
        return runError("dft_length is {}, at least 1 is wanted", s.length);
    s.output = x;
    s.output[s.axis] = s.oneSided && !s.inverse ? s.length / 2 + 1 : s.length;
    s.output.back() = s.oneSided && s.inverse ? 1 : 2;
    return s;
}

Result<void> runDft(const KernelContext& c) {
    NABLA_TRY(const DftShape s, dftShape(c));
    const Tensor& x = c.input(0);
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), s.output));
    const Shape &in = x.shape(), &out = s.output;
    const std::int64_t inner = elementCount(ShapeView(in).subspan(s.axis + 1)) / s.parts, outParts = out.back();
    const std::int64_t outer = elementCount(ShapeView(in).first(s.axis)), available = in[s.axis];
    std::vector<Complex> line;
    for (std::int64_t row = 0; row < outer * inner; ++row) {
        line.assign(static_cast<std::size_t>(s.length), Complex{});
        for (std::int64_t i = 0; i < std::min(available, s.length); ++i) {
            const std::int64_t at = ((row / inner * available + i) * inner + row % inner) * s.parts;
            line[static_cast<std::size_t>(i)] = {x.asDouble(at), s.parts == 2 ? x.asDouble(at + 1) : 0.0};
        }
        if (s.oneSided && s.inverse) { // the other half is the mirror image, conjugated; ends that have no partner count as real
            line[0].imag(0);
            for (std::int64_t i = s.length / 2 + 1; i < s.length; ++i)
                line[static_cast<std::size_t>(i)] = std::conj(line[static_cast<std::size_t>(s.length - i)]);
            if (s.length % 2 == 0)
                line[static_cast<std::size_t>(s.length / 2)].imag(0);
        }
        const Direction direction = s.inverse ? Direction::Inverse : Direction::Forward;
        if (s.parts == 2 && !s.oneSided && x.dtype() != DType::Float64)
            transformSingle(line, direction);
        else
            transform(line, direction);
        for (std::int64_t k = 0; k < out[s.axis]; ++k) {
            const std::int64_t at = ((row / inner * out[s.axis] + k) * inner + row % inner) * outParts;
            writeDouble(x.dtype(), y.mutableRaw(), at, line[static_cast<std::size_t>(k)].real());
            if (outParts == 2)
                writeDouble(x.dtype(), y.mutableRaw(), at + 1, line[static_cast<std::size_t>(k)].imag());
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// `v` cut or filled with zeros along the axis to `length` entries, all int64 vectors of one number.
ValueId resizeAxis(GradientBuilder& b, ValueId v, ValueId axis, ValueId have, ValueId length) {
    return b.op("Pad", {v, b.op("Concat", {b.ints({0}), b.sub(length, have)}, {intAttr("axis", 0)}), ValueId{}, axis});
}

// The transform is linear: the cotangent goes through the conjugate transform, which is the inverse times the length (and the other way round).
Gradients gradDft(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const bool inverse = n.intAttribute("inverse", 0) != 0, oneSided = n.intAttribute("onesided", 0) != 0;
    if (inverse && oneSided)
        return runError("the gradient of DFT with inverse and onesided is not known");
    const ValueId x = n.inputs[0];
    const ValueType type = b.type(x);
    const auto parts = type.shape && !type.shape->empty() ? type.shape->back().constant() : std::nullopt;
    if (!parts)
        return runError("the gradient of DFT wants an input whose last axis is known");
    const ValueId axis = n.input(2) ? b.op("Reshape", {n.inputs[2], b.ints({1})}) : b.ints({-2});
    const auto sizeOf = [&](ValueId v) { return b.op("Gather", {b.shapeOf(v), axis}, {intAttr("axis", 0)}); };
    const ValueId length = n.input(1) ? b.castLike(b.op("Reshape", {n.inputs[1], b.ints({1})}), axis) : sizeOf(x);
    ValueId cotangent = dy[0];
    if (oneSided)
        cotangent = resizeAxis(b, cotangent, axis, sizeOf(cotangent), length);
    const ValueId back = b.op("DFT", {cotangent, ValueId{}, b.op("Squeeze", {axis})}, {intAttr("inverse", inverse ? 0 : 1)});
    const ValueId factor = b.castLike(length, x);
    ValueId dx = inverse ? b.div(back, factor) : b.mul(back, factor);
    if (*parts == 1)
        dx = b.op("Slice", {dx, b.ints({0}), b.ints({1}), b.ints({-1})});
    std::vector<ValueId> grads(n.inputs.size());
    grads[0] = n.input(1) ? resizeAxis(b, dx, axis, length, sizeOf(x)) : dx;
    return grads;
}

// DFT-17 has the axis as an attribute, 1 by default.
Result<void> upgradeDft(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"axis"});
    setInput(changed, 2, upgradeConstant(c, "axis", Tensor::scalar(c.node.intAttribute("axis", 1))));
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kDftUpgrades[] = {{19, upgradeDft}};

Result<void> runStft(const KernelContext& c) {
    NABLA_CHECK(requireRank(c, 0, 2, "signal"));
    const Tensor& x = c.input(0);
    const std::int64_t parts = x.rank() == 3 ? x.dim(2) : 1, samples = x.dim(1);
    if (x.rank() > 3 || (parts != 1 && parts != 2) || !isFloat(x.dtype()))
        return runError("signal {} {} wants [batch, length, 1 or 2] floats", name(x.dtype()), toString(x.shape()));
    NABLA_TRY(const std::int64_t step, scalarInput(c, 1, "frame_step"));
    const bool windowed = c.hasInput(2);
    std::int64_t length = windowed ? c.input(2).elementCount() : samples;
    if (c.hasInput(3)) {
        NABLA_TRY(length, scalarInput(c, 3, "frame_length"));
    }
    if (step < 1 || length < 1 || length > samples)
        return runError("frame_step {} and frame_length {} do not fit a signal of {}", step, length, samples);
    if (windowed && c.input(2).elementCount() != length)
        return runError("window {} wants {} numbers, the frame length", toString(c.input(2).shape()), length);
    const bool oneSided = c.intAttribute("onesided") != 0 && parts == 1;
    const std::int64_t frames = (samples - length) / step + 1, bins = oneSided ? length / 2 + 1 : length;
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), {x.dim(0), frames, bins, 2}));
    std::vector<Complex> line(static_cast<std::size_t>(length));
    for (std::int64_t frame = 0; frame < x.dim(0) * frames; ++frame) {
        const std::int64_t start = frame / frames * samples + frame % frames * step;
        for (std::int64_t i = 0; i < length; ++i) {
            const double weight = windowed ? c.input(2).asDouble(i) : 1;
            line[static_cast<std::size_t>(i)] = weight * Complex(x.asDouble((start + i) * parts), parts == 2 ? x.asDouble((start + i) * parts + 1) : 0.0);
        }
        transform(line, Direction::Forward);
        for (std::int64_t k = 0; k < bins; ++k) {
            writeDouble(x.dtype(), y.mutableRaw(), (frame * bins + k) * 2, line[static_cast<std::size_t>(k)].real());
            writeDouble(x.dtype(), y.mutableRaw(), (frame * bins + k) * 2 + 1, line[static_cast<std::size_t>(k)].imag());
        }
        line.resize(static_cast<std::size_t>(length));
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// Frames gathered from the signal, weighted, and one DFT over all of them.
Result<GraphPtr> stftBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    ModelInfo info;
    info.opsets[""] = opset;
    GraphEditor editor = GraphEditor::empty("STFT", std::make_shared<const ModelInfo>(std::move(info)), ids);
    constexpr const char* kNames[] = {"signal", "frame_step", "window", "frame_length"};
    ValueId in[4];
    for (std::size_t i = 0; i < node.inputs.size() && i < 4; ++i) {
        const ValueId formal = editor.addInput(kNames[i], i < inputTypes.size() ? inputTypes[i] : ValueType{});
        in[i] = node.inputs[i] ? formal : ValueId{};
    }
    const ValueType signal = inputTypes.empty() ? ValueType{} : inputTypes[0];
    if (!signal.shape || signal.shape->size() != 3 || !isDifferentiable(signal.elementType))
        return runError("the expansion of STFT wants a float signal of rank 3");
    Sheet s(editor, signal.elementType);
    const auto scalarOf = [&](ValueId v) {
        return s.op("Cast", {s.op("Reshape", {v, s.ints({})})}, {number("to", static_cast<std::int64_t>(DType::Int64))});
    };
    const ValueId samples = scalarOf(s.op("Shape", {in[0]}, {number("start", 1), number("end", 2)}));
    const ValueId length = in[3] ? scalarOf(in[3]) : in[2] ? scalarOf(s.op("Shape", {in[2]})) : samples;
    const ValueId step = scalarOf(in[1]), zero = s.intScalar(0), one = s.intScalar(1);
    const ValueId frames = s.add(s.op("Div", {s.op("Sub", {samples, length}), step}), one);
    const ValueId starts = s.op("Unsqueeze", {s.mul(s.op("Range", {zero, frames, one}), step), s.ints({1})});
    ValueId framed = s.op("Gather", {in[0], s.add(starts, s.op("Range", {zero, length, one}))}, {number("axis", 1)});
    if (in[2])
        framed = s.mul(framed, s.op("Unsqueeze", {in[2], s.ints({1})}));
    const bool oneSided = node.intAttribute("onesided", 1) != 0 && signal.shape->back().constant() == 1;
    editor.setOutputs({s.op("DFT", {framed, ValueId{}, s.intScalar(-2)}, {number("onesided", oneSided ? 1 : 0)})});
    return std::make_shared<const Graph>(editor.finish());
}

Result<void> runMelWeightMatrix(const KernelContext& c) {
    std::int64_t sizes[3] = {};
    constexpr std::string_view kNames[] = {"num_mel_bins", "dft_length", "sample_rate"};
    for (std::size_t i = 0; i < 3; ++i) {
        NABLA_TRY(sizes[i], scalarInput(c, i, kNames[i]));
        if (sizes[i] < 1 || sizes[i] > (std::int64_t{1} << 31))
            return runError("{} is {}, it must be positive", kNames[i], sizes[i]);
    }
    NABLA_CHECK(requireTensor(c, 3, "lower_edge_hertz"));
    NABLA_CHECK(requireTensor(c, 4, "upper_edge_hertz"));
    const std::int64_t bands = sizes[0], length = sizes[1], rate = sizes[2];
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double low = mel(c.input(3).asDouble(0)), high = mel(c.input(4).asDouble(0));
    const double step = (high - low) / static_cast<double>(bands + 2);
    std::vector<std::int64_t> edges(static_cast<std::size_t>(bands + 2));
    const std::int64_t bins = length / 2 + 1;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const double hertz = 700 * (std::pow(10, (low + step * static_cast<double>(i)) / 2595) - 1);
        edges[i] = static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate)));
        if (!(hertz >= 0) || edges[i] < 0 || edges[i] >= bins + (i + 1 == edges.size() ? 1 : 0))
            return runError("mel band edge {} Hz falls outside the {} bins of dft_length {}", hertz, bins, length);
    }
    const auto type = static_cast<DType>(c.intAttribute("output_datatype"));
    if (!isFloat(type) && !isInteger(type))
        return typeError(c, type);
    NABLA_TRY(Tensor y, c.makeOutput(0, type, {bins, bands}));
    const auto set = [&](std::int64_t bin, std::int64_t band, double value) {
        if (bin < bins)
            writeDouble(type, y.mutableRaw(), bin * bands + band, value);
    };
    for (std::int64_t i = 0; i < bins * bands; ++i)
        writeDouble(type, y.mutableRaw(), i, 0);
    for (std::int64_t band = 0; band < bands; ++band) { // a triangle from its left edge over its centre to its right edge
        const std::int64_t left = edges[static_cast<std::size_t>(band)], centre = edges[static_cast<std::size_t>(band + 1)], right = edges[static_cast<std::size_t>(band + 2)];
        if (left == centre)
            set(centre, band, 1);
        for (std::int64_t j = left; left < centre && j <= centre; ++j)
            set(j, band, static_cast<double>(j - left) / static_cast<double>(centre - left));
        for (std::int64_t j = centre; j < right; ++j)
            set(j, band, static_cast<double>(right - j) / static_cast<double>(right - centre));
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// [batch, frames, bins, 2]. The library's rule takes `onesided` to be 0 where it is not stated; the schema's default is 1.
std::optional<ValueType> stftType(const Graph&, const Node& node, const InferenceInputs& inputs, std::size_t) {
    if (inputs.types.empty() || !inputs.types[0].isTensor() || !inputs.types[0].shape || inputs.types[0].shape->size() < 2)
        return std::nullopt;
    const SymbolicShape& x = *inputs.types[0].shape;
    const auto constant = [&](std::size_t i) -> std::optional<std::int64_t> {
        const TensorPtr value = i < inputs.constants.size() ? inputs.constants[i] : nullptr;
        return value && value->elementCount() == 1 && isInteger(value->dtype()) ? std::optional(value->asInt64(0)) : std::nullopt;
    };
    std::optional<std::int64_t> length = x[1].constant();
    if (node.input(3))
        length = constant(3);
    else if (node.input(2))
        length = inputs.types[2].isTensor() && inputs.types[2].shape && inputs.types[2].shape->size() == 1 ? inputs.types[2].shape->front().constant() : std::nullopt;
    const auto parts = x.size() == 3 ? x[2].constant() : std::optional<std::int64_t>(1), samples = x[1].constant(), step = constant(1);
    SymbolicShape y{x[0], Dim(), Dim(), Dim(2)};
    if (length && samples && step && *length > 0 && *length <= *samples && *step > 0)
        y[1] = Dim((*samples - *length) / *step + 1);
    const bool half = node.intAttribute("onesided", 1) != 0;
    if (length && *length > 0 && (!half || parts))
        y[2] = Dim(half && *parts == 1 ? *length / 2 + 1 : *length);
    return ValueType::tensor(inputs.types[0].elementType, std::move(y));
}

/// The number that an input holds, else `otherwise`; nothing when it is not known before running.
std::optional<std::int64_t> knownNumber(const CostInputs& c, std::size_t i, std::int64_t otherwise) {
    if (!hasInput(c, i))
        return otherwise;
    const TensorPtr value = i < c.constants.size() ? c.constants[i] : nullptr;
    return value && value->elementCount() == 1 && isInteger(value->dtype()) ? std::optional(value->asInt64(0)) : std::nullopt;
}

std::int64_t dftFlops(const CostInputs& c) {
    const Shape* x = inputShape(c, 0);
    if (!x || x->size() < 2)
        return 0;
    const bool inverse = c.node.intAttribute("inverse", 0) != 0, oneSided = c.node.intAttribute("onesided", 0) != 0;
    const auto rank = static_cast<std::int64_t>(x->size());
    const auto stated = c.opset < 20 ? c.node.intAttribute("axis", 1) : knownNumber(c, 2, -2);
    if (!stated || *stated < -rank || *stated >= rank)
        return kUnknownFlops;
    const auto axis = static_cast<std::size_t>(*stated < 0 ? *stated + rank : *stated);
    const std::int64_t size = (*x)[axis], parts = x->back();
    const auto length = knownNumber(c, 1, inverse && oneSided ? 2 * (size - 1) : size);
    if (!length)
        return kUnknownFlops;
    const std::int64_t lines = size < 1 || parts < 1 ? 0 : elementCount(*x) / size / parts;
    return saturatedProduct({lines, fourierFlops(*length, parts == 2 && !oneSided ? Numbers::Complex : Numbers::Real)});
}

/// For every frame the products with the window and a transform.
std::int64_t stftFlops(const CostInputs& c) {
    const Shape *x = inputShape(c, 0), *y = outputShape(c, 0);
    if (!x || !y || x->size() < 2 || y->size() != 4)
        return 0;
    const std::int64_t parts = x->size() == 3 ? x->back() : 1;
    const auto length = knownNumber(c, 3, hasInput(c, 2) ? inputElements(c, 2) : (*x)[1]);
    if (!length || *length < 0)
        return kUnknownFlops;
    const std::int64_t weights = hasInput(c, 2) ? saturatedProduct({parts, *length}) : 0;
    return saturatedProduct({(*y)[0], (*y)[1], saturatedSum(weights, fourierFlops(*length, parts == 2 ? Numbers::Complex : Numbers::Real))});
}

constexpr OpDef kSignalOps[] = {
    {.name = "DFT", .since = 20, .source = "ONNX Operators.md, DFT-20", .run = runDft, .gradient = gradDft, .flops = dftFlops, .upgrades = kDftUpgrades},
    {.name = "STFT", .since = 17, .source = "ONNX Operators.md, STFT-17", .run = runStft, .gradient = throughBody(), .flops = stftFlops, .refineShape = stftType,
        .body = stftBody},
    {.name = "MelWeightMatrix", .since = 17, .source = "ONNX Operators.md, MelWeightMatrix-17", .run = runMelWeightMatrix,
        .gradient = notDifferentiable("its inputs are sizes and band edges"), .flops = elementwise<1>},
};

} // namespace

std::span<const OpDef> signalOps() { return kSignalOps; }

} // namespace nabla::engine

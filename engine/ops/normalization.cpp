// BatchNormalization, InstanceNormalization, LayerNormalization, GroupNormalization, RMSNormalization, LRN, LpNormalization,
// MeanVarianceNormalization: reference kernels and rows. Statistics are summed in double.
#include <cmath>

#include "engine/ops/body_sheet.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/iterate.h"
#include "engine/ops/normalization_grad.h"
#include "engine/ops/upgrade.h"

namespace nabla::engine {

namespace {

Result<void> requireFloat(const KernelContext& c, std::string_view what) {
    NABLA_CHECK(requireTensor(c, 0, what));
    return isFloat(c.input(0).dtype()) ? Result<void>{} : Result<void>(typeError(c, c.input(0).dtype()));
}

Result<void> requireChannels(const KernelContext& c, std::size_t i, std::string_view what, std::int64_t channels) {
    NABLA_CHECK(requireTensor(c, i, what));
    if (c.input(i).elementCount() != channels)
        return runError("{} {} wants one number for each of {} channels", what, toString(c.input(i).shape()), channels);
    return {};
}

/// Mean and population variance of one strided run of runs.
struct Moments {
    double mean = 0, variance = 0;
};
template <typename T> Moments momentsOf(const T* x, std::int64_t runs, std::int64_t step, std::int64_t length) {
    Moments m;
    const auto count = static_cast<double>(runs * length);
    for (std::int64_t r = 0; r < runs; ++r) {
        for (std::int64_t i = 0; i < length; ++i)
            m.mean += static_cast<double>(x[r * step + i]);
    }
    m.mean /= count;
    for (std::int64_t r = 0; r < runs; ++r) {
        for (std::int64_t i = 0; i < length; ++i) {
            const double d = static_cast<double>(x[r * step + i]) - m.mean;
            m.variance += d * d;
        }
    }
    m.variance /= count;
    return m;
}

/// [N, C, cells]: what the channel-wise operators see. A single axis is N with one channel.
struct ChannelShape {
    std::int64_t batch, channels, cells;
};
ChannelShape channelShape(ShapeView x) {
    return {x.empty() ? 1 : x[0], x.size() < 2 ? 1 : x[1], x.size() < 3 ? 1 : elementCount(x.subspan(2))};
}

Result<void> runBatchNormalization(const KernelContext& c) {
    NABLA_CHECK(requireFloat(c, "X"));
    const Shape& shape = c.input(0).shape();
    const ChannelShape s = channelShape(shape);
    constexpr std::string_view kNames[] = {"X", "scale", "B", "input_mean", "input_var"};
    for (std::size_t i = 1; i < 5; ++i)
        NABLA_CHECK(requireChannels(c, i, kNames[i], s.channels));
    const bool training = c.intAttribute("training_mode") != 0;
    const double momentum = static_cast<double>(c.floatAttribute("momentum")), epsilon = static_cast<double>(c.floatAttribute("epsilon"));
    const DType type = computeType(c, {0, 1, 2, 3, 4});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, shape));
    NABLA_TRY(Tensor runningMean, Tensor::make(type, {s.channels}));
    NABLA_TRY(Tensor runningVariance, Tensor::make(type, {s.channels}));
    withFloatType(type, [&]<typename T>(T) {
        for (std::int64_t k = 0; k < s.channels; ++k) {
            const double scale = c.input(1).asDouble(k), shift = c.input(2).asDouble(k);
            Moments m{c.input(3).asDouble(k), c.input(4).asDouble(k)};
            if (training) {
                const Moments batch = momentsOf(elements<T>(x) + k * s.cells, s.batch, s.channels * s.cells, s.cells);
                runningMean.mutableData<T>()[static_cast<std::size_t>(k)] = static_cast<T>(m.mean * momentum + batch.mean * (1 - momentum));
                runningVariance.mutableData<T>()[static_cast<std::size_t>(k)] = static_cast<T>(m.variance * momentum + batch.variance * (1 - momentum));
                m = batch;
            }
            const auto factor = static_cast<T>(scale / std::sqrt(m.variance + epsilon));
            const auto mean = static_cast<T>(m.mean), bias = static_cast<T>(shift);
            for (std::int64_t image = 0; image < s.batch; ++image) {
                const std::int64_t at = (image * s.channels + k) * s.cells;
                for (std::int64_t i = at; i < at + s.cells; ++i)
                    y.data<T>()[i] = (elements<T>(x)[i] - mean) * factor + bias;
            }
        }
    });
    NABLA_CHECK(y.finish());
    for (const std::size_t i : {1U, 2U}) {
        if (!c.wantsOutput(i))
            continue;
        if (!training)
            return runError("output {} of BatchNormalization is there only with training_mode = 1", i);
        NABLA_TRY(const Tensor stored, castTensor(i == 1 ? runningMean : runningVariance, c.input(2 + i).dtype()));
        NABLA_CHECK(copyToOutput(c, i, stored));
    }
    return {};
}

/// Rows of `length` neighbours, each brought to mean 0 (unless rms) and variance 1, then scale[channel(i)] and shift[channel(i)].
struct RowNorm {
    std::int64_t rows = 0, length = 0;
    double epsilon = 0;
    bool centre = true;
};
/// Writes the normalized rows to y, and per row mean and 1 / deviation where wanted.
template <typename T> void normalizeRows(const RowNorm& r, const T* x, T* y, T* means, T* inverses) {
    for (std::int64_t row = 0; row < r.rows; ++row) {
        const T* const from = x + row * r.length;
        Moments m;
        if (r.centre) {
            m = momentsOf(from, 1, 0, r.length);
        } else {
            for (std::int64_t i = 0; i < r.length; ++i)
                m.variance += static_cast<double>(from[i]) * static_cast<double>(from[i]);
            m.variance /= static_cast<double>(r.length);
        }
        const double inverse = 1 / std::sqrt(m.variance + r.epsilon);
        for (std::int64_t i = 0; i < r.length; ++i)
            y[row * r.length + i] = static_cast<T>((static_cast<double>(from[i]) - m.mean) * inverse);
        if (means)
            means[row] = static_cast<T>(m.mean);
        if (inverses)
            inverses[row] = static_cast<T>(inverse);
    }
}

/// y = y * scale (+ shift), the operands broadcast against the whole of y.
template <typename T> void scaleBroadcast(const Shape& shape, T* y, const Tensor& scale, const Tensor& shift) {
    const auto strideOf = [&](const Tensor& t) {
        std::vector<std::int64_t> out(shape.size(), 0);
        const auto own = rowMajorStrides(t.shape());
        for (std::size_t i = 0; i < t.rank(); ++i)
            out[shape.size() - t.rank() + i] = t.dim(i) == 1 ? 0 : own[i];
        return out;
    };
    const auto scaleStrides = strideOf(scale);
    const auto shiftStrides = shift.defined() ? strideOf(shift) : std::vector<std::int64_t>(shape.size(), 0);
    std::int64_t at = 0;
    for (IndexWalk walk(shape); !walk.done(); walk.next(), ++at) {
        y[at] *= elements<T>(scale)[walk.dot(scaleStrides)];
        if (shift.defined())
            y[at] += elements<T>(shift)[walk.dot(shiftStrides)];
    }
}

Result<void> checkBroadcastsTo(const Tensor& t, const Shape& shape, std::string_view what) {
    const auto both = broadcastShapes(t.shape(), shape);
    if (!both || *both != shape)
        return runError("{} {} does not broadcast to X {}", what, toString(t.shape()), toString(shape));
    return {};
}

template <bool centre> Result<void> runRowNormalization(const KernelContext& c) {
    NABLA_CHECK(requireFloat(c, "X"));
    NABLA_CHECK(requireTensor(c, 1, "Scale"));
    const Shape& shape = c.input(0).shape();
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), shape.size()));
    const std::size_t count = c.hasInput(2) ? 3 : 2;
    for (std::size_t i = 1; i < count; ++i)
        NABLA_CHECK(checkBroadcastsTo(c.input(i), shape, i == 1 ? "Scale" : "B"));
    const DType type = computeType(c, {0, 1, 2});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(const Tensor scale, inputAs(c, 1, type));
    NABLA_TRY(const Tensor shift, centre ? inputAs(c, 2, type) : Result<Tensor>(Tensor{}));
    const DType stored = centre ? c.input(0).dtype() : c.input(1).dtype();
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, stored, type, shape));
    Shape kept = shape;
    std::fill(kept.begin() + axis, kept.end(), 1);
    NABLA_TRY(Tensor means, Tensor::make(type, kept));
    NABLA_TRY(Tensor inverses, Tensor::make(type, kept));
    const RowNorm rows{elementCount(kept), elementCount(ShapeView(shape).subspan(static_cast<std::size_t>(axis))),
        static_cast<double>(c.floatAttribute("epsilon")), centre};
    withFloatType(type, [&]<typename T>(T) {
        normalizeRows(rows, elements<T>(x), y.data<T>(), means.mutableData<T>().data(), inverses.mutableData<T>().data());
        scaleBroadcast(shape, y.data<T>(), scale, shift);
    });
    NABLA_CHECK(y.finish());
    for (const std::size_t i : {1U, 2U}) {
        if (centre && c.wantsOutput(i)) {
            const auto statistics = static_cast<DType>(c.intAttribute("stash_type"));
            NABLA_TRY(const Tensor out, castTensor(i == 1 ? means : inverses, statistics));
            NABLA_CHECK(copyToOutput(c, i, out));
        }
    }
    return {};
}

/// Groups of channels normalized together: InstanceNormalization has one channel a group.
Result<void> normalizeGroups(const KernelContext& c, std::int64_t groups) {
    const Shape& shape = c.input(0).shape();
    const ChannelShape s = channelShape(shape);
    NABLA_CHECK(requireChannels(c, 1, "scale", s.channels));
    NABLA_CHECK(requireChannels(c, 2, "B", s.channels));
    const DType type = computeType(c, {0, 1, 2});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(const Tensor scale, inputAs(c, 1, type));
    NABLA_TRY(const Tensor shift, inputAs(c, 2, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, shape));
    const RowNorm rows{s.batch * groups, groups == 0 ? 0 : s.channels / groups * s.cells, static_cast<double>(c.floatAttribute("epsilon"))};
    withFloatType(type, [&]<typename T>(T) {
        normalizeRows<T>(rows, elements<T>(x), y.data<T>(), nullptr, nullptr);
        for (std::int64_t plane = 0; plane < s.batch * s.channels; ++plane) {
            const T factor = elements<T>(scale)[plane % s.channels], bias = elements<T>(shift)[plane % s.channels];
            for (std::int64_t i = plane * s.cells; i < (plane + 1) * s.cells; ++i)
                y.data<T>()[i] = y.data<T>()[i] * factor + bias;
        }
    });
    return y.finish();
}

Result<void> runInstanceNormalization(const KernelContext& c) {
    NABLA_CHECK(requireFloat(c, "input"));
    return normalizeGroups(c, channelShape(c.input(0).shape()).channels);
}

Result<void> runGroupNormalization(const KernelContext& c) {
    NABLA_CHECK(requireFloat(c, "X"));
    NABLA_CHECK(requireRank(c, 0, 2, "X"));
    const std::int64_t groups = c.intAttribute("num_groups"), channels = c.input(0).dim(1);
    if (groups < 1 || channels % groups != 0)
        return runError("{} channels of X {} do not divide into num_groups {}", channels, toString(c.input(0).shape()), groups);
    return normalizeGroups(c, groups);
}

Result<void> runLrn(const KernelContext& c) {
    NABLA_CHECK(requireFloat(c, "X"));
    NABLA_CHECK(requireRank(c, 0, 2, "X"));
    const std::int64_t size = c.intAttribute("size");
    if (size < 1)
        return runError("size is {}, at least 1 is wanted", size);
    const ChannelShape s = channelShape(c.input(0).shape());
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, c.input(0).shape()));
    const double alpha = static_cast<double>(c.floatAttribute("alpha")) / static_cast<double>(size);
    const double beta = static_cast<double>(c.floatAttribute("beta")), bias = static_cast<double>(c.floatAttribute("bias"));
    withFloatType(type, [&]<typename T>(T) {
        for (std::int64_t image = 0; image < s.batch; ++image) {
            const T* const from = elements<T>(x) + image * s.channels * s.cells;
            T* const to = y.data<T>() + image * s.channels * s.cells;
            for (std::int64_t k = 0; k < s.channels; ++k) {
                const std::int64_t first = std::max<std::int64_t>(0, k - (size - 1) / 2), last = std::min(s.channels - 1, k + size / 2);
                for (std::int64_t i = 0; i < s.cells; ++i) {
                    double squares = 0;
                    for (std::int64_t j = first; j <= last; ++j)
                        squares += static_cast<double>(from[j * s.cells + i]) * static_cast<double>(from[j * s.cells + i]);
                    to[k * s.cells + i] = static_cast<T>(static_cast<double>(from[k * s.cells + i]) / std::pow(bias + alpha * squares, beta));
                }
            }
        }
    });
    return y.finish();
}

Result<void> runLpNormalization(const KernelContext& c) {
    NABLA_CHECK(requireFloat(c, "input"));
    const Shape& shape = c.input(0).shape();
    const std::int64_t p = c.intAttribute("p");
    if (p != 1 && p != 2)
        return runError("p is {}, 1 or 2 is wanted", p);
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), shape.size()));
    const std::int64_t length = shape[static_cast<std::size_t>(axis)], inner = elementCount(ShapeView(shape).subspan(static_cast<std::size_t>(axis) + 1));
    const std::int64_t outer = elementCount(ShapeView(shape).first(static_cast<std::size_t>(axis)));
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, shape));
    withFloatType(type, [&]<typename T>(T) {
        for (std::int64_t row = 0; row < outer * inner; ++row) {
            const std::int64_t start = row / inner * length * inner + row % inner;
            double sum = 0;
            for (std::int64_t i = 0; i < length; ++i) {
                const auto v = static_cast<double>(elements<T>(x)[start + i * inner]);
                sum += p == 1 ? std::abs(v) : v * v;
            }
            const double norm = p == 1 ? sum : std::sqrt(sum);
            for (std::int64_t i = 0; i < length; ++i)
                y.data<T>()[start + i * inner] = norm == 0 ? T{} : static_cast<T>(static_cast<double>(elements<T>(x)[start + i * inner]) / norm);
        }
    });
    return y.finish();
}

// Before version 14 the mode hung on `is_test` (to 6) or on the number of outputs (7 to 13).
// spatial = 0: every element of the features is a channel of its own.
Result<void> upgradeFeatureNormalization(UpgradeContext& c) {
    std::vector<ValueId> inputs{upgradeNode(c, "Flatten", {c.node.input(0)})};
    for (std::size_t i = 1; i < 5; ++i)
        inputs.push_back(upgradeNode(c, "Reshape", {c.node.input(i), upgradeInts(c, "features", {-1})}));
    const ValueId flat = upgradeNode(c, "BatchNormalization", std::move(inputs), {{"epsilon", c.node.floatAttribute("epsilon", 1e-5F)}});
    Node changed = c.node;
    changed.opType = "Reshape";
    changed.attributes.clear();
    changed.inputs = {flat, upgradeNode(c, "Shape", {c.node.input(0)})};
    changed.outputs.resize(1);
    return replaceWith(c, std::move(changed));
}

Result<void> upgradeBatchNormalization(UpgradeContext& c) {
    bool moreOutputs = false;
    for (std::size_t i = 1; i < c.node.outputs.size(); ++i)
        moreOutputs = moreOutputs || c.node.outputs[i];
    const Attribute* isTest = c.node.attribute("is_test");
    const bool oldest = c.opset < 7;
    const bool training = oldest ? !(isTest && c.node.intAttribute("is_test", 0) != 0) && moreOutputs : moreOutputs;
    for (std::size_t i = 3; i < c.node.outputs.size(); ++i) {
        if (c.node.outputs[i] && (!c.editor.consumers(c.node.outputs[i]).empty() || c.editor.isOutput(c.node.outputs[i])))
            return runError("output {} of BatchNormalization-{} has no counterpart in newer versions", i, c.opset);
    }
    if (c.node.intAttribute("spatial", 1) == 0) {
        if (training || c.node.inputs.size() < 5)
            return runError("BatchNormalization-{} with spatial = 0 in training has no counterpart in newer versions", c.opset);
        return upgradeFeatureNormalization(c);
    }
    std::vector<Attribute> added;
    if (training)
        added.push_back({"training_mode", std::int64_t{1}});
    return withAttributes(c, {"is_test", "spatial", "consumed_inputs"}, std::move(added));
}
constexpr Upgrade kBatchNormalizationUpgrades[] = {{13, upgradeBatchNormalization}};
constexpr Upgrade kInstanceNormalizationUpgrades[] = {{1, dropAttributes<"consumed_inputs">}};

// Version 18 has one scale and bias a group, version 21 one a channel: each is repeated C / groups times.
Result<void> upgradeGroupNormalization(UpgradeContext& c) {
    const std::int64_t groups = c.node.intAttribute("num_groups", 0);
    Node changed = c.node;
    const ValueId channels = upgradeNode(c, "Shape", {c.node.input(0)}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
    const ValueId perGroup = upgradeNode(c, "Div", {channels, upgradeInts(c, "groups", {groups})});
    const ValueId wide = upgradeNode(c, "Concat", {upgradeInts(c, "groups", {groups}), perGroup}, {{"axis", std::int64_t{0}}});
    for (const std::size_t i : {1U, 2U}) {
        const ValueId column = upgradeNode(c, "Reshape", {c.node.input(i), upgradeInts(c, "column", {-1, 1})});
        const ValueId repeated = upgradeNode(c, "Expand", {column, wide});
        changed.inputs[i] = upgradeNode(c, "Reshape", {repeated, upgradeInts(c, "flat", {-1})});
    }
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kGroupNormalizationUpgrades[] = {{20, upgradeGroupNormalization}};

/// The formula of the schema: (X - EX) / sqrt(E(X - EX)^2), with the 1e-9 of its function; halves are computed in float32. The function itself takes
/// E(X^2) - (EX)^2, which loses all digits where the entries are close to each other, and has constants of float32 whatever X is.
Result<GraphPtr> meanVarianceBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    if (inputTypes.size() != 1 || !isDifferentiable(inputTypes[0].elementType))
        return runError("the element type of X is not known or no float");
    ModelInfo info;
    info.opsets[""] = opset;
    GraphEditor editor = GraphEditor::empty(node.opType, std::make_shared<const ModelInfo>(std::move(info)), ids);
    const DType stored = inputTypes[0].elementType, type = stored == DType::Float64 ? stored : DType::Float32;
    Sheet s(editor, type);
    const ValueId given = editor.addInput("X", inputTypes[0]);
    const auto cast = [&](ValueId v, DType to) { return s.op("Cast", {v}, {number("to", static_cast<std::int64_t>(to))}); };
    const ValueId x = stored == type ? given : cast(given, type);
    const auto axes = node.attribute("axes") ? node.intsAttribute("axes") : std::vector<std::int64_t>{0, 2, 3};
    const auto mean = [&](ValueId v) { return s.op("ReduceMean", {v, s.ints(axes)}); };
    const ValueId centred = s.op("Sub", {x, mean(x)});
    const ValueId deviation = s.op("Sqrt", {mean(s.mul(centred, centred))});
    const ValueId y = s.op("Div", {centred, s.add(deviation, s.scalar(1e-9))});
    editor.setOutputs({stored == type ? y : cast(y, stored)});
    return std::make_shared<const Graph>(editor.finish());
}

/// In training the mean and variance are found too, and given out.
std::int64_t batchNormalizationFlops(const CostInputs& c) {
    const auto given = std::count_if(c.node.outputs.begin(), c.node.outputs.end(), [](ValueId id) { return static_cast<bool>(id); });
    return given > 1 || c.node.intAttribute("training_mode", 0) != 0 ? perOutput<8>(c) : perOutput<4>(c);
}

/// A sum of `size` squares; alpha / size, bias, power and division.
std::int64_t lrnFlops(const CostInputs& c) {
    const std::int64_t size = std::max<std::int64_t>(0, c.node.intAttribute("size", 0));
    return saturatedProduct({outputElements(c), saturatedSum(saturatedProduct({2, size}), 4)});
}

constexpr OpDef kNormalizationOps[] = {
    {.name = "BatchNormalization", .since = 15, .source = "ONNX Operators.md, BatchNormalization-15", .run = runBatchNormalization,
        .gradient = gradBatchNormalization, .flops = batchNormalizationFlops, .upgrades = kBatchNormalizationUpgrades},
    {.name = "InstanceNormalization", .since = 22, .source = "ONNX Operators.md, InstanceNormalization-22", .run = runInstanceNormalization,
        .gradient = gradInstanceNormalization, .flops = perOutput<8>, .upgrades = kInstanceNormalizationUpgrades},
    {.name = "LayerNormalization", .since = 17, .source = "ONNX Operators.md, LayerNormalization-17", .run = runRowNormalization<true>,
        .gradient = gradLayerNormalization, .flops = perOutput<8>},
    {.name = "GroupNormalization", .since = 21, .source = "ONNX Operators.md, GroupNormalization-21", .run = runGroupNormalization,
        .gradient = gradGroupNormalization, .flops = perOutput<8>, .upgrades = kGroupNormalizationUpgrades},
    {.name = "RMSNormalization", .since = 23, .source = "ONNX Operators.md, RMSNormalization-23", .run = runRowNormalization<false>,
        .gradient = gradRmsNormalization, .flops = perOutput<4>},
    {.name = "LRN", .since = 13, .source = "ONNX Operators.md, LRN-13", .run = runLrn, .gradient = gradLrn, .flops = lrnFlops},
    {.name = "LpNormalization", .since = 22, .source = "ONNX Operators.md, LpNormalization-22", .run = runLpNormalization, .gradient = gradLpNormalization,
        .flops = perOutput<3>},
    {.name = "MeanVarianceNormalization", .since = 13, .source = "ONNX Operators.md, MeanVarianceNormalization-13", .run = expandBody(),
        .gradient = throughBody(), .flops = perOutput<8>, .body = meanVarianceBody},
};

} // namespace

std::span<const OpDef> normalizationOps() { return kNormalizationOps; }

} // namespace nabla::engine

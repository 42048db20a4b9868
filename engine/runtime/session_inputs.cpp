// Checking and making of inputs.
#include "engine/runtime/session_inputs.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "engine/base/saturated.h"
#include "engine/runtime/run_env.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

std::string signature(const Graph& graph) {
    std::string out;
    for (const ValueId id : graph.inputs()) {
        const Value* value = graph.value(id);
        out += fmt::format("{}\"{}\" {}", out.empty() ? "" : ", ", value->name, value->declared.text());
    }
    return out.empty() ? "nothing" : out;
}

Result<void> checkTensor(const Value& input, const Tensor& given) {
    const ValueType& declared = input.declared;
    if (declared.kind == ValueType::Kind::Unknown)
        return {};
    if (!declared.isTensor())
        return usageError("input \"{}\" is declared {}, it is given a tensor", input.name, declared.text());
    if (declared.elementType != DType::Undefined && declared.elementType != given.dtype()) {
        return usageError("input \"{}\" is declared {}, it is given {}{}", input.name, declared.text(),
            name(given.dtype()), toString(given.shape()));
    }
    if (!declared.shape)
        return {};
    if (declared.shape->size() != given.rank()) {
        return usageError("input \"{}\" is declared {} (rank {}), it is given {}{} (rank {})", input.name,
            declared.text(), declared.shape->size(), name(given.dtype()), toString(given.shape()), given.rank());
    }
    for (std::size_t d = 0; d < given.rank(); ++d) {
        const auto fixed = (*declared.shape)[d].constant();
        if (fixed && *fixed != given.dim(d)) {
            return usageError("input \"{}\" is declared {}, it is given {}{}: dimension {} must be {}, it is {}",
                input.name, declared.text(), name(given.dtype()), toString(given.shape()), d, *fixed, given.dim(d));
        }
    }
    return {};
}

bool holdsNarrowFloat(DType type) {
    return isFloat(type) && type != DType::Float64;
}

Result<RuntimeValue> widened(const RuntimeValue& value) {
    if (value.isTensor() && holdsNarrowFloat(value.tensor().dtype())) {
        NABLA_TRY(Tensor wide, castTensor(value.tensor(), DType::Float64));
        return RuntimeValue(std::move(wide));
    }
    if (const RuntimeSequence* sequence = value.sequence()) {
        auto out = std::make_shared<RuntimeSequence>();
        out->elementType = holdsNarrowFloat(sequence->elementType) ? DType::Float64 : sequence->elementType;
        for (const RuntimeValue& element : sequence->elements) {
            NABLA_TRY(RuntimeValue wide, widened(element));
            out->elements.push_back(std::move(wide));
        }
        return RuntimeValue(std::shared_ptr<const RuntimeSequence>(std::move(out)));
    }
    if (const RuntimeOptional* optional = value.optional(); optional && optional->hasValue) {
        NABLA_TRY(RuntimeValue wide, widened(optional->value));
        return RuntimeValue(std::shared_ptr<const RuntimeOptional>(
            std::make_shared<RuntimeOptional>(RuntimeOptional{std::move(wide), true})));
    }
    if (const RuntimeMap* map = value.map(); map && holdsNarrowFloat(map->values.dtype())) {
        NABLA_TRY(Tensor wide, castTensor(map->values, DType::Float64));
        return RuntimeValue(std::make_shared<const RuntimeMap>(RuntimeMap{map->keys, std::move(wide)}));
    }
    return value;
}

Result<RuntimeValue> checked(const Value& input, const RuntimeValue& given, bool inDouble) {
    RuntimeValue value = given;
    if (inDouble) {
        NABLA_TRY(value, widened(given));
    }
    if (value.isTensor()) {
        NABLA_CHECK(checkTensor(input, value.tensor()));
    } else if (input.declared.isTensor() || (value.sequence() && input.declared.kind == ValueType::Kind::Optional)) {
        return usageError("input \"{}\" is declared {}, it is given {}", input.name, input.declared.text(),
            value.sequence() ? "a sequence" : "no tensor");
    }
    return value;
}

constexpr std::int64_t kMadeUpLimit = std::int64_t{1} << 30; // bytes of all inputs together: a wrong size in a file must not fill the memory

Tensor filled(DType dtype, const Shape& shape, std::mt19937_64& random, Result<void>& done) {
    Result<Tensor> made = Tensor::make(dtype, shape);
    if (!made) {
        done = made.error();
        return {};
    }
    std::uniform_real_distribution<double> unit(-1.0, 1.0);
    for (std::int64_t i = 0; i < made->elementCount(); ++i) {
        if (isFloat(dtype) || isComplex(dtype))
            writeDouble(dtype, made->mutableRaw(), i, unit(random));
        else if (dtype != DType::String)
            writeInt64(
                dtype, made->mutableRaw(), i, dtype == DType::Bool ? 1 : static_cast<std::int64_t>(random() & 1U));
    }
    return std::move(*made);
}

} // namespace

Result<std::vector<RuntimeValue>> orderedInputs(const Graph& graph, const NamedValues& given, bool inDouble) {
    std::size_t used = 0;
    std::vector<RuntimeValue> values;
    for (const ValueId id : graph.inputs()) {
        const Value& input = *graph.value(id);
        if (const auto it = given.find(input.name); it != given.end() && !it->second.absent()) {
            ++used;
            NABLA_TRY(RuntimeValue value, checked(input, it->second, inDouble));
            values.push_back(std::move(value));
        } else if (input.constant) {
            values.emplace_back(*input.constant);
        } else if (input.declared.kind == ValueType::Kind::Optional) {
            values.emplace_back(std::shared_ptr<const RuntimeOptional>(std::make_shared<RuntimeOptional>()));
        } else {
            return usageError("input \"{}\" is missing: the model takes {}", input.name, signature(graph));
        }
    }
    if (used == given.size())
        return values;
    for (const auto& entry : given) {
        const bool known = std::any_of(
            graph.inputs().begin(), graph.inputs().end(), [&](ValueId id) { return graph.value(id)->name == entry.first; });
        if (!known)
            return usageError("the model has no input \"{}\": it takes {}", entry.first, signature(graph));
    }
    return values;
}

Result<NamedValues> generateInputs(const Graph& graph, std::uint64_t seed, const DimBindings& dims) {
    const std::vector<ValueType> types = assumedInputTypes(graph, dims);
    NamedValues out;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const Value& input = *graph.value(graph.inputs()[i]);
        if (input.constant)
            continue; // its default
        const ValueType& type = types[i];
        if (type.kind == ValueType::Kind::Optional)
            continue;
        std::mt19937_64 random(mixSeed(seed, i));
        if (type.kind == ValueType::Kind::Sequence && type.element) {
            auto empty = std::make_shared<RuntimeSequence>();
            empty->elementType = type.element->elementType;
            out.emplace(input.name, std::shared_ptr<const RuntimeSequence>(std::move(empty)));
            continue;
        }
        if (!type.isTensor() || type.elementType == DType::Undefined || !type.shape)
            return usageError(
                "input \"{}\" is declared {}: no value can be made up for it", input.name, input.declared.text());
        const Shape shape = *type.concreteShape();
        NABLA_CHECK(checkShape(shape).in(fmt::format("input \"{}\"", input.name)));
        const std::int64_t bytes = storageBytes(type.elementType, elementCount(shape));
        total = saturatedSum(total, bytes);
        if (total > kMadeUpLimit)
            return usageError("input \"{}\" is {}, {} bytes: too large to make values up for; give it, or smaller sizes", input.name, type.text(), bytes);
        Result<void> done;
        Tensor tensor = filled(type.elementType, shape, random, done);
        if (!done)
            return done.error();
        out.emplace(input.name, std::move(tensor));
    }
    return out;
}

} // namespace nabla::engine

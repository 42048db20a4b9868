// One loop over elements as double; sequences and optionals recurse one level at a time.
#include "app/document/compare.h"

#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/tensor/element.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

Error checkError(std::string text) { return {ErrorKind::Check, std::move(text)}; }

std::string elementPosition(const Shape& shape, std::int64_t index) {
    Shape position(shape.size());
    for (std::size_t i = shape.size(); i-- > 0;) {
        position[i] = index % shape[i];
        index /= shape[i];
    }
    return toString(position);
}

double largestFinite(const Tensor& t) {
    double largest = 0;
    for (std::int64_t i = 0; i < t.elementCount(); ++i) {
        const double value = std::fabs(t.asDouble(i));
        if (std::isfinite(value))
            largest = std::max(largest, value);
    }
    return largest;
}

Result<ValueDifference> compareTensors(const Tensor& expected, const Tensor& actual, const Tolerance& tolerance) {
    const bool floats = isFloat(expected.dtype()) && isFloat(actual.dtype());
    if (expected.dtype() != actual.dtype() && !floats)
        return checkError(fmt::format("is {}, expected {}", name(actual.dtype()), name(expected.dtype())));
    if (expected.shape() != actual.shape())
        return checkError(fmt::format("has shape {}, expected {}", toString(actual.shape()), toString(expected.shape())));
    ValueDifference out;
    const bool numeric = floats || isComplex(expected.dtype());
    const double scale = numeric ? largestFinite(expected) : 0;
    double worst = -1;
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        double excess = 0;
        if (!floats) {
            excess = expected.asText(i) == actual.asText(i) ? 0 : 1;
            if (isComplex(expected.dtype()) && excess > 0) { // compare real parts by tolerance, text covers the rest
                const double d = std::fabs(expected.asDouble(i) - actual.asDouble(i));
                excess = d <= tolerance.atol + tolerance.rtol * std::fabs(expected.asDouble(i)) ? 0 : 1;
            }
        } else {
            const double e = expected.asDouble(i), a = actual.asDouble(i);
            if (std::isnan(e) && std::isnan(a))
                continue;
            if (!std::isfinite(e) || !std::isfinite(a)) {
                excess = e == a ? 0 : HUGE_VAL;
            } else {
                const double difference = std::fabs(e - a);
                out.largest = std::max(out.largest, difference);
                const double allowed = tolerance.atol + tolerance.rtol * (tolerance.ofMax ? scale : std::fabs(e));
                excess = difference > allowed ? difference - allowed : 0;
            }
        }
        if (excess > 0) {
            ++out.outside;
            if (excess > worst) {
                worst = excess;
                out.worstIndex = i;
            }
        }
    }
    out.largestOfMax = scale > 0 ? out.largest / scale : out.largest;
    if (out.outside > 0) {
        out.text = fmt::format("{} of {} elements differ, worst at {}: {}, expected {}", out.outside, expected.elementCount(),
            elementPosition(expected.shape(), out.worstIndex), actual.asText(out.worstIndex), expected.asText(out.worstIndex));
    }
    return out;
}

/// Values by their keys, whatever order they stand in.
Result<ValueDifference> compareMaps(const RuntimeMap& expected, const RuntimeMap& actual, const Tolerance& tolerance) {
    if (expected.keys.dtype() != actual.keys.dtype() || expected.keys.elementCount() != actual.keys.elementCount()) {
        return checkError(fmt::format("is a map of {} {} keys, expected {} {}", actual.keys.elementCount(), name(actual.keys.dtype()), expected.keys.elementCount(),
            name(expected.keys.dtype())));
    }
    std::unordered_map<std::string, std::int64_t> place;
    for (std::int64_t i = 0; i < actual.keys.elementCount(); ++i)
        place.emplace(actual.keys.asText(i), i);
    NABLA_TRY(Tensor ordered, Tensor::make(actual.values.dtype(), expected.values.shape()));
    for (std::int64_t i = 0; i < expected.keys.elementCount(); ++i) {
        const auto it = place.find(expected.keys.asText(i));
        if (it == place.end())
            return checkError("lacks the key " + expected.keys.asText(i));
        if (ordered.dtype() == DType::String)
            ordered.mutableData<std::string>()[static_cast<std::size_t>(i)] = actual.values.data<std::string>()[static_cast<std::size_t>(it->second)];
        else if (isInteger(ordered.dtype()))
            writeInt64(ordered.dtype(), ordered.mutableRaw(), i, actual.values.asInt64(it->second));
        else
            writeDouble(ordered.dtype(), ordered.mutableRaw(), i, actual.values.asDouble(it->second));
    }
    return compareTensors(expected.values, ordered, tolerance);
}

} // namespace

Result<ValueDifference> compareValues(const RuntimeValue& expected, const RuntimeValue& actual, const Tolerance& tolerance) {
    if (expected.isTensor() && actual.isTensor())
        return compareTensors(expected.tensor(), actual.tensor(), tolerance);
    if (const auto *e = expected.optional(), *a = actual.optional(); e && a) {
        if (e->hasValue != a->hasValue)
            return checkError(a->hasValue ? "has a value, expected none" : "has no value, expected one");
        return e->hasValue ? compareValues(e->value, a->value, tolerance) : Result<ValueDifference>(ValueDifference{});
    }
    if (const auto *e = expected.map(), *a = actual.map(); e && a)
        return compareMaps(*e, *a, tolerance);
    if (const auto *e = expected.sequence(), *a = actual.sequence(); e && a) {
        if (e->elements.size() != a->elements.size())
            return checkError(fmt::format("has {} elements, expected {}", a->elements.size(), e->elements.size()));
        ValueDifference all;
        for (std::size_t i = 0; i < e->elements.size(); ++i) {
            NABLA_TRY(const ValueDifference d, compareValues(e->elements[i], a->elements[i], tolerance).in(fmt::format("element {}", i)));
            all.largest = std::max(all.largest, d.largest);
            all.largestOfMax = std::max(all.largestOfMax, d.largestOfMax);
            all.outside += d.outside;
            if (all.text.empty() && !d.text.empty())
                all.text = fmt::format("element {}: {}", i, d.text);
        }
        return all;
    }
    // An optional that holds a value and the bare value are the same thing to a caller.
    if (const auto* e = expected.optional(); e && e->hasValue)
        return compareValues(e->value, actual, tolerance);
    if (const auto* a = actual.optional(); a && a->hasValue)
        return compareValues(expected, a->value, tolerance);
    if (expected.absent() && actual.absent())
        return ValueDifference{};
    return checkError("is another kind of value than expected");
}

} // namespace nabla::app

// castTensor: the conversions of ONNX Cast-28, by element reader and writer, with fast paths for the usual pairs.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "engine/tensor/element.h"
#include "engine/tensor/tensor.h"

namespace nabla::engine {

namespace {

/// Number in a string as ONNX Cast writes it: 3.14, 1e-5, 1E8, +INF, INF, -inf, NaN.
Result<double> parseNumber(const std::string& text) {
    const char* begin = text.c_str();
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    if (end == begin || *end != '\0')
        return runError("cannot cast string \"{}\" to a number", text);
    return value;
}

Result<Tensor> castFromString(const Tensor& input, Tensor output) {
    const auto in = input.data<std::string>();
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        if (isInteger(output.dtype())) { // whole numbers past 2^53 must not go by way of double
            std::int64_t whole = 0;
            const char* last = in[i].data() + in[i].size();
            if (auto [stop, error] = std::from_chars(in[i].data(), last, whole); error == std::errc{} && stop == last) {
                writeInt64(output.dtype(), output.mutableRaw(), index, whole);
                continue;
            }
        }
        NABLA_TRY(const double value, parseNumber(in[i]));
        writeDouble(output.dtype(), output.mutableRaw(), index, value);
    }
    return output;
}

template <typename From, typename To> bool castFast(const Tensor& input, Tensor& output) {
    if (input.dtype() != dtypeOf<From>() || output.dtype() != dtypeOf<To>())
        return false;
    const auto in = input.data<From>();
    auto out = output.mutableData<To>();
    for (std::size_t i = 0; i < in.size(); ++i)
        out[i] = static_cast<To>(in[i]);
    return true;
}

} // namespace

Result<Tensor> castTensor(const Tensor& input, DType to, bool saturate) {
    if (input.dtype() == to)
        return input;
    NABLA_TRY(Tensor output, Tensor::make(to, input.shape()));
    const std::int64_t count = input.elementCount();
    if (to == DType::String) {
        auto out = output.mutableData<std::string>();
        for (std::int64_t i = 0; i < count; ++i)
            out[static_cast<std::size_t>(i)] = input.dtype() == DType::Bool ? std::string(input.asInt64(i) ? "1" : "0") : input.asText(i);
        return output;
    }
    if (input.dtype() == DType::String)
        return castFromString(input, std::move(output));
    if (castFast<float, double>(input, output) || castFast<double, float>(input, output) || castFast<std::int64_t, float>(input, output)
        || castFast<std::int64_t, double>(input, output) || castFast<std::int32_t, std::int64_t>(input, output)
        || castFast<std::int64_t, std::int32_t>(input, output) || castFast<Half, float>(input, output) || castFast<BFloat16, float>(input, output)
        || castFast<float, Half>(input, output) || castFast<float, BFloat16>(input, output))
        return output;
    const bool whole = isInteger(input.dtype()) || input.dtype() == DType::Bool;
    for (std::int64_t i = 0; i < count; ++i) {
        if (whole && !(input.dtype() == DType::UInt64 && isFloat(to)))
            writeInt64(to, output.mutableRaw(), i, input.asInt64(i));
        else if (isComplex(to) && isComplex(input.dtype())) {
            const auto z = readComplex(input.dtype(), input.raw(), i);
            if (to == DType::Complex64)
                output.mutableData<std::complex<float>>()[static_cast<std::size_t>(i)] = std::complex<float>(z);
            else
                output.mutableData<std::complex<double>>()[static_cast<std::size_t>(i)] = z;
        } else
            writeDouble(to, output.mutableRaw(), i, input.asDouble(i), saturate);
    }
    return output;
}

} // namespace nabla::engine

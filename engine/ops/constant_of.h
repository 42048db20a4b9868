// constantOf: what a rule may know of a value before running.
#pragma once

#include <memory>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// The tensor of an initializer, or of the Constant node (also one behind Identity) that makes the value; null otherwise.
inline TensorPtr constantOf(const Graph& graph, ValueId value) {
    constexpr int kFarEnough = 16; // Identity after Identity
    for (int i = 0; i < kFarEnough && value; ++i) {
        if (const TensorPtr t = graph.constant(value))
            return t;
        const Node* node = graph.producer(value);
        if (!node || !node->domain.empty())
            return nullptr;
        if (node->opType == "Identity" && node->inputs.size() == 1) {
            value = node->inputs[0];
            continue;
        }
        if (node->opType != "Constant")
            return nullptr;
        if (const TensorPtr t = node->tensorAttribute("value"))
            return t;
        const auto vector = [](const auto& list) { return Shape{static_cast<std::int64_t>(list.size())}; };
        for (const Attribute& a : node->attributes) {
            if (const auto* number = std::get_if<std::int64_t>(&a.value); number && a.name == "value_int")
                return std::make_shared<const Tensor>(Tensor::scalar(*number));
            if (const auto* number = std::get_if<float>(&a.value); number && a.name == "value_float")
                return std::make_shared<const Tensor>(Tensor::scalar(*number));
            if (const auto* list = std::get_if<std::vector<std::int64_t>>(&a.value); list && a.name == "value_ints")
                return std::make_shared<const Tensor>(Tensor::of<std::int64_t>(vector(*list), *list));
            if (const auto* list = std::get_if<std::vector<float>>(&a.value); list && a.name == "value_floats")
                return std::make_shared<const Tensor>(Tensor::of<float>(vector(*list), *list));
        }
        return nullptr;
    }
    return nullptr;
}

} // namespace nabla::engine

// Goes over the nodes until nothing new is known: most bodies are in order, so that one round does.
#include "engine/ops/body_types.h"

#include <unordered_map>

#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

constexpr int kMaxDepth = 8, kMaxRounds = 64;

class BodyTypes {
public:
    BodyTypes(const Graph& body, int depth) : m_body(body), m_depth(depth) { }

    std::vector<ValueType> outputs(const std::vector<ValueType>& inputs, const std::vector<ValueType>& captures) {
        const auto fill = [&](std::span<const ValueId> ids, const std::vector<ValueType>& types) {
            for (std::size_t i = 0; i < ids.size() && i < types.size(); ++i)
                m_known.insert_or_assign(ids[i], types[i]);
        };
        fill(m_body.inputs(), inputs);
        fill(m_body.captures(), captures);
        for (int round = 0; round < kMaxRounds && sweep(); ++round) { }
        std::vector<ValueType> out;
        for (const ValueId id : m_body.outputs())
            out.push_back(typeOf(id));
        return out;
    }

private:
    ValueType typeOf(ValueId id) const {
        if (const auto it = m_known.find(id); it != m_known.end())
            return it->second;
        if (const TensorPtr constant = m_body.constant(id))
            return ValueType::tensor(constant->dtype(), ShapeView(constant->shape()));
        return {};
    }

    /// Whether something became known.
    bool sweep() {
        bool news = false;
        m_body.forEachNode([&](const Node& node) {
            if (!node.outputs.empty() && node.outputs[0] && m_known.contains(node.outputs[0]))
                return;
            InferenceInputs inputs;
            for (const ValueId input : node.inputs) {
                inputs.types.push_back(input ? typeOf(input) : ValueType{});
                if (input && inputs.types.back().kind == ValueType::Kind::Unknown)
                    return;
                inputs.constants.push_back(input ? m_body.constant(input) : nullptr);
                inputs.shapeData.emplace_back();
            }
            const BodyInference inner = [this](const GraphPtr& body, const std::vector<ValueType>& types) -> Result<std::vector<ValueType>> {
                if (m_depth >= kMaxDepth)
                    return runError("bodies are nested too deep");
                return BodyTypes(*body, m_depth + 1).outputs(types, {});
            };
            const auto types = inferNodeTypes(m_body, node, inputs, inner);
            if (!types)
                return;
            for (std::size_t i = 0; i < node.outputs.size() && i < types->size(); ++i) {
                if (node.outputs[i] && (*types)[i].kind != ValueType::Kind::Unknown)
                    news = m_known.insert_or_assign(node.outputs[i], (*types)[i]).second || news;
            }
        });
        return news;
    }

    const Graph& m_body;
    int m_depth;
    std::unordered_map<ValueId, ValueType> m_known;
};

} // namespace

std::vector<ValueType> bodyOutputTypes(const Graph& body, const std::vector<ValueType>& inputs, const std::vector<ValueType>& captures) {
    return BodyTypes(body, 0).outputs(inputs, captures);
}

} // namespace nabla::engine

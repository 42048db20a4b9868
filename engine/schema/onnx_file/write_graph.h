// A Graph to bytes of a ModelProto: the mirror of read_graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Where elements went that were put into another file.
struct ExternalPlace {
    std::string location;
    std::uint64_t offset = 0;
};

struct OnnxWriteOptions {
    /// Takes the elements of an initializer into another file; nothing = keep them in the message. Null = keep all.
    std::function<std::optional<ExternalPlace>(const Tensor&)> external;
    /// Type of a value whose file declares none (outputs that a pass made); null = such outputs have no type.
    std::function<ValueType(ValueId)> typeOf;
    /// Opset of ai.onnx to write in place of the graph's; the caller has checked that the operators mean the same.
    std::int64_t opset = 0;
};

/// Errors (Run): a dialect that is not ONNX, a node of the domain `nabla`, a value that nothing makes.
Result<std::string> writeOnnxModel(const Graph& graph, const OnnxWriteOptions& options = {});
/// A GraphProto by itself, for a body without captures.
Result<std::string> writeOnnxGraph(const Graph& graph);
/// A TensorProto.
std::string writeOnnxTensor(const Tensor& tensor, std::string_view name = {});

/// The names written in a graph and in those around it.
struct NameScope {
    const NameScope* outer = nullptr;
    std::unordered_set<std::string> names;
    bool has(const std::string& name) const { return names.contains(name) || (outer && outer->has(name)); }
};

/// The name every value of a graph is written under. captures: outer names, one per formal capture, which they keep. Other values of the graph that
/// bear such a name get a suffix, and so do initializers and outputs of nodes that bear any in `outer`: ONNX forbids a body to make a name again that
/// is visible from outside, and onnxruntime refuses such a model.
std::unordered_map<ValueId, std::string> writtenNames(const Graph& graph, const std::vector<std::string>& captures, const NameScope* outer = nullptr);
/// The format version that came with an opset of ai.onnx.
std::int64_t irVersionFor(std::int64_t opset);

} // namespace nabla::engine

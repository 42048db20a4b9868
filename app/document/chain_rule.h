// The chain rule at one element, with its numbers: what arrives, the local derivatives, their products, and the sum over the paths.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/document/local_node.h"
#include "engine/autodiff/grad.h"

namespace nabla::app {

/// One product of the sum: dL/dy[index] * dy[index]/dx[element].
struct ChainTerm {
    engine::ValueId output;
    std::int64_t index = 0;  ///< row-major, into the output
    double upstream = 0, local = 0;
    double product() const { return upstream * local; }
};

/// What comes back through one node that reads the value.
struct ChainPath {
    engine::NodeId reader;
    std::string rule;              ///< its gradient as a formula (autodiff/formulas.h)
    std::vector<ChainTerm> terms;  ///< at most kChainTerms, largest product first
    std::int64_t termCount = 0;    ///< outputs that depend on the element: local derivative not zero
    double share = 0;              ///< sum of all products
    double rest() const;           ///< of those that are not in `terms`
    std::string cut;               ///< why nothing comes back here; empty = it does
    bool measured = false;         ///< local derivatives by central differences: the rule of the rule is missing
};
inline constexpr std::size_t kChainTerms = 64;

struct ChainRule {
    engine::ValueId value;
    std::int64_t element = 0;      ///< row-major
    engine::Shape shape;           ///< of the value
    double x = 0;                  ///< the element itself
    std::vector<ChainPath> paths;  ///< in order of the readers
    std::optional<double> seed;    ///< the value is differentiated itself: this arrives from outside
    double total = 0;              ///< seed and shares; computed here in double from the values as they are
    std::optional<double> gradient; ///< the element of the cotangent that the graph computed; absent before its step
};

/// Explains dL/d(value[element]) in a joint graph. `value` is a forward value. Errors (Usage): no cotangent, or no such element;
/// (Run): a value the explanation needs is not there yet.
engine::Result<ChainRule> chainRule(const engine::JointGraph& joint, engine::ValueId value, std::int64_t element, const ValueOf& valueOf,
    const engine::JobControl& job = {});

/// The same number by other means, both in double: the joint graph run whole, and central differences of L = sum of output * cotangent.
struct ElementCheck {
    double reference = 0;
    double central = 0;
    double step = 0; ///< h of (L(x + h) - L(x - h)) / 2h
};
/// `inputs`: of the joint graph, cotangents included.
engine::Result<ElementCheck> checkElement(const engine::JointGraph& joint, const engine::NamedValues& inputs, engine::ValueId value,
    std::int64_t element, const engine::JobControl& job = {});

/// The forward value that a value of a backward step is the cotangent of; none when it is no cotangent.
engine::ValueId forwardOf(const engine::JointGraph& joint, engine::ValueId cotangent);

/// An element-wise function of one operand and its derivative, along [from, to], with the node's attributes.
struct Curve {
    std::vector<double> x, y, slope;
};
/// Empty when the node is not such a function.
engine::Result<std::optional<Curve>> curveOf(const engine::Graph& graph, const engine::Node& node, double from, double to, const engine::JobControl& job = {});

/// `[0, 17, 402]` of a row-major index, and back. Errors (Usage): what is wrong with the text, with the shape.
std::string elementText(std::int64_t index, engine::ShapeView shape);
engine::Result<std::int64_t> parseElement(std::string_view text, engine::ShapeView shape);

} // namespace nabla::app

// Explaining one element of a gradient: the local derivatives of each node that reads the value, their products with what arrives, and
// the same number by other means.
#pragma once

#include "app/document/local_node.h"
#include "engine/autodiff/chain_rule.h"
#include "engine/autodiff/grad.h"

namespace nabla::app {

/// Explains dL/d(value[element]) in a joint graph. `value` is a forward value. Errors (Usage): no cotangent, or no such element;
/// (Run): a value the explanation needs is not there yet.
engine::Result<engine::ChainRule> chainRule(const engine::JointGraph& joint, engine::ValueId value, std::int64_t element, const ValueOf& valueOf,
    const engine::JobControl& job = {});

/// `inputs`: of the joint graph, cotangents included.
engine::Result<engine::ElementCheck> checkElement(const engine::JointGraph& joint, const engine::NamedValues& inputs, engine::ValueId value,
    std::int64_t element, const engine::JobControl& job = {});

/// The forward value that a value of a backward step is the cotangent of; none when it is no cotangent.
engine::ValueId forwardOf(const engine::JointGraph& joint, engine::ValueId cotangent);

/// The node's function along [from, to], with its attributes. Empty when it is no element-wise function of one operand.
engine::Result<std::optional<engine::Curve>> curveOf(const engine::Graph& graph, const engine::Node& node, double from, double to,
    const engine::JobControl& job = {});

} // namespace nabla::app

// What lifting old operator versions has in common: attributes that became inputs, broadcasting before opset 7.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

/// A copy of the node without these attributes.
Node withoutAttributes(const Node& node, std::initializer_list<std::string_view> names);
/// Puts `changed` into the node's slot.
Result<void> replaceWith(UpgradeContext& c, Node changed);

/// An initializer that the lifted node reads.
ValueId upgradeConstant(UpgradeContext& c, std::string_view what, Tensor tensor);
ValueId upgradeInts(UpgradeContext& c, std::string_view what, std::vector<std::int64_t> values);
/// A scalar of the element type of input `like`. Errors: that type is not known.
Result<ValueId> upgradeScalar(UpgradeContext& c, std::string_view what, std::size_t like, double value);
/// A new node before the lifted one.
ValueId upgradeNode(UpgradeContext& c, std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {});
/// Rank of an input. Errors: not known before running, so that this old form cannot be lifted.
Result<std::size_t> upgradeRank(UpgradeContext& c, std::size_t input);

/// Drops `consumed_inputs` (a hint of opset 1) and nothing else.
Result<void> dropConsumedInputs(UpgradeContext& c);
/// Broadcasting of opsets 1 to 6: the second operand aligned at `axis`; a plain operator needs an Unsqueeze for that. Drops consumed_inputs too.
Result<void> upgradeLegacyBroadcast(UpgradeContext& c);
/// An ints attribute that became an input (`axes` of reductions, Squeeze, Unsqueeze), when it is there.
Result<void> attributeToInput(UpgradeContext& c, std::string_view attribute, std::size_t position);
/// Sets an input, filling the gap before it with omitted ones.
void setInput(Node& node, std::size_t position, ValueId value);
/// Sets an attribute that is missing: a default that changed between versions.
void setDefault(Node& node, std::string_view name, AttributeValue value);

inline constexpr Upgrade kDropConsumedInputs[] = {{5, dropConsumedInputs}};
inline constexpr Upgrade kLegacyBroadcast[] = {{6, upgradeLegacyBroadcast}};

} // namespace nabla::engine

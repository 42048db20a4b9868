// Schemas of our internal domain `nabla`: operators that passes and gradients emit and that no file holds.
#pragma once

#include <span>

#include "engine/schema/schema.h"

namespace nabla::engine {

/// One row per operator, version 1. Operators whose outputs follow from their inputs state it in their OpDef (refineShape).
std::span<const OperatorSchema> nablaSchemas();

} // namespace nabla::engine

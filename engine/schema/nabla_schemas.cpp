// The table of the domain `nabla`. A row is added together with the operator's OpDef.
#include "engine/schema/nabla_schemas.h"

namespace nabla::engine {

std::span<const OperatorSchema> nablaSchemas() {
    static const std::vector<OperatorSchema> kTable;
    return kTable;
}

} // namespace nabla::engine

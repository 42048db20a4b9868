// The explicit list of operator families: nothing registers itself, the linker would drop it.
#include <functional>
#include <string>
#include <unordered_map>

#include "engine/ops/op_def.h"

// One line a family; each is a function in a file of its own that returns its rows.
#define NABLA_OP_FAMILIES(FAMILY) \
    FAMILY(stringOps) \
    FAMILY(textFeatureOps) \
    FAMILY(mlFeatureOps) \
    FAMILY(mlLabelOps) \
    FAMILY(mlLinearOps) \
    FAMILY(treeOps) \
    FAMILY(arithmeticOps) \
    FAMILY(unaryMathOps) \
    FAMILY(logicOps) \
    FAMILY(activationOps) \
    FAMILY(castOps) \
    FAMILY(shapeOps) \
    FAMILY(layoutOps) \
    FAMILY(reductionOps) \
    FAMILY(scanOps) \
    FAMILY(generateOps) \
    FAMILY(gatherOps) \
    FAMILY(scatterOps) \
    FAMILY(padOps) \
    FAMILY(uniqueOps) \
    FAMILY(resizeOps) \
    FAMILY(gridSampleOps) \
    FAMILY(matMulOps) \
    FAMILY(einsumOps) \
    FAMILY(convOps) \
    FAMILY(poolOps) \
    FAMILY(normalizationOps) \
    FAMILY(softmaxOps) \
    FAMILY(lossOps) \
    FAMILY(randomOps) \
    FAMILY(controlFlowOps) \
    FAMILY(sequenceOps) \
    FAMILY(recurrentOps) \
    FAMILY(quantizeOps) \
    FAMILY(quantizedProductOps) \
    FAMILY(functionOps) \
    FAMILY(affineGridOps) \
    FAMILY(col2ImOps) \
    FAMILY(deformConvOps) \
    FAMILY(roiAlignOps) \
    FAMILY(maxRoiPoolOps) \
    FAMILY(nonMaxSuppressionOps) \
    FAMILY(optimizerOps) \
    FAMILY(imageDecoderOps) \
    FAMILY(detOps) \
    FAMILY(contribActivationOps) \
    FAMILY(contribFusedOps) \
    FAMILY(contribNormOps) \
    FAMILY(contribQuantizedOps) \
    FAMILY(contribMatMulNBitsOps) \
    FAMILY(contribInverseOps) \
    FAMILY(contribAttentionOps) \
    FAMILY(contribGroupQueryOps) \
    FAMILY(signalOps)

namespace nabla::engine {

#define NABLA_DECLARE(name) std::span<const OpDef> name();
NABLA_OP_FAMILIES(NABLA_DECLARE)
#undef NABLA_DECLARE

namespace {

using Family = std::span<const OpDef> (*)();

std::vector<Family> families() {
    return {
#define NABLA_LIST(name) name,
        NABLA_OP_FAMILIES(NABLA_LIST)
#undef NABLA_LIST
    };
}

/// The rows by name and in order; built when first asked for, never changed after.
struct Registry {
    std::vector<const OpDef*> rows;
    std::unordered_map<std::string, const OpDef*> byKey;

    static std::string key(std::string_view name, std::string_view domain) {
        return std::string(domain == "ai.onnx" ? "" : domain) + ':' + std::string(name);
    }
    Registry() {
        for (const Family family : families()) {
            for (const OpDef& row : family()) {
                rows.push_back(&row);
                [[maybe_unused]] const bool isNew = byKey.emplace(key(row.name, row.domain), &row).second;
                NABLA_ASSERT(isNew, "an operator has one row");
            }
        }
    }
};

const Registry& registry() {
    static const Registry all;
    return all;
}

} // namespace

const OpDef* findOp(std::string_view name, std::string_view domain) {
    const auto& byKey = registry().byKey;
    const auto it = byKey.find(Registry::key(name, domain));
    return it == byKey.end() ? nullptr : it->second;
}

std::span<const OpDef* const> allOps() { return registry().rows; }

} // namespace nabla::engine

// Numeric trouble: where the first values that are not finite are born, who only carries them, and which input elements caused them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/document/local_node.h"

namespace nabla::app {

/// A value with elements that are not finite.
struct NotFinite {
    engine::Shape shape = {};
    engine::ValueId value;
    engine::NodeId producer;        ///< none: a graph input or a weight
    std::int64_t nan = 0, infinite = 0;
    std::int64_t firstNan = -1, firstInfinite = -1; ///< row-major; -1 = none
    bool bornNan = false;           ///< NaN here and in nothing the producer reads
    bool bornInfinite = false;      ///< the same for infinities
    bool backward = false;          ///< made by a backward step
};

/// One step of the way back from an element: the elements its node read that made it what it is.
struct WalkStep {
    engine::ValueId value;
    std::int64_t element = 0;
    double number = 0;
    engine::NodeId producer;        ///< none: the walk ends at a graph input or weight
    struct Cause {
        engine::ValueId value;
        std::int64_t element = 0;
        double number = 0;
    };
    std::vector<Cause> causes;      ///< at most kWalkCauses; not finite ones where there are any, else what the element depends on
    bool more = false;              ///< there are further causes
    bool bornHere = false;          ///< every element read was finite
};
inline constexpr std::size_t kWalkCauses = 8;

struct TroubleReport {
    std::vector<NotFinite> values;  ///< in order of execution; graph inputs and weights first
    const NotFinite* firstNan() const;      ///< null: no NaN anywhere
    const NotFinite* firstInfinite() const;
};

/// Looks at every float value of `order` (nodes in order of execution) that is there, but those known to be finite. Errors: Cancelled.
engine::Result<TroubleReport> findTrouble(const engine::Graph& graph, const std::vector<engine::NodeId>& order, const ValueOf& valueOf,
    const engine::JobControl& job = {}, const std::function<bool(engine::ValueId)>& knownFinite = {});

/// Goes back from one element, at each node to its first cause, until a graph input, a weight, or a node that read finite elements only.
/// Influence is tried: the node runs again with the suspected elements alone in place. Errors: Cancelled; a value that is not there.
engine::Result<std::vector<WalkStep>> walkBack(const engine::Graph& graph, engine::ValueId value, std::int64_t element, const ValueOf& valueOf,
    const engine::JobControl& job = {});

/// The report in sentences, for the command line and the log: `NaN is born in node "attn_softmax" (Softmax), value "p": 3 elements, first [1, 0]`.
std::string troubleText(const engine::Graph& graph, const TroubleReport& report);
std::string walkText(const engine::Graph& graph, const std::vector<WalkStep>& walk, const ValueOf& valueOf);

/// What a half type cost one value, against the same run in double.
struct PrecisionLoss {
    engine::ValueId value;
    std::int64_t count = 0;
    std::int64_t saturated = 0;  ///< finite in double, infinite or the largest number here
    std::int64_t underflowed = 0; ///< not zero in double, zero here
    std::int64_t subnormal = 0;
    double largestRelative = 0;  ///< of elements finite in both: |here - double| / largest |double|
};
/// Runs the graph as it is and in double. Only values of float16 and bfloat16, in order of execution. Errors: of running.
engine::Result<std::vector<PrecisionLoss>> precisionLoss(const engine::Graph& graph, const engine::NamedValues& inputs, const engine::JobControl& job = {});

} // namespace nabla::app

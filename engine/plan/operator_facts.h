// What is known of an operator apart from its documentation: versions, types, how it runs, is differentiated and is counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nabla::engine {

struct OperatorFacts {
    std::string name, domain;
    std::vector<std::int64_t> versions; ///< of the standard, ascending; all of them are lifted to the last one to run
    std::string types;                  ///< what its first input (else its output) may be, short: `float int bool string`
    std::string run;                    ///< `kernel`, `by its body`, `runs its bodies`, `as backward nodes` (Gradient)
    std::string gradient;               ///< `rule`, `through its body`, `none: its result is an index`
    std::vector<std::string> kernels;   ///< optimised ones that may be chosen; the reference is always there
    std::string cost;                   ///< `formula`, `of its body`, `of its iterations`
};

/// Nothing for an operator that does not run here.
std::optional<OperatorFacts> operatorFacts(std::string_view opType, std::string_view domain);
/// Every operator that runs, by domain and name.
std::vector<OperatorFacts> allOperatorFacts();
/// `1, 7, 13`.
std::string versionsText(const OperatorFacts& facts);
/// `onednn.conv`, else how it runs.
std::string kernelsText(const OperatorFacts& facts);

} // namespace nabla::engine

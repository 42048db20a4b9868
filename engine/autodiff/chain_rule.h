// What the chain rule says at one element, with its numbers: plain values, filled by app/document/explain_element.h and shown by views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/graph/ids.h"
#include "engine/tensor/shape.h"

namespace nabla::engine {

/// One product of the sum: dL/dy[index] * dy[index]/dx[element].
struct ChainTerm {
    ValueId output;
    std::int64_t index = 0;  ///< row-major, into the output
    double upstream = 0, local = 0;
    double product() const { return upstream * local; }
};

/// What comes back through one node that reads the value.
struct ChainPath {
    NodeId reader;
    std::string rule;              ///< its gradient as a formula (autodiff/formulas.h)
    std::vector<ChainTerm> terms;  ///< at most kChainTerms, largest product first
    std::int64_t termCount = 0;    ///< outputs that depend on the element: local derivative not zero
    double share = 0;              ///< sum of all products
    std::string cut;               ///< why nothing comes back here; empty = it does
    bool measured = false;         ///< local derivatives by central differences: the rule of the rule is missing

    /// Sum of the products that are not in `terms`.
    double rest() const;
};
inline constexpr std::size_t kChainTerms = 64;

struct ChainRule {
    ValueId value;
    std::int64_t element = 0;      ///< row-major
    Shape shape = {};              ///< of the value
    double x = 0;                  ///< the element itself
    std::vector<ChainPath> paths;  ///< in order of the readers
    std::optional<double> seed;    ///< the value is differentiated itself: this arrives from outside
    double total = 0;              ///< seed and shares; computed here in double from the values as they are
    std::optional<double> gradient; ///< the element of the cotangent that the graph computed; absent before its step
};

/// The same number by other means, both in double: the joint graph run whole, and central differences of L = sum of output * seed.
struct ElementCheck {
    double reference = 0;
    double central = 0;
    double step = 0; ///< h of (L(x + h) - L(x - h)) / 2h
};

/// An element-wise function of one operand and its derivative.
struct Curve {
    std::vector<double> x, y, slope;
};

/// `[0, 17, 402]` of a row-major index, and back. Errors (Usage): what is wrong with the text, with the shape.
std::string elementText(std::int64_t index, ShapeView shape);
Result<std::int64_t> parseElement(std::string_view text, ShapeView shape);

} // namespace nabla::engine

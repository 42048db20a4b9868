// The table of the gradient property test: rows of an operator, a graph with dimensions to draw, and where its values may lie.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/runtime/session.h"

namespace nabla::tests {

struct GradientRow {
    std::string op, graph;
    std::string onlyOnce; ///< why there is no second order; empty: there is
    std::string single; ///< why it runs in float32 even when all else is double; empty: it does not
    std::map<std::string, std::string> domains; ///< by input name
    int line = 0;
};

struct GradientTable {
    std::vector<GradientRow> rows;
    std::map<std::string, std::string> excluded; ///< operator -> reason
    std::string error;
};

/// The syntax stands at the top of tests/data/gradients/operators.txt.
GradientTable readGradientTable(const std::string& file);

struct GradientTrial {
    std::string text; ///< with the dimensions drawn
    engine::Graph graph;
    engine::NamedValues inputs;
    std::vector<engine::ValueId> wrt; ///< the float inputs that do not stay constant
};

/// Draws the dimensions and the inputs. Errors: the text does not parse, an input has no shape or an unknown domain.
engine::Result<GradientTrial> makeTrial(const GradientRow& row, std::mt19937_64& random);

} // namespace nabla::tests

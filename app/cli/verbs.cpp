// The list of verbs, in the order of --help.
#include "app/cli/verbs.h"

namespace nabla::app::cli {

std::vector<std::pair<std::string_view, Verb>> verbs() {
    return {{"info", addInfo}, {"run", addRun}, {"grad", addGrad}, {"train", addTrain}, {"vmap", addVmap}, {"passes", addPasses}, {"profile", addProfile}, {"trace", addTrace},
        {"render", addRender}, {"convert", addConvert}, {"conformance", addConformance}, {"operators", addOperators}, {"devices", addDevices}};
}

} // namespace nabla::app::cli

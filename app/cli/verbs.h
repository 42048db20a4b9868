// One function a verb; each lives in app/cli/<verb>.cpp.
#pragma once

#include "app/cli/cli.h"

namespace nabla::app::cli {

void addInfo(::CLI::App& app, Context& context);
void addRun(::CLI::App& app, Context& context);
void addGrad(::CLI::App& app, Context& context);
void addTrain(::CLI::App& app, Context& context);
void addVmap(::CLI::App& app, Context& context);
void addPasses(::CLI::App& app, Context& context);
void addConformance(::CLI::App& app, Context& context);
void addConvert(::CLI::App& app, Context& context);
void addProfile(::CLI::App& app, Context& context);
void addTrace(::CLI::App& app, Context& context);
void addDevices(::CLI::App& app, Context& context);
void addOperators(::CLI::App& app, Context& context);
void addRender(::CLI::App& app, Context& context);

} // namespace nabla::app::cli

// Two forward runs in double per value and direction; weights are perturbed as initializers of a changed graph.
#include "app/document/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "engine/graph/graph_editor.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

constexpr double kStep = 1e-4;

SessionOptions doubleOptions() {
    SessionOptions options;
    options.inDouble = true;
    options.optimisedKernels = false;
    return options;
}

struct Check {
    const Graph& forward;
    const JointGraph& joint;
    NamedValues inputs;      // of the forward graph
    NamedValues cotangents;  // by output name
    const JobControl& job;

    /// Sum over outputs of output * cotangent.
    Result<double> loss(const Graph& graph, const NamedValues& at) const {
        NABLA_TRY(const auto session, Session::create(graph, doubleOptions()));
        NABLA_TRY(const NamedValues outputs, session->run(at, job));
        double sum = 0;
        for (const auto& [name, cotangent] : cotangents) {
            const Tensor& y = outputs.at(name).tensor();
            for (std::int64_t i = 0; i < y.elementCount(); ++i)
                sum += y.asDouble(i) * cotangent.tensor().asDouble(i);
        }
        return sum;
    }

    /// Of the loss along the direction: a central difference.
    Result<double> slope(ValueId id, const Tensor& base, const std::vector<double>& direction, double step) const {
        NABLA_TRY(const double up, moved(id, base, direction, step));
        NABLA_TRY(const double down, moved(id, base, direction, -step));
        return (up - down) / (2 * step);
    }

    /// The loss with `value` moved by step * direction.
    Result<double> moved(ValueId id, const Tensor& base, const std::vector<double>& direction, double step) const {
        NABLA_TRY(Tensor at, Tensor::make(DType::Float64, base.shape()));
        auto out = at.mutableData<double>();
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = base.asDouble(static_cast<std::int64_t>(i)) + step * direction[i];
        const std::string& name = forward.value(id)->name;
        if (inputs.contains(name)) {
            NamedValues changed = inputs;
            changed[name] = RuntimeValue(at);
            return loss(forward, changed);
        }
        GraphEditor editor(forward);
        editor.setConstant(id, std::make_shared<const Tensor>(at));
        return loss(editor.finish(), inputs);
    }
};

} // namespace

Result<GradientCheck> checkGradients(const Graph& forward, const JointGraph& joint, const NamedValues& inputs, const JobControl& job) {
    Check check{forward, joint, {}, {}, job};
    for (const ValueId id : forward.inputs()) {
        if (const auto it = inputs.find(forward.value(id)->name); it != inputs.end())
            check.inputs[it->first] = it->second;
    }
    for (const auto& [output, extra] : joint.cotangentInput)
        check.cotangents[joint.graph.value(output)->name] = inputs.at(joint.graph.value(extra)->name);
    NABLA_TRY(const auto session, Session::create(joint.graph, doubleOptions()));
    NABLA_TRY(const NamedValues results, session->run(inputs, job));
    GradientCheck out;
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    for (const ValueId id : joint.wrt) {
        NABLA_CHECK(job.check());
        const Value& value = *forward.value(id);
        const Tensor base = value.constant && !check.inputs.contains(value.name) ? *value.constant : check.inputs.at(value.name).tensor();
        const Tensor& gradient = results.at(joint.graph.value(joint.gradientOf.at(id))->name).tensor();
        std::vector<double> direction(static_cast<std::size_t>(base.elementCount()));
        double expected = 0, scale = 0;
        for (std::size_t i = 0; i < direction.size(); ++i) {
            const auto index = static_cast<std::int64_t>(i);
            direction[i] = normal(random) * std::max(1e-3, std::fabs(base.asDouble(index)));
            expected += gradient.asDouble(index) * direction[i];
            scale += std::fabs(gradient.asDouble(index) * direction[i]);
        }
        NABLA_TRY(const double coarse, check.slope(id, base, direction, kStep));
        NABLA_TRY(const double fine, check.slope(id, base, direction, kStep / 2));
        const double measured = (4 * fine - coarse) / 3;
        const double relative = std::fabs(measured - expected) / std::max({std::fabs(measured), scale, 1e-12});
        if (!(relative <= out.worst) && !std::isnan(out.worst)) { // one that is not a number stays the worst
            out.worst = relative;
            out.worstValue = value.name;
            out.worstText = fmt::format("{}: {:.9g} along a random direction, differences say {:.9g}", value.name, expected, measured);
        }
    }
    out.passed = out.worst <= 1e-6; // false also for NaN
    out.text = fmt::format("{} values against central differences in double: largest relative difference {:.3g}, limit 1e-6 ({})", joint.wrt.size(), out.worst, out.worstText);
    return out;
}

} // namespace nabla::app

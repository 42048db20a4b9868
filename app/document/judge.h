// Judge: prices graph states by plan and cost, and compares two states by running both in double.
#pragma once

#include <optional>

#include "engine/passes/pass.h"
#include "engine/runtime/session.h"

namespace nabla::app {

/// The PassJudge over plan and runtime. Inputs for comparisons are generated once unless given.
class Judge final : public engine::PassJudge {
public:
    explicit Judge(engine::DimBindings dims = {}, engine::JobControl job = {}, std::optional<engine::NamedValues> inputs = std::nullopt)
        : m_dims(std::move(dims)), m_job(std::move(job)), m_inputs(std::move(inputs)) { }

    engine::Result<engine::GraphPrice> price(const engine::Graph& graph) override;
    engine::Result<std::vector<engine::OutputDifference>> compare(const engine::Graph& before, const engine::Graph& after) override;

private:
    engine::DimBindings m_dims;
    engine::JobControl m_job;
    std::optional<engine::NamedValues> m_inputs;
};

} // namespace nabla::app

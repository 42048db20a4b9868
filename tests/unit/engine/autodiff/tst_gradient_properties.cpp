// Every differentiable operator against central differences in double, once and twice, at random small shapes and values: the table
// tests/data/gradients/operators.txt. Prints which operators are covered and which are excluded, and fails on any that is neither.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <QTest>

#include "engine/autodiff/grad.h"
#include "engine/ops/op_def.h"
#include "engine/passes/pass.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"
#include "tests/unit/engine/autodiff/gradient_table.h"

using namespace nabla::engine;
using namespace nabla::tests;

namespace {

/// Fourth-order central differences: the error of the formula is step^4 f'''''/30, of rounding 1e-16 f/step; both are far below
/// the tolerance at this step for functions whose derivatives are near one.
/// Tolerances are relative to the largest entry of a gradient.
struct Precision {
    double step, relative;
};
constexpr Precision kDouble = {1e-3, 1e-6};
/// An operator that the standard has in float32 only: rounding of 1e-7 over the step, times the terms summed.
constexpr Precision kSingle = {0.05, 1e-4};
constexpr int kTrials = 2;

Result<std::unique_ptr<Session>> sessionFor(const Graph& graph) {
    SessionOptions options;
    options.mode = ExecutorMode::Eager;
    options.inDouble = true;
    options.threads = 1;
    options.optimisedKernels = false;
    return Session::create(graph, options);
}

std::string nameOf(const Graph& graph, ValueId id) {
    return graph.value(id)->name;
}

Tensor randomLike(const Shape& shape, std::mt19937_64& random) {
    std::uniform_real_distribution<double> uniform(0.3, 1.0);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
        count *= extent;
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& each : values)
        each = (random() % 2 ? 1 : -1) * uniform(random);
    return Tensor::of<double>(shape, values);
}

/// sum over the named outputs of weight . output.
Result<double> weighted(Session& session, const NamedValues& inputs, const std::map<std::string, Tensor>& weights) {
    NABLA_TRY(const NamedValues values, session.run(inputs));
    double sum = 0;
    for (const auto& [name, weight] : weights) {
        const Tensor& value = values.at(name).tensor();
        for (std::int64_t i = 0; i < value.elementCount(); ++i)
            sum += weight.asDouble(i) * value.asDouble(i);
    }
    return sum;
}

Tensor moved(const Tensor& tensor, std::int64_t element, double by) {
    std::vector<double> values(static_cast<std::size_t>(tensor.elementCount()));
    for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
        values[static_cast<std::size_t>(i)] = tensor.asDouble(i) + (i == element ? by : 0);
    return Tensor::of<double>(tensor.shape(), values);
}

/// The largest difference relative to the largest entry (at least 1e-2 of one) over all inputs; where it is, in `place`.
Result<double> compareWithDifferences(Session& session, NamedValues inputs, const std::map<std::string, Tensor>& weights,
    const std::map<std::string, Tensor>& gradients, double step, std::string& place) {
    double worst = 0;
    for (const auto& [name, gradient] : gradients) {
        const Tensor at = inputs.at(name).tensor();
        if (gradient.shape() != at.shape())
            return Error{ErrorKind::Check, fmt::format("gradient of \"{}\" is {}, the value {}", name, toString(gradient.shape()), toString(at.shape()))};
        double largest = 1e-2;
        std::vector<double> slopes;
        for (std::int64_t i = 0; i < at.elementCount(); ++i) {
            double f[4];
            const double steps[4] = {2 * step, step, -step, -2 * step};
            for (int k = 0; k < 4; ++k) {
                inputs[name] = moved(at, i, steps[k]);
                NABLA_TRY(f[k], weighted(session, inputs, weights));
            }
            slopes.push_back((-f[0] + 8 * f[1] - 8 * f[2] + f[3]) / (12 * step));
            largest = std::max(largest, std::abs(slopes.back()));
        }
        inputs[name] = at;
        for (std::int64_t i = 0; i < at.elementCount(); ++i) {
            const double expected = slopes[static_cast<std::size_t>(i)], actual = gradient.asDouble(i);
            const double difference = std::abs(actual - expected) / largest;
            if (difference > worst || std::isnan(difference)) {
                worst = std::isnan(difference) ? HUGE_VAL : difference;
                place = fmt::format("{}[{}]: rule {:.12g}, differences {:.12g}", name, i, actual, expected);
            }
        }
    }
    return worst;
}

/// One differentiation judged: the joint graph and the inputs it ran with, for the next one.
struct Judged {
    JointGraph joint;
    NamedValues inputs;
    double worst = 0;
    std::string place;
};

Result<Judged> judge(const Graph& graph, const NamedValues& inputs, const std::vector<ValueId>& of, const std::vector<ValueId>& wrt,
    double step, std::mt19937_64& random) {
    GradOptions options;
    options.of = of;
    options.wrt = wrt;
    Judged out;
    NABLA_TRY(out.joint, grad(graph, options));
    NABLA_TRY(const auto forward, sessionFor(graph));
    NABLA_TRY(const NamedValues values, forward->run(inputs));
    std::map<std::string, Tensor> weights, gradients;
    out.inputs = inputs;
    for (const auto& [value, cotangent] : out.joint.cotangentInput) {
        const std::string name = nameOf(graph, value);
        weights[name] = randomLike(values.at(name).tensor().shape(), random);
        out.inputs[nameOf(out.joint.graph, cotangent)] = weights[name];
    }
    NABLA_TRY(const auto backward, sessionFor(out.joint.graph));
    NABLA_TRY(const NamedValues results, backward->run(out.inputs));
    for (const ValueId value : wrt)
        gradients[nameOf(graph, value)] = results.at(nameOf(out.joint.graph, out.joint.gradientOf.at(value))).tensor();
    NABLA_TRY(out.worst, compareWithDifferences(*forward, inputs, weights, gradients, step, out.place));
    return out;
}

/// The operators of a graph, bodies included.
void collectOperators(const Graph& graph, std::set<std::string>& out) {
    graph.forEachNode([&](const Node& node) {
        if (node.domain.empty())
            out.insert(node.opType);
        for (const auto& [name, body] : node.bodies())
            collectOperators(*body, out);
    });
}

struct Measured {
    double first = 0;
    std::optional<double> second;
    std::string secondReason, single;
};

} // namespace

class TstGradientProperties : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY2(m_table.error.empty(), m_table.error.c_str()); }

    void agreesWithDifferences_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < m_table.rows.size(); ++i)
            QTest::addRow("%s, line %d", m_table.rows[i].op.c_str(), m_table.rows[i].line) << static_cast<int>(i);
    }
    void agreesWithDifferences() {
        QFETCH(int, row);
        const GradientRow& spec = m_table.rows[static_cast<std::size_t>(row)];
        Measured& measured = m_measured[spec.op];
        const Precision precision = spec.single.empty() ? kDouble : kSingle;
        measured.single = spec.single.empty() ? measured.single : spec.single;
        for (int trial = 0; trial < kTrials; ++trial) {
            std::mt19937_64 random(static_cast<std::uint64_t>(1000 * spec.line + trial));
            const auto made = makeTrial(spec, random);
            QVERIFY2(made, made ? "" : made.error().message().c_str());
            const auto graph = legalized(made->graph);
            QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
            std::set<std::string> operators;
            collectOperators(made->graph, operators); // before lifting: Scatter lives on in old opsets only
            QVERIFY2(operators.contains(spec.op), "the row does not use its operator");
            const auto once = judge(*graph, made->inputs, {}, made->wrt, precision.step, random);
            QVERIFY2(once, once ? "" : (made->text + ": " + once.error().message()).c_str());
            measured.first = std::max(measured.first, once->worst);
            QVERIFY2(once->worst <= precision.relative, fmt::format("{}\n  first order, {}", made->text, once->place).c_str());
            if (!spec.onlyOnce.empty()) {
                measured.secondReason = spec.onlyOnce;
                continue;
            }
            std::vector<ValueId> gradients;
            for (const ValueId value : made->wrt)
                gradients.push_back(once->joint.gradientOf.at(value));
            const auto twice = judge(once->joint.graph, once->inputs, gradients, made->wrt, precision.step, random);
            QVERIFY2(twice, twice ? "" : (made->text + ": second order: " + twice.error().message()).c_str());
            measured.second = std::max(measured.second.value_or(0), twice->worst);
            QVERIFY2(twice->worst <= precision.relative, fmt::format("{}\n  second order, {}", made->text, twice->place).c_str());
        }
    }

    /// Runs last: every operator of the registry has rows, or a reason why not.
    void everyOperatorIsCoveredOrExcluded() {
        std::vector<std::string> faults;
        int covered = 0, excluded = 0;
        fmt::print("\n{:28} {:>4}  {:>11}  {:>11}\n", "operator", "rows", "first order", "second order");
        for (const OpDef* op : allOps()) {
            if (!op->domain.empty())
                continue;
            const std::string name(op->name);
            const bool isDifferentiable = op->gradient.rule() || op->gradient.usesBody();
            const auto rows = std::count_if(m_table.rows.begin(), m_table.rows.end(), [&](const GradientRow& row) { return row.op == name; });
            const auto reason = m_table.excluded.find(name);
            if (rows > 0 && reason != m_table.excluded.end())
                faults.push_back(name + " has rows and is excluded");
            if (!isDifferentiable) {
                ++excluded;
                fmt::print("{:28}    -  no gradient: {}\n", name, op->gradient.reason());
                if (rows > 0 || reason != m_table.excluded.end())
                    faults.push_back(name + " is in the table but has no gradient");
            } else if (reason != m_table.excluded.end()) {
                ++excluded;
                fmt::print("{:28}    -  excluded: {}\n", name, reason->second);
            } else if (rows > 0) {
                ++covered;
                const Measured& measured = m_measured[name];
                fmt::print("{:28} {:>4}  {:11.1e}  {}{}\n", name, rows, measured.first,
                    measured.second ? fmt::format("{:11.1e}", *measured.second) : "once only: " + measured.secondReason,
                    measured.single.empty() ? "" : "  in float32: " + measured.single);
            } else {
                faults.push_back(name + " is differentiable and has neither rows nor a reason");
            }
        }
        fmt::print("{} operators covered, {} excluded\n", covered, excluded);
        for (const auto& [name, why] : m_table.excluded) {
            if (!findOp(name, ""))
                faults.push_back(name + " is excluded but no operator");
        }
        QVERIFY2(faults.empty(), fmt::format("{}", fmt::join(faults, "\n")).c_str());
    }

private:
    GradientTable m_table = readGradientTable(NABLA_TEST_DATA "/gradients/operators.txt");
    std::map<std::string, Measured> m_measured;
};

QTEST_APPLESS_MAIN(TstGradientProperties)
#include "tst_gradient_properties.moc"

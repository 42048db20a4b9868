// Unique: the distinct elements, or slices along an axis, with where they were and how often.
#include <algorithm>
#include <numeric>

#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

/// Compares elements of any type that has an order; NaN is equal to nothing and comes last, as in NumPy.
class ElementOrder {
public:
    explicit ElementOrder(const Tensor& x) : m_x(x) { }
    int compare(std::int64_t a, std::int64_t b) const {
        switch (m_x.dtype()) {
        case DType::String: return m_x.data<std::string>()[static_cast<std::size_t>(a)].compare(m_x.data<std::string>()[static_cast<std::size_t>(b)]);
        case DType::UInt64: return three(m_x.data<std::uint64_t>()[static_cast<std::size_t>(a)], m_x.data<std::uint64_t>()[static_cast<std::size_t>(b)]);
        case DType::Complex64:
        case DType::Complex128: {
            const auto p = readComplex(m_x.dtype(), m_x.raw(), a), q = readComplex(m_x.dtype(), m_x.raw(), b);
            const int real = three(p.real(), q.real());
            return real != 0 ? real : three(p.imag(), q.imag());
        }
        default: break;
        }
        return isFloat(m_x.dtype()) ? three(m_x.asDouble(a), m_x.asDouble(b)) : three(m_x.asInt64(a), m_x.asInt64(b));
    }

private:
    template <typename T> static int three(T a, T b) {
        if (a != a || b != b) // NaN: after every number; among themselves told apart by position, by the caller
            return a != a ? 1 : -1;
        return a < b ? -1 : a > b ? 1 : 0;
    }
    const Tensor& m_x;
};

Result<void> setInts(const KernelContext& c, std::size_t output, const std::vector<std::int64_t>& values) {
    if (!c.wantsOutput(output))
        return {};
    NABLA_TRY(Tensor t, c.makeOutput(output, DType::Int64, {static_cast<std::int64_t>(values.size())}));
    std::copy(values.begin(), values.end(), t.mutableData<std::int64_t>().begin());
    c.setOutput(output, std::move(t));
    return {};
}

Result<void> runUnique(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    const bool flat = !c.hasAttribute("axis");
    NABLA_TRY(const std::int64_t axis, flat ? Result<std::int64_t>(0) : normalizeAxis(c.intAttribute("axis"), x.rank()));
    const Shape whole = flat ? Shape{x.elementCount()} : x.shape();
    const AxisSplit split(whole, axis);
    const ElementOrder order(x);
    const auto before = [&](std::int64_t a, std::int64_t b) {
        for (std::int64_t o = 0; o < split.outer; ++o) {
            for (std::int64_t i = 0; i < split.inner; ++i) {
                const std::int64_t base = o * split.size * split.inner + i;
                const int r = a == b ? 0 : order.compare(base + a * split.inner, base + b * split.inner);
                if (r != 0)
                    return r < 0;
            }
        }
        return false;
    };
    // The slices sorted, ties in their order; each run of equal ones is one result, standing at its first occurrence.
    std::vector<std::int64_t> sorted(static_cast<std::size_t>(split.size));
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), before);
    std::vector<std::int64_t> first, counts, groupOf(sorted.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (i == 0 || before(sorted[i - 1], sorted[i])) {
            first.push_back(sorted[i]);
            counts.push_back(0);
        }
        ++counts.back();
        groupOf[static_cast<std::size_t>(sorted[i])] = static_cast<std::int64_t>(first.size()) - 1;
    }
    std::vector<std::int64_t> rank(first.size()); // place of each group in the output
    std::iota(rank.begin(), rank.end(), 0);
    if (c.intAttribute("sorted") == 0) {
        std::vector<std::int64_t> byFirst = rank;
        std::sort(byFirst.begin(), byFirst.end(), [&](std::int64_t a, std::int64_t b) { return first[static_cast<std::size_t>(a)] < first[static_cast<std::size_t>(b)]; });
        for (std::size_t i = 0; i < byFirst.size(); ++i)
            rank[static_cast<std::size_t>(byFirst[i])] = static_cast<std::int64_t>(i);
    }
    std::vector<std::int64_t> outFirst(first.size()), outCounts(first.size()), inverse(groupOf.size());
    for (std::size_t g = 0; g < first.size(); ++g) {
        outFirst[static_cast<std::size_t>(rank[g])] = first[g];
        outCounts[static_cast<std::size_t>(rank[g])] = counts[g];
    }
    for (std::size_t i = 0; i < groupOf.size(); ++i)
        inverse[i] = rank[static_cast<std::size_t>(groupOf[i])];
    Shape shape = whole;
    shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(first.size());
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    std::int64_t at = 0;
    for (std::int64_t o = 0; o < split.outer; ++o) {
        for (const std::int64_t i : outFirst) {
            copyElements(y, at, x, (o * split.size + i) * split.inner, split.inner);
            at += split.inner;
        }
    }
    c.setOutput(0, std::move(y));
    NABLA_CHECK(setInts(c, 1, outFirst));
    NABLA_CHECK(setInts(c, 2, inverse));
    return setInts(c, 3, outCounts);
}

constexpr OpDef kOps[] = {
    {.name = "Unique", .since = 28, .source = "ONNX Operators.md, Unique-28", .run = runUnique,
        .gradient = notDifferentiable("which elements it keeps depends on their values"), .flops = noFlops},
};

} // namespace

std::span<const OpDef> uniqueOps() { return kOps; }

} // namespace nabla::engine

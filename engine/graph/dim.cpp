// Canonical polynomials. Coefficients that overflow make the result unknown rather than wrong.
#include "engine/graph/dim.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace nabla::engine {

Dim::Dim(std::int64_t value) {
    Terms terms;
    if (value != 0)
        terms[{}] = value;
    m_terms = std::move(terms);
}

Dim Dim::symbol(std::string name) {
    Dim d;
    d.m_terms = Terms{{{std::move(name)}, 1}};
    return d;
}

Dim Dim::fromTerms(Terms terms) {
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
    Dim d;
    d.m_terms = std::move(terms);
    return d;
}

std::optional<std::int64_t> Dim::constant() const {
    if (!m_terms)
        return std::nullopt;
    if (m_terms->empty())
        return 0;
    if (m_terms->size() == 1 && m_terms->begin()->first.empty())
        return m_terms->begin()->second;
    return std::nullopt;
}

std::string Dim::text() const {
    if (!m_terms)
        return "?";
    if (const auto value = constant())
        return fmt::format("{}", *value);
    std::string out;
    const auto append = [&out](const Monomial& monomial, std::int64_t factor) {
        const std::string product = fmt::format("{}", fmt::join(monomial, "*"));
        const bool first = out.empty();
        if (factor < 0)
            out += '-';
        else if (!first)
            out += '+';
        const std::uint64_t magnitude = factor < 0 ? 0 - static_cast<std::uint64_t>(factor) : static_cast<std::uint64_t>(factor);
        if (product.empty())
            out += fmt::format("{}", magnitude);
        else if (magnitude == 1)
            out += product;
        else
            out += fmt::format("{}*{}", magnitude, product);
    };
    for (const auto& [monomial, factor] : *m_terms) {
        if (!monomial.empty())
            append(monomial, factor);
    }
    if (const auto it = m_terms->find({}); it != m_terms->end())
        append({}, it->second);
    return out;
}

std::vector<std::string> Dim::atoms() const {
    std::set<std::string> names;
    if (m_terms) {
        for (const auto& [monomial, factor] : *m_terms)
            names.insert(monomial.begin(), monomial.end());
    }
    return {names.begin(), names.end()};
}

Dim operator+(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown())
        return {};
    Dim::Terms sum = *a.m_terms;
    for (const auto& [monomial, factor] : *b.m_terms) {
        if (__builtin_add_overflow(sum[monomial], factor, &sum[monomial]))
            return {};
    }
    return Dim::fromTerms(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
    const auto isZero = [](const Dim& d) { return d.m_terms && d.m_terms->empty(); };
    if (isZero(a) || isZero(b))
        return Dim(0);
    if (a.isUnknown() || b.isUnknown())
        return {};
    Dim::Terms product;
    for (const auto& [left, p] : *a.m_terms) {
        for (const auto& [right, q] : *b.m_terms) {
            Dim::Monomial monomial = left;
            monomial.insert(monomial.end(), right.begin(), right.end());
            std::sort(monomial.begin(), monomial.end());
            std::int64_t factor = 0;
            auto& slot = product[std::move(monomial)];
            if (__builtin_mul_overflow(p, q, &factor) || __builtin_add_overflow(slot, factor, &slot))
                return {};
        }
    }
    return Dim::fromTerms(std::move(product));
}

Dim Dim::floorDiv(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown())
        return {};
    const auto divisor = b.constant();
    if (divisor && *divisor == 0)
        return {};
    if (divisor && *divisor == -1)
        return Dim(0) - a; // the quotient of the smallest number overflows
    if (const auto value = a.constant(); value && divisor) {
        const std::int64_t quotient = *value / *divisor;
        return Dim((*value % *divisor != 0) && ((*value < 0) != (*divisor < 0)) ? quotient - 1 : quotient);
    }
    if (divisor) {
        const bool exact = std::all_of(a.m_terms->begin(), a.m_terms->end(), [&](const auto& term) { return term.second % *divisor == 0; });
        if (exact) {
            Terms quotient = *a.m_terms;
            for (auto& [monomial, factor] : quotient)
                factor /= *divisor;
            return fromTerms(std::move(quotient));
        }
    }
    if (a.sameAs(b))
        return Dim(1);
    if (b.m_terms->size() == 1) { // every term of a holds the monomial of b: divide it out
        const auto& [monomial, factor] = *b.m_terms->begin();
        Terms quotient;
        for (const auto& [term, value] : *a.m_terms) {
            if (value % factor != 0 || !std::includes(term.begin(), term.end(), monomial.begin(), monomial.end()))
                return opaque(fmt::format("floor(({})/({}))", a.text(), b.text()));
            Monomial rest;
            std::set_difference(term.begin(), term.end(), monomial.begin(), monomial.end(), std::back_inserter(rest));
            quotient[rest] += value / factor;
        }
        return fromTerms(std::move(quotient));
    }
    return opaque(fmt::format("floor(({})/({}))", a.text(), b.text()));
}

Dim Dim::ceilDiv(const Dim& a, const Dim& b) { return Dim(0) - floorDiv(Dim(0) - a, b); }

Dim Dim::min(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown())
        return {};
    if (const auto difference = (a - b).constant())
        return *difference <= 0 ? a : b;
    const auto [low, high] = std::minmax({a.text(), b.text()}); // by value: the list form returns copies
    return opaque(fmt::format("min({},{})", low, high));
}

Dim Dim::max(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown())
        return {};
    if (const auto difference = (a - b).constant())
        return *difference >= 0 ? a : b;
    const auto [low, high] = std::minmax({a.text(), b.text()}); // by value: the list form returns copies
    return opaque(fmt::format("max({},{})", low, high));
}

std::string toString(std::span<const Dim> shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i)
        out += (i ? "," : "") + shape[i].text();
    return out + "]";
}

} // namespace nabla::engine

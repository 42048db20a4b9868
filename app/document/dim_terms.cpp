// Reads a dimension's text with the help of the names that occur in it, and keeps the reading that gives the same dimension again.
#include "app/document/dim_terms.h"

namespace nabla::app {

using engine::Dim;

namespace {

constexpr int kMostSteps = 20'000; ///< names such as "a+b" make a text ambiguous; real ones take some ten steps

class TermReader {
public:
    explicit TermReader(const Dim& dim) : m_dim(dim), m_text(dim.text()), m_atoms(dim.atoms()) { }

    std::optional<std::vector<DimTerm>> read() {
        if (termAt(0))
            return m_terms;
        return std::nullopt;
    }

private:
    bool termAt(std::size_t at) {
        if (++m_steps > kMostSteps)
            return false;
        if (at == m_text.size())
            return dimFromTerms(m_terms).sameAs(m_dim);
        std::int64_t sign = 1;
        if (m_text[at] == '-' || (m_text[at] == '+' && at > 0)) {
            sign = m_text[at] == '-' ? -1 : 1;
            ++at;
        }
        m_terms.push_back({sign, {}});
        if (factorAt(at, sign) || atomAt(at))
            return true;
        m_terms.pop_back();
        return false;
    }

    /// `12` as the constant term, or `12*` and names.
    bool factorAt(std::size_t at, std::int64_t sign) {
        std::uint64_t magnitude = 0;
        const std::size_t begin = at;
        for (; at < m_text.size() && m_text[at] >= '0' && m_text[at] <= '9'; ++at) {
            if (__builtin_mul_overflow(magnitude, std::uint64_t{10}, &magnitude) || __builtin_add_overflow(magnitude, static_cast<std::uint64_t>(m_text[at] - '0'), &magnitude))
                return false;
        }
        if (at == begin)
            return false;
        m_terms.back().factor = static_cast<std::int64_t>(sign < 0 ? 0 - magnitude : magnitude);
        if (endsTerm(at) ? termAt(at) : m_text[at] == '*' && atomAt(at + 1))
            return true;
        m_terms.back().factor = sign;
        return false;
    }

    bool atomAt(std::size_t at) {
        if (++m_steps > kMostSteps)
            return false;
        for (const std::string& atom : m_atoms) {
            if (atom.empty() || m_text.compare(at, atom.size(), atom) != 0)
                continue;
            const std::size_t end = at + atom.size();
            m_terms.back().atoms.push_back(atom);
            if ((endsTerm(end) && termAt(end)) || (end < m_text.size() && m_text[end] == '*' && atomAt(end + 1)))
                return true;
            m_terms.back().atoms.pop_back();
        }
        return false;
    }

    bool endsTerm(std::size_t at) const { return at == m_text.size() || m_text[at] == '+' || m_text[at] == '-'; }

    const Dim& m_dim;
    std::string m_text;
    std::vector<std::string> m_atoms;
    std::vector<DimTerm> m_terms;
    int m_steps = 0;
};

} // namespace

std::optional<std::vector<DimTerm>> dimTerms(const Dim& dim) {
    const auto atoms = dim.atoms();
    if (atoms.size() == 1 && dim.sameAs(Dim::symbol(atoms.front()))) // by far the most frequent, and the only form of an empty name
        return std::vector<DimTerm>{{1, {atoms.front()}}};
    return TermReader(dim).read();
}

Dim dimFromTerms(const std::vector<DimTerm>& terms) {
    Dim sum(0);
    for (const DimTerm& term : terms) {
        Dim product(term.factor);
        for (const std::string& atom : term.atoms)
            product = product * Dim::symbol(atom);
        sum = sum + product;
    }
    return sum;
}

} // namespace nabla::app

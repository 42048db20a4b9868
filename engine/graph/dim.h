// Dim: one dimension of a value whose tensor is not there yet: a number, an expression over named sizes, or unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nabla::engine {

/// Immutable. An expression is a polynomial with whole coefficients over atoms; an atom is a name of the file (`batch`) or the text of a
/// part that is no polynomial (`floor((h-1)/2)`). Equal expressions compare equal because the form is canonical.
class Dim {
public:
    Dim() = default; ///< unknown
    Dim(std::int64_t value);
    static Dim unknown() { return {}; }
    static Dim symbol(std::string name);

    bool isUnknown() const { return !m_terms.has_value(); }
    /// The number, when it is one.
    std::optional<std::int64_t> constant() const;
    /// `4`, `batch`, `2*seq+1`, `?`.
    std::string text() const;

    friend Dim operator+(const Dim& a, const Dim& b);
    friend Dim operator-(const Dim& a, const Dim& b);
    friend Dim operator*(const Dim& a, const Dim& b);
    /// Quotient rounded toward minus infinity; exact division of every term stays a polynomial. Unknown when b is 0.
    static Dim floorDiv(const Dim& a, const Dim& b);
    static Dim ceilDiv(const Dim& a, const Dim& b);
    static Dim min(const Dim& a, const Dim& b);
    static Dim max(const Dim& a, const Dim& b);

    /// Same expression; two unknowns are not known to be equal, so they compare unequal.
    bool sameAs(const Dim& other) const { return m_terms && other.m_terms && *m_terms == *other.m_terms; }
    /// Names of the atoms it needs.
    std::vector<std::string> atoms() const;

    /// Structural equality for use in containers: unknown == unknown.
    friend bool operator==(const Dim&, const Dim&) = default;

private:
    using Monomial = std::vector<std::string>; // sorted atoms, repeated for powers; empty for the constant term
    using Terms = std::map<Monomial, std::int64_t>;
    static Dim fromTerms(Terms terms);
    static Dim opaque(std::string text) { return symbol(std::move(text)); }

    std::optional<Terms> m_terms;
};

using SymbolicShape = std::vector<Dim>;
/// `[batch,3,224,224]`.
std::string toString(std::span<const Dim> shape);

} // namespace nabla::engine

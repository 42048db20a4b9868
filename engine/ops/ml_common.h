// What the operators of ai.onnx.ml share: rows of features, post-transforms of scores, and class labels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ops/iterate.h"

namespace nabla::engine {

/// Refuses what is no [N, C] or [C]; gives N and C, a vector being one row.
struct RowShape {
    std::int64_t rows = 1, columns = 0;
};
Result<RowShape> rowShape(const KernelContext& c, const Tensor& x);
/// The elements of a float, double or integer tensor as float, as onnxruntime reads the inputs of these operators.
Result<Tensor> asFloats(const Tensor& x);

/// What happens to scores at the end. `Probit` is the inverse of the normal distribution function, by the approximation of Winitzki (2008)
/// that onnxruntime uses.
enum class PostTransform : std::uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };
/// Errors: a name that the standard does not have.
Result<PostTransform> postTransform(const KernelContext& c);
Result<PostTransform> postTransform(const std::string& text);
float logistic(float x);
/// In place. A single score is changed by Probit alone: so does onnxruntime, and exported regressors count on it.
void applyPostTransform(PostTransform transform, std::span<float> scores);
/// How the one score of a binary classifier becomes two.
enum class Complement : std::uint8_t {
    OneMinus, ///< [1 - s, s]: the score is a probability
    Negated,  ///< [-s, s]: the score is a distance
};
/// Logistic gives [logistic(-s), logistic(s)], Probit is taken of [1 - s, s]; everything else leaves the pair alone.
void binaryScores(PostTransform transform, Complement complement, float score, std::span<float> pair);

/// The labels of a classifier: strings or integers, exactly one of the two attributes.
class ClassLabels {
public:
    /// `integers` is the attribute's name: classlabels_ints or classlabels_int64s. Errors: none, or both.
    static Result<ClassLabels> read(const Node& node, std::string_view integers);
    std::size_t count() const { return m_strings.empty() ? m_integers.size() : m_strings.size(); }
    bool strings() const { return !m_strings.empty(); }
    DType type() const { return strings() ? DType::String : DType::Int64; }
    /// Writes label `which` to element `at` of a tensor of type().
    void write(Tensor& to, std::int64_t at, std::size_t which) const {
        if (strings())
            to.mutableData<std::string>()[static_cast<std::size_t>(at)] = m_strings[which];
        else
            to.mutableData<std::int64_t>()[static_cast<std::size_t>(at)] = m_integers[which];
    }
    /// All of them as a vector.
    Tensor tensor() const;

private:
    std::vector<std::string> m_strings;
    std::vector<std::int64_t> m_integers;
};

// Types for operators whose schema infers none.
/// Float under the shape of input 0.
std::optional<ValueType> floatLikeInput(const Graph& graph, const Node& node, const InferenceInputs& inputs, std::size_t output);
/// Float [N, columns] for an input [N, C], [1, columns] for [C].
std::optional<ValueType> floatRows(const InferenceInputs& inputs, std::int64_t columns);

/// Position of the largest; the first of equal ones.
inline std::size_t indexOfLargest(std::span<const float> values) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (values[i] > values[best])
            best = i;
    }
    return best;
}

} // namespace nabla::engine

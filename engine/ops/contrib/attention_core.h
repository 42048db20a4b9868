// The middle of every attention operator of onnxruntime: scores, masks, softmax, sum of values.
#pragma once

#include "engine/ops/contrib/contrib_body.h"

namespace nabla::engine {

/// One call: q [B, N, S, H], k [B, N, T, H], v [B, N, T, Hv].
struct AttentionCall {
    ValueId q{}, k{}, v{};
    DType type = DType::Float32;
    double scale = 1;
    double softCap = 0;      ///< 0 = none
    ValueId bias{};          ///< added to the scores; none = nothing
    ValueId allowed{};       ///< bool, broadcasts to [B, N, S, T]; false takes the lowest number instead of the score; none = all
    ValueId sink{};          ///< one more score for each head, [1, N, 1, 1] or a scalar, without a value; none = nothing
};
struct AttentionResult {
    ValueId y;               ///< [B, S, N * Hv]
    ValueId scores;          ///< after the softmax, [B, N, S, T]
};
AttentionResult attend(ContribBody& b, const AttentionCall& call);

/// The lowest finite number of a float type.
double lowestOf(DType type);
/// [B, S, N * H] to [B, N, S, H].
ValueId splitHeads(ContribBody& b, ValueId x, std::int64_t heads);
/// int64 positions of the queries, [S, 1], or [B, S, 1] when `first` is [B]: first, first + 1, ...
ValueId queryPositions(ContribBody& b, ValueId first, ValueId count, bool perBatch);
/// The attribute `scale`, where 0 or none stands for 1 / sqrt(headSize).
double scaleOf(ContribBody& b, std::int64_t headSize);

} // namespace nabla::engine

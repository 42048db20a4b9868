// Statistics of a tensor, and how many of its halves stand at an end of their range.
#include "engine/tensor/half_range.h"
#include "views/view_state.h"

namespace nabla::views {

ValueStats valueStats(const engine::Tensor& tensor) {
    const engine::HalfCounts half = engine::halfCounts(tensor);
    return {engine::statisticsOf(tensor), half.saturated, half.subnormal};
}

} // namespace nabla::views

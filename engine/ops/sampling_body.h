// Linear interpolation written in ordinary operators, for the expansions of DeformConv and RoiAlign.
#pragma once

#include <vector>

#include "engine/ops/body_sheet.h"

namespace nabla::engine {

/// One axis of an image at places of any shape: lower and upper neighbour (int64), and their weights (floats). Shapes broadcast among the axes.
struct AxisNeighbours {
    ValueId index[2], weight[2];
    ValueId size; ///< int64 [1]: cells of this axis
};

/// Neighbours of `place` (floats of the sheet's type) with zeros outside the image: neighbours out there have index 0 and weight 0.
AxisNeighbours neighboursWithZeros(Sheet& s, ValueId place, ValueId size);

/// What every corner of the neighbours contributes: `rows` is the images as rows [images * cells, channels], `firstRow` (int64) the first row
/// of the image that a place lies in. Each has the shape of the places, then [channels]; weights are cast to `type`.
std::vector<ValueId> cornerTerms(Sheet& s, ValueId rows, ValueId firstRow, const std::vector<AxisNeighbours>& axes, DType type);

/// Reshape to the sizes that the parts name, one after another; a size of 0 is 0.
ValueId reshapeTo(Sheet& s, ValueId x, const std::vector<ValueId>& sizes);

} // namespace nabla::engine

// Operators of the standard: products, windows, reductions, element-wise functions, movements. Floats take 4 bytes, int64 8.
#include "tests/unit/engine/analysis/cost_cases.h"

namespace nabla::engine::test {

namespace {

constexpr CostCase kCases[] = {
    // ---- products: a multiply-add is two ----
    {"matmul", "g (float[4,3] a, float[3,2] b) => (float[4,2] y) { y = MatMul (a, b) }",
        2 * (4 * 2) * 3, 4 * (12 + 6), 4 * 8},
    {"matmulOfBroadcastBatches", "g (float[2,1,3,4] a, float[5,4,6] b) => (y) { y = MatMul (a, b) }",
        2 * (2 * 5 * 3 * 6) * 4, 4 * (24 + 120), 4 * 180}, // y [2,5,3,6]
    {"matmulOfVectors", "g (float[7] a, float[7] b) => (y) { y = MatMul (a, b) }", 2 * 1 * 7, 4 * 14, 4},
    {"matmulOfNothing", "g (float[4,0] a, float[0,2] b) => (y) { y = MatMul (a, b) }", 0, 0, 4 * 8},
    {"gemmTransposedWithBias", "g (float[5,3] a, float[4,5] b, float[4] c) => (y) { y = Gemm <transA = 1, transB = 1> (a, b, c) }",
        2 * (3 * 4) * 5 + 3 * 4, 4 * (15 + 20 + 4), 4 * 12},
    {"einsum", "g (float[2,3,4] a, float[2,4,5] b) => (y) { y = Einsum <equation = \"bij,bjk->bik\"> (a, b) }",
        2 * (2 * 3 * 4 * 5), 4 * (24 + 40), 4 * 30},
    {"einsumOfTransposing", "g (float[3,4] a) => (y) { y = Einsum <equation = \"ij->ji\"> (a) }", 0, 48, 48},
    {"einsumOuter", "g (float[3] a, float[4] b) => (y) { y = Einsum <equation = \"i,j->ij\"> (a, b) }", 12, 28, 48},
    {"det", "g (float[2,6,6] x) => (y) { y = Det (x) }", 2 * (2 * 6 * 6 * 6) / 3, 4 * 72, 4 * 2}, // 2/3 n^3 a matrix

    // ---- convolutions: for every output the multiply-adds of one filter, and the bias ----
    {"convOfGroups",
        "g (float[1,4,10,10] x, float[6,2,3,3] w, float[6] b) => (y) { y = Conv <group = 2, strides = [2, 2], dilations = [2, 2], pads = [1, 1, 1, 1]> (x, w, b) }",
        2 * (6 * 4 * 4) * (2 * 3 * 3) + 96, 4 * (400 + 108 + 6), 4 * 96}, // a side: (10 + 2 - (2 * 2 + 1)) / 2 + 1 = 4
    {"convDepthwise1d", "g (float[2,8,20] x, float[8,1,5] w) => (y) { y = Conv <group = 8> (x, w) }",
        2 * (2 * 8 * 16) * 5, 4 * (320 + 40), 4 * 256},
    {"convTranspose", "g (float[1,3,5,5] x, float[3,2,3,3] w, float[2] b) => (y) { y = ConvTranspose <strides = [2, 2]> (x, w, b) }",
        2 * (3 * 5 * 5) * (2 * 3 * 3) + 2 * 11 * 11, 4 * (75 + 54 + 2), 4 * 242}, // a side: (5 - 1) * 2 + 3 = 11
    {"convInteger", "g (uint8[1,2,5,5] x, uint8[3,2,3,3] w, uint8 zx, uint8 zw) => (y) { y = ConvInteger (x, w, zx, zw) }",
        2 * (3 * 3 * 3) * (2 * 3 * 3), 50 + 54 + 2, 4 * 27},
    {"qlinearConv",
        "g (uint8[1,2,5,5] x, float xs, uint8 xz, uint8[3,2,3,3] w, float ws, uint8 wz, float ys, uint8 yz, int32[3] b) => (y)"
        "{ y = QLinearConv (x, xs, xz, w, ws, wz, ys, yz, b) }",
        2 * 27 * 18 + 27 + 2 * 27, 50 + 5 + 54 + 5 + 5 + 12, 27}, // products, bias, scale and rounding
    {"matmulInteger", "g (int8[4,3] a, int8[3,2] b) => (y) { y = MatMulInteger (a, b) }", 2 * 8 * 3, 12 + 6, 4 * 8},
    {"qlinearMatmul",
        "g (uint8[4,3] a, float sa, uint8 za, uint8[3,2] b, float sb, uint8 zb, float sy, uint8 zy) => (y) { y = QLinearMatMul (a, sa, za, b, sb, zb, sy, zy) }",
        2 * 8 * 3 + 2 * 8, 12 + 6 + 3 * 5, 8},
    {"deformConv", "g (float[1,2,4,4] x, float[3,2,2,2] w, float[1,8,3,3] o) => (y) { y = DeformConv <kernel_shape = [2, 2]> (x, w, o) }",
        2 * 27 * 8 + 2 * 4 * (9 * 4 * 2), 4 * (32 + 24 + 72), 4 * 27}, // and four neighbours for 9 places x 4 taps x 2 channels
    {"col2im", "g (float[1,5,5] x, int64[2] s, int64[2] k) => (float[1,1,5,5] y) { y = Col2Im (x, s, k) }", 25, 4 * 25 + 16 + 16, 4 * 25},

    // ---- pools and reductions: one for every element that goes in ----
    {"maxPool", "g (float[1,2,6,6] x) => (y) { y = MaxPool <kernel_shape = [3, 3]> (x) }", (2 * 4 * 4) * 9, 4 * 72, 4 * 32},
    {"averagePoolOfStride2", "g (float[1,2,6,6] x) => (y) { y = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x) }", (2 * 3 * 3) * 4, 4 * 72, 4 * 18},
    {"globalAveragePool", "g (float[1,2,6,6] x) => (y) { y = GlobalAveragePool (x) }", 72, 4 * 72, 4 * 2},
    {"lpPool", "g (float[1,2,6,6] x) => (y) { y = LpPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }", 2 * (2 * 3 * 3) * 4, 4 * 72, 4 * 18}, // power and sum
    {"globalLpPool", "g (float[1,2,6,6] x) => (y) { y = GlobalLpPool (x) }", 2 * 72, 4 * 72, 4 * 2},
    {"reduceMean", "g (float[2,3,4] x) => (y) <int64[1] a = {1}> { y = ReduceMean (x, a) }", 24, 4 * 24 + 8, 4 * 8},
    {"reduceL2", "g (float[2,3,4] x) => (y) <int64[1] a = {2}> { y = ReduceL2 (x, a) }", 2 * 24, 4 * 24 + 8, 4 * 6}, // square and sum
    {"reduceWholeNumbers", "g (int64[4] x) => (y) { y = ReduceSum <keepdims = 0> (x) }", 0, 32, 8},
    {"reduceNoAxis", "g (float[4] x) => (y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }", 0, 16, 16},
    {"argMax", "g (float[2,3,4] x) => (y) { y = ArgMax <axis = 1> (x) }", 24, 4 * 24, 8 * 8},
    {"topK", "g (float[4,10] x) => (v, i) <int64[1] k = {3}> { v, i = TopK (x, k) }", 40, 4 * 40 + 8, 4 * 12 + 8 * 12},
    {"cumSum", "g (float[4,10] x) => (y) <int64 a = {1}> { y = CumSum (x, a) }", 40, 4 * 40 + 8, 4 * 40},

    // ---- normalisations and softmax ----
    {"softmax", "g (float[2,8] x) => (y) { y = Softmax (x) }", 5 * 16, 4 * 16, 4 * 16}, // maximum, difference, exponent, sum, quotient
    {"layerNormalization", "g (float[2,8] x, float[8] s, float[8] b) => (y) { y = LayerNormalization (x, s, b) }", 8 * 16, 4 * 32, 4 * 16},
    {"batchNormalization", "g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y) { y = BatchNormalization (x, s, b, m, v) }",
        4 * 24, 4 * (24 + 12), 4 * 24},
    {"batchNormalizationInTraining",
        "g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y, rm, rv) { y, rm, rv = BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
        8 * 24, 4 * (24 + 12), 4 * (24 + 6)},
    {"batchNormalizationInTrainingOf9", "<ir_version: 8, opset_import: [\"\" : 9]> g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) =>"
        "(float[2,3,4] y, float[3] rm, float[3] rv) { y, rm, rv = BatchNormalization (x, s, b, m, v) }", 8 * 24, 4 * (24 + 12), 4 * (24 + 6)},
    {"lrn", "g (float[1,6,2,2] x) => (y) { y = LRN <size = 5> (x) }", (2 * 5 + 4) * 24, 4 * 24, 4 * 24},

    // ---- element by element: one each, whatever the function ----
    {"add", "g (float[3,4] a, float[4] b) => (y) { y = Add (a, b) }", 12, 4 * 16, 4 * 12},
    {"erf", "g (double[5] x) => (y) { y = Erf (x) }", 5, 40, 40},
    {"compareFloats", "g (float[5] a, float[5] b) => (y) { y = Less (a, b) }", 5, 40, 5},
    {"addWholeNumbers", "g (int64[5] a, int64[5] b) => (y) { y = Add (a, b) }", 0, 80, 40},
    {"sumOfThree", "g (float[5] a, float[5] b, float[5] c) => (y) { y = Sum (a, b, c) }", 2 * 5, 60, 20},
    {"meanOfThree", "g (float[5] a, float[5] b, float[5] c) => (y) { y = Mean (a, b, c) }", 3 * 5, 60, 20},
    {"quantizeLinear", "g (float[6] x, float s, uint8 z) => (y) { y = QuantizeLinear (x, s, z) }", 2 * 6, 24 + 5, 6},
    {"dequantizeInt4", "g (int4[6] x, float s) => (y) { y = DequantizeLinear (x, s) }", 2 * 6, 3 + 4, 24}, // two to a byte
    {"halfPrecision", "g (float16[6] x) => (y) { y = Relu (x) }", 6, 12, 12},
    {"dropoutOutsideTraining", "g (float[6] x) => (y) { y = Dropout (x) }", 0, 24, 24},
    {"dropoutInTraining", "g (float[6] x) => (y) <float r = {0.5}, bool t = {1}> { y = Dropout (x, r, t) }", 2 * 6, 24 + 4 + 1, 24},
    {"dropoutInTrainingOf6", "<ir_version: 8, opset_import: [\"\" : 6]> g (float[6] x) => (float[6] y) { y = Dropout (x) }", 2 * 6, 24, 24},
    {"dropoutThatIsToldLate", "g (float[6] x, float r, bool t) => (y) { y = Dropout (x, r, t) }", kUnknown},

    // ---- recurrent: 10 rows (5 steps of 2) ----
    {"lstm", "g (float[5,2,3] x, float[1,16,3] w, float[1,16,4] r, float[1,32] b) => (y) { y = LSTM <hidden_size = 4> (x, w, r, b) }",
        10 * (2 * (48 + 64) + 4 * (9 + 4)), 4 * (30 + 48 + 64 + 32), 4 * 40}, // gates 4, cell 3, output 2; four biases
    {"lstmWithPeepholes",
        "g (float[5,2,3] x, float[1,16,3] w, float[1,16,4] r, float[1,12] p) => (y) { y = LSTM <hidden_size = 4> (x, w, r, , , , , p) }",
        10 * (2 * (48 + 64) + 4 * (9 + 6)), 4 * (30 + 48 + 64 + 12), 4 * 40},
    {"gruOfBothDirections",
        "g (float[5,2,3] x, float[2,12,3] w, float[2,12,4] r) => (y) { y = GRU <hidden_size = 4, direction = \"bidirectional\"> (x, w, r) }",
        10 * (2 * (72 + 96) + 8 * 8), 4 * (30 + 72 + 96), 4 * 80},
    {"rnn", "g (float[5,2,3] x, float[1,4,3] w, float[1,4,4] r, float[1,8] b) => (y) { y = RNN <hidden_size = 4> (x, w, r, b) }",
        10 * (2 * (12 + 16) + 4 * (1 + 1)), 4 * (30 + 12 + 16 + 8), 4 * 40},

    // ---- sampling ----
    {"resizeNearest", "g (float[1,1,4,4] x) => (y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }", 0, 4 * 16 + 16, 4 * 64},
    {"resizeLinear", "g (float[1,1,4,4] x) => (y) <float[4] s = {1, 1, 2, 2}> { y = Resize <mode = \"linear\"> (x, , s) }",
        2 * 2 * (8 * 4) + 2 * 2 * (8 * 8), 4 * 16 + 16, 4 * 64}, // first the rows, then the columns
    {"resizeCubicOneAxis", "g (float[1,1,4,4] x) => (y) <float[4] s = {1, 1, 1, 3}> { y = Resize <mode = \"cubic\"> (x, , s) }",
        2 * 4 * (4 * 12), 4 * 16 + 16, 4 * 48},
    {"resizeLinearAgainstAliasing", "g (float[1,1,8] x) => (y) <float[3] s = {1, 1, 0.5}> { y = Resize <mode = \"linear\", antialias = 1> (x, , s) }",
        2 * (2 * 2) * 4, 4 * 8 + 12, 4 * 4},
    {"gridSample", "g (float[1,2,4,4] x, float[1,3,3,2] p) => (y) { y = GridSample (x, p) }", 2 * 4 * 18, 4 * (32 + 18), 4 * 18},
    {"gridSampleOf16", "<ir_version: 8, opset_import: [\"\" : 16]> g (float[1,2,4,4] x, float[1,3,3,2] p) => (y) { y = GridSample <mode = \"bicubic\"> (x, p) }",
        2 * 16 * 18, 4 * (32 + 18), 4 * 18},
    {"affineGrid", "g (float[1,2,3] t) => (float[1,4,5,2] y) <int64[4] s = {1, 3, 4, 5}> { y = AffineGrid (t, s) }", 40 * 2 * 2, 4 * 6 + 32, 4 * 40},
    {"roiAlign", "g (float[1,2,8,8] x, float[3,4] r, int64[3] i) => (y) { y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 3> (x, r, i) }",
        8 * 24 * 9, 4 * (128 + 12) + 24, 4 * 24}, // four multiply-adds a sample, nine samples
    {"roiAlignThatDepends", "g (float[1,2,8,8] x, float[3,4] r, int64[3] i) => (y) { y = RoiAlign <output_height = 2, output_width = 2> (x, r, i) }", kUnknown},

    // ---- Fourier transforms: 5 n log2 n, half of it for real numbers ----
    {"dftOfComplex", "g (float[3,8,2] x) => (y) { y = DFT (x) }", 3 * 5 * 8 * 3, 4 * 48, 4 * 48},
    {"dftOfRealOneSided", "g (float[3,8,1] x) => (y) <int64 a = {1}> { y = DFT <onesided = 1> (x, , a) }", 3 * 5 * 8 * 3 / 2, 4 * 24 + 8, 4 * (3 * 5 * 2)},
    {"dftOf17", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[4,2,2] x) => (y) { y = DFT <axis = 0> (x) }", 2 * 5 * 4 * 2, 4 * 16, 4 * 16},
    {"dftOf17Default", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,8,4,2] x) => (y) { y = DFT (x) }", (2 * 4) * 5 * 8 * 3, 512, 512}, // along axis 1
    {"stft", "g (float[1,32,1] x) => (float[1,7,5,2] y) <int64 s = {4}, float[8] w = {1, 1, 1, 1, 1, 1, 1, 1}> { y = STFT (x, s, w) }",
        7 * (8 + 5 * 8 * 3 / 2), 4 * 32 + 8 + 32, 4 * 70}, // (32 - 8) / 4 + 1 frames

    // ---- movements: no FLOPs; what is chosen is read, what is only described is not ----
    {"transpose", "g (float[2,3] x) => (y) { y = Transpose (x) }", 0, 24, 24},
    {"gather", "g (float[1000,8] x, int64[3] i) => (y) { y = Gather (x, i) }", 0, 4 * (3 * 8) + 24, 4 * 24},
    {"gatherMoreThanThereIs", "g (float[2,2] x, int64[9] i) => (y) { y = Gather (x, i) }", 0, 4 * 4 + 72, 4 * 18},
    {"slice", "g (float[100,8] x) => (y) <int64[1] s = {0}, int64[1] e = {5}> { y = Slice (x, s, e) }", 0, 4 * 40 + 16, 4 * 40},
    {"scatterElements", "g (float[10,4] x, int64[2,4] i, float[2,4] u) => (y) { y = ScatterElements (x, i, u) }", 0, 4 * 40 + 64 + 32, 4 * 40},
    {"scatterAdds", "g (float[10,4] x, int64[2,4] i, float[2,4] u) => (y) { y = ScatterElements <reduction = \"add\"> (x, i, u) }", 8, 4 * 40 + 64 + 32, 4 * 40},
    {"concat", "g (float[2,3] a, float[4,3] b) => (y) { y = Concat <axis = 0> (a, b) }", 0, 4 * 18, 4 * 18},
    {"expand", "g (float[1,3] x) => (y) <int64[2] s = {5, 3}> { y = Expand (x, s) }", 0, 12 + 16, 60},
    {"reshape", "g (float[2,6] x) => (y) <int64[2] s = {3, 4}> { y = Reshape (x, s) }"},
    {"reshapeOfUnknown", "g (float[N,6] x, int64[2] s) => (y) { y = Reshape (x, s) }"},
    {"viewsMoveNothing", "g (float[2,1,6] x) => (y) <int64[1] a = {1}> { s = Squeeze (x, a) i = Identity (s) u = Unsqueeze (i, a) y = Flatten (u) }"},
    {"shape", "g (float[2,3,4] x) => (y) { y = Shape (x) }", 0, 0, 24},
    {"shapeOfUnknown", "g (float[N,3] x) => (y) { y = Shape (x) }", 0, 0, 16},
    {"strings", "g (string[3,3] x) => (y) { y = Transpose (x) }", kUnknown},
    {"where", "g (bool[4] c, float[4] x, float[4] z) => (y) { y = Where (c, x, z) }", 0, 4 + 32, 16},
    {"castLike", "g (float[6] x, double[50] t) => (y) { y = CastLike (x, t) }", 0, 24, 48},
    {"sequences", "g (float[2,3] a, float[4,3] b) => (y) { s = SequenceConstruct (a, b) y = ConcatFromSequence <axis = 0> (s) }", kUnknown},
    {"sequenceOfKnownResult", "g (float[2,3] a, float[4,3] b) => (float[6,3] y) { s = SequenceConstruct (a, b) y = ConcatFromSequence <axis = 0> (s) }", 0, 72, 72},
    {"nonZero", "g (float[6] x) => (y) { y = NonZero (x) }", kUnknown}, // how many there are
    {"constant", "g () => (y) { y = Constant <value = float[3] {1, 2, 3}> () }"},
    {"randomNormalLike", "g (float[6] x) => (y) { y = RandomNormalLike (x) }", 6, 0, 24},

    // ---- losses ----
    {"crossEntropy", "g (float[4,10] x, int64[4] t) => (y) { y = SoftmaxCrossEntropyLoss (x, t) }", 5 * 40 + 2 * 4, 160 + 32, 4},
    {"unknownShape", "g (float[N,3] x) => (y) { y = Relu (x) }", kUnknown},
};

} // namespace

std::span<const CostCase> costCases() { return kCases; }

} // namespace nabla::engine::test

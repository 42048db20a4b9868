// Control flow, functions, operators that are counted by the body they expand to, and the other domains.
#include "tests/unit/engine/analysis/cost_cases.h"

namespace nabla::engine::test {

namespace {

constexpr CostCase kCases[] = {
    // ---- control flow: what the body costs (bytes too), as often as it runs ----
    {"loopOfFive",
        "g (float[3] x) => (y) <int64 m = {5}, bool c = {1}> { y = Loop (m, c, x) <body = b (int64 i, bool on, float[3] v) => (bool again, float[3] w)"
        "{ again = Identity (on) w = Mul (v, v) }> }",
        5 * 3, 5 * 24, 5 * 12},
    {"loopThatNeverStarts",
        "g (float[3] x) => (y) <int64 m = {5}, bool c = {0}> { y = Loop (m, c, x) <body = b (int64 i, bool on, float[3] v) => (bool again, float[3] w)"
        "{ again = Identity (on) w = Mul (v, v) }> }"},
    {"loopOfUnknownLength",
        "g (float[3] x, int64 m) => (y) { y = Loop (m, , x) <body = b (int64 i, bool on, float[3] v) => (bool again, float[3] w)"
        "{ again = Identity (on) w = Mul (v, v) }> }",
        kUnknown},
    {"loopThatMayStop",
        "g (float[3] x) => (y) <int64 m = {5}> { y = Loop (m, , x) <body = b (int64 i, bool on, float[3] v) => (bool again, float[3] w)"
        "{ s = ReduceSum <keepdims = 0> (v) z = Constant <value_float = 9.0> () again = Less (s, z) w = Mul (v, v) }> }",
        kUnknown},
    {"loopThatStopsAtOnce",
        "g (float[3] x) => (y) { y = Loop (, , x) <body = b (int64 i, bool on, float[3] v) => (bool again, float[3] w) <bool no = {0}>"
        "{ again = Identity (no) w = Mul (v, v) }> }",
        3, 24, 12},
    {"loopInLoop",
        "g (float[3] x) => (y) <int64 m = {5}, int64 k = {2}> { y = Loop (m, , x) <body = b (int64 i, bool on, float[3] v) => (bool again, float[3] w) {"
        "again = Identity (on) w = Loop (k, , v) <body = d (int64 j, bool go, float[3] p) => (bool more, float[3] q) { more = Identity (go) q = Add (p, v) }> }> }",
        5 * 2 * 3, 5 * 2 * 24, 5 * 2 * 12},
    {"scanOverSeven",
        "g (float[2] s, float[7,2] x) => (float[2] t, float[7,2] y) { t, y = Scan (s, x) <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] n, float[2] o)"
        "{ n = Add (a, e) o = Identity (n) }> }",
        7 * 2, 7 * 16, 7 * 8},
    {"ifOfKnownCondition",
        "g (float[3] x) => (y) <bool c = {0}> { y = If (c) <then_branch = t () => (float[3] a) { a = Mul (x, x) }, else_branch = e () => (float[3] b)"
        "{ d = Mul (x, x) b = Exp (d) }> }",
        6, 24 + 12, 12 + 12},
    {"ifThatDepends",
        "g (float[3] x, bool c) => (y) { y = If (c) <then_branch = t () => (float[3] a) { a = Mul (x, x) }, else_branch = e () => (float[3] b) { b = Exp (x) }> }",
        kUnknown},

    // ---- functions: FLOPs of their nodes, bytes of their inputs and outputs ----
    {"functionInFunction",
        "<ir_version: 10, opset_import: [\"\" : 28, \"my\" : 1]> g (float[5] x) => (y) { y = my.f (x) }"
        "<domain: \"my\", opset_import: [\"\" : 28, \"my\" : 1]> f (a) => (c) { b = my.h (a) c = my.h (b) }"
        "<domain: \"my\", opset_import: [\"\" : 28]> h (a) => (c) { b = Mul (a, a) c = Add (a, b) }",
        2 * (5 + 5), 20, 20},
    {"functionWithAttribute", // the kernel's size is the caller's
        "<ir_version: 10, opset_import: [\"\" : 28, \"my\" : 1]> g (float[1,1,6] x) => (y) { y = my.f <k = [3]> (x) }"
        "<domain: \"my\", opset_import: [\"\" : 28]> f <k> (a) => (c) { c = MaxPool <kernel_shape : ints = @k> (a) }",
        4 * 3, 24, 16},
    {"functionToldAShape",
        "<ir_version: 10, opset_import: [\"\" : 28, \"my\" : 1]> g (float[6] x) => (y) <int64[2] s = {4, 6}> { y = my.f (x, s) }"
        "<domain: \"my\", opset_import: [\"\" : 28]> f (a, s) => (c) { b = Expand (a, s) c = Exp (b) }",
        4 * 6, 24 + 16, 96},
    {"functionThatCallsItself",
        "<ir_version: 10, opset_import: [\"\" : 28, \"my\" : 1]> g (float[5] x) => (float[5] y) { y = my.f (x) }"
        "<domain: \"my\", opset_import: [\"\" : 28, \"my\" : 1]> f (a) => (c) { c = my.f (a) }",
        kUnknown},

    // ---- operators that expand ----
    {"dynamicQuantizeLinear", "g (float[8] x) => (y, s, z) { y, s, z = DynamicQuantizeLinear (x) }",
        // minimum and maximum of all and with 0, range, scale, quotient, difference, clip, round; two for each element
        (8 + 1) + (8 + 1) + 6 + 2 * 8, 32, 8 + 4 + 1},
    {"hannWindow", "g () => (float[10] y) <int64 n = {10}> { y = HannWindow (n) }",
        // six scalars; range, times the increment, times two, two cosines with their factors, a difference, a sum
        6 + 9 * 10, 8, 40},
    {"attention", "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (y) { y = Attention (q, k, v) }",
        // two roots and a quotient, q and k scaled, their product, a bias of zeros [3,5] added, the softmax, rows without any key looked for
        // (a maximum, a comparison), the sum of the values
        3 + (24 + 40) + 2 * (2 * 3 * 5) * 4 + 30 + 5 * 30 + (15 + 3) + 2 * (2 * 3 * 6) * 5, 4 * (24 + 40 + 60), 4 * 36},

    // ---- com.microsoft ----
    {"microsoftBiasGelu", "<ir_version: 10, opset_import: [\"\" : 28, \"com.microsoft\" : 1]> g (float[2,8] x, float[8] b) => (y) { y = com.microsoft.BiasGelu (x, b) }",
        16 + 16, 4 * 24, 64},
    {"microsoftFusedConv",
        "<ir_version: 10, opset_import: [\"\" : 28, \"com.microsoft\" : 1]> g (float[1,2,5,5] x, float[3,2,3,3] w) => (y)"
        "{ y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w) }",
        2 * 27 * 18 + 27, 4 * (50 + 54), 4 * 27},
    {"microsoftMatMulNBits",
        "<ir_version: 10, opset_import: [\"\" : 28, \"com.microsoft\" : 1]> g (float[3,32] a, uint8[8,1,16] b, float[8] s) => (y)"
        "{ y = com.microsoft.MatMulNBits <N = 8, K = 32, bits = 4, block_size = 32> (a, b, s) }",
        2 * (3 * 8) * 32 + 2 * (8 * 32), 4 * 96 + 128 + 32, 4 * 24}, // the product; a zero point and a scale for every weight
    {"microsoftMultiHeadAttention",
        "<ir_version: 10, opset_import: [\"\" : 28, \"com.microsoft\" : 1]> g (float[1,3,8] q, float[1,5,8] k, float[1,5,8] v) => (y)"
        "{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }",
        2 * (2 * 3 * 5) * 4 + 30 + 5 * 30 + 2 * (2 * 3 * 4) * 5, 4 * (24 + 40 + 40), 4 * 24}, // scores, their scale, softmax, values
    {"microsoftGroupQueryAttention",
        "<ir_version: 10, opset_import: [\"\" : 28, \"com.microsoft\" : 1]> g (float[1,3,8] q, float[1,3,4] k, float[1,3,4] v, int32[1] l) => (y)"
        "<int32 t = {3}> { y = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, v, , , l, t) }",
        // two heads of size 4, keys and values of one: scores, scale, softmax, values; the mask chooses
        2 * (2 * 3 * 3) * 4 + 18 + 5 * 18 + 2 * (2 * 3 * 4) * 3, 4 * (24 + 12 + 12) + 4 + 4, 4 * 24},
    {"microsoftQLinearAdd",
        "<ir_version: 10, opset_import: [\"\" : 28, \"com.microsoft\" : 1]> g (uint8[6] a, float sa, uint8 za, uint8[6] b, float sb, uint8 zb, float sc, uint8 zc) => (y)"
        "{ y = com.microsoft.QLinearAdd (a, sa, za, b, sb, zb, sc, zc) }",
        2 * 6 + 2 * 6 + 6 + 2 * 6, 12 + 15, 6}, // both read as numbers, added, rounded
    {"microsoftInverse", "<ir_version: 10, opset_import: [\"\" : 28, \"com.microsoft\" : 1]> g (float[2,4,4] x) => (y) { y = com.microsoft.Inverse (x) }",
        2 * 2 * 64, 128, 128},

    // ---- ai.onnx.ml, training, nobody's ----
    {"linearRegressor",
        "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]> g (float[5,3] x) => (float[5,2] y)"
        "{ y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], targets = 2> (x) }",
        2 * 5 * 6, 60, 40},
    {"treeEnsemble", // a stump: the test, and the addition of its leaf
        "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]> g (float[5,3] x) => (float[5,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1,"
        "nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"],"
        "nodes_values = [1.0, 0.0, 0.0], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2],"
        "target_ids = [0, 0], target_weights = [1.0, 2.0]> (x) }",
        5 * (1 + 1), 60, 20},
    {"treeEnsembleOfVersion5", // the same
        "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5]> g (float[5,3] x) => (float[5,1] y) { y = ai.onnx.ml.TreeEnsemble <n_targets = 1,"
        "tree_roots = [0], nodes_featureids = [0], nodes_modes = uint8[1] {0}, nodes_splits = float[1] {1}, nodes_truenodeids = [0], nodes_trueleafs = [1],"
        "nodes_falsenodeids = [1], nodes_falseleafs = [1], leaf_targetids = [0, 0], leaf_weights = float[2] {1, 2}> (x) }",
        5 * (1 + 1), 60, 20},
    {"scaler", "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]> g (float[5,3] x) => (y) { y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) }",
        2 * 15, 60, 60},
    {"momentum",
        "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.preview.training\" : 1]> g (float r, int64 t, float[6] x, float[6] d, float[6] v) => (float[6] y, float[6] w)"
        "{ y, w = ai.onnx.preview.training.Momentum <alpha = 0.9, beta = 1.0, mode = \"standard\", norm_coefficient = 0.01> (r, t, x, d, v) }",
        8 * 6, 4 + 8 + 72, 48},
    {"nobodysOperator", "<ir_version: 10, opset_import: [\"\" : 21, \"foreign\" : 1]> g (float[5] x) => (float[5] y) { y = foreign.Thing (x) }", kUnknown},
};

} // namespace

std::span<const CostCase> compoundCostCases() { return kCases; }

} // namespace nabla::engine::test

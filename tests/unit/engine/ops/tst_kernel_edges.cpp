// Reference kernels at their edges: attributes out of range are refused by name and number, empty axes give empty results, and control
// flow runs zero, some and all of its trips. Expected values are shown as arithmetic in the row.
#include <QtTest>

#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"

using namespace nabla::engine;

Q_DECLARE_METATYPE(nabla::engine::Node)
Q_DECLARE_METATYPE(std::vector<nabla::engine::Tensor>)

namespace {

using Ints = std::vector<std::int64_t>;

Node nodeOf(const char* opType, std::size_t inputs, std::vector<Attribute> attributes, std::size_t outputs = 1) {
    Node n;
    n.opType = opType;
    n.attributes = std::move(attributes);
    for (std::uint32_t i = 1; i <= inputs; ++i)
        n.inputs.push_back({i});
    for (std::uint32_t i = 1; i <= outputs; ++i)
        n.outputs.push_back({100 + i});
    return n;
}

using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

Node mlNode(const char* opType, std::vector<Attribute> attributes, std::size_t outputs = 1) {
    Node n = nodeOf(opType, 1, std::move(attributes), outputs);
    n.domain = "ai.onnx.ml";
    return n;
}

/// One tree of a branch (node 0) and two leaves, with one attribute replaced.
Node treeNode(Attribute replaced) {
    std::vector<Attribute> all{{"n_targets", std::int64_t{1}}, {"nodes_treeids", Ints{0, 0, 0}}, {"nodes_nodeids", Ints{0, 1, 2}}, {"nodes_featureids", Ints{0, 0, 0}},
        {"nodes_modes", Texts{"BRANCH_LEQ", "LEAF", "LEAF"}}, {"nodes_values", Floats{0, 0, 0}}, {"nodes_truenodeids", Ints{1, 0, 0}}, {"nodes_falsenodeids", Ints{2, 0, 0}},
        {"target_treeids", Ints{0, 0}}, {"target_nodeids", Ints{1, 2}}, {"target_ids", Ints{0, 0}}, {"target_weights", Floats{1, 2}}};
    std::erase_if(all, [&](const Attribute& a) { return a.name == replaced.name; });
    all.push_back(std::move(replaced));
    return mlNode("TreeEnsembleRegressor", std::move(all));
}

Tensor ramp(Shape shape) {
    Tensor t = *Tensor::make(DType::Float32, std::move(shape));
    for (std::size_t i = 0; i < t.data<float>().size(); ++i)
        t.mutableData<float>()[i] = static_cast<float>(i);
    return t;
}

struct Run {
    Result<void> result;
    std::vector<RuntimeValue> outputs;
};

Run run(const Node& node, const std::vector<Tensor>& inputs, const RunBody& body = {}) {
    const OpDef* op = findOp(node.opType, node.domain);
    std::vector<RuntimeValue> in(inputs.begin(), inputs.end());
    Run r{{}, std::vector<RuntimeValue>(node.outputs.size())};
    KernelContext context(node, newestOpset(""), in, r.outputs);
    context.runBody = body;
    r.result = op->run.run()(context);
    return r;
}

/// A body whose graph only declares: what it computes stands in the test's callback.
GraphPtr declaredBody(std::size_t inputs, const std::vector<ValueType>& outputs) {
    GraphEditor editor = GraphEditor::empty("body", std::make_shared<const ModelInfo>(), std::make_shared<IdSource>());
    std::vector<ValueId> made;
    for (std::size_t i = 0; i < inputs; ++i)
        editor.addInput("in", {});
    for (const ValueType& type : outputs)
        made.push_back(editor.addInput("out", type));
    editor.setOutputs(made);
    std::vector<ValueId> formals(editor.graph().inputs().begin(), editor.graph().inputs().begin() + static_cast<std::ptrdiff_t>(inputs));
    editor.setInputs(formals);
    return std::make_shared<const Graph>(editor.graph());
}

} // namespace

class KernelEdges : public QObject {
    Q_OBJECT
private slots:
    void refused_data();
    void refused();
    void emptyBatchGivesEmptyResult_data();
    void emptyBatchGivesEmptyResult();
    void loopOfZeroTripsHasEmptyScanOutput();
    void loopStopsWhenTheBodySaysSo();
    void scanInReverseStacksInReverse();
};

void KernelEdges::refused_data() {
    QTest::addColumn<Node>("node");
    QTest::addColumn<std::vector<Tensor>>("inputs");
    QTest::addColumn<QString>("words");
    const std::vector<Tensor> conv{ramp({1, 2, 4, 4}), ramp({2, 2, 3, 3})};
    const std::vector<Tensor> image{ramp({1, 1, 4, 4})};
    const auto row = [](const char* name, Node node, std::vector<Tensor> inputs, const char* words) {
        QTest::newRow(name) << std::move(node) << std::move(inputs) << QString(words);
    };
    row("convGroupZero", nodeOf("Conv", 2, {{"group", std::int64_t{0}}}), conv, "group is 0");
    row("convGroupNegative", nodeOf("Conv", 2, {{"group", std::int64_t{-1}}}), conv, "group is -1");
    row("convChannels", nodeOf("Conv", 2, {}), {ramp({1, 3, 4, 4}), ramp({2, 2, 3, 3})}, "wants 2 input channels");
    row("convPadNegative", nodeOf("Conv", 2, {{"pads", Ints{-1, 0, 0, 0}}}), conv, "pads [-1,0,0,0] is out of range");
    row("convPadHuge", nodeOf("Conv", 2, {{"pads", Ints{INT64_MAX, 0, 0, 0}}}), conv, "pads");
    row("convStrideZero", nodeOf("Conv", 2, {{"strides", Ints{0, 1}}}), conv, "strides [0,1] is out of range");
    row("convKernelLarger", nodeOf("Conv", 2, {{"dilations", Ints{2, 1}}}), conv, "kernel spans 5 cells");
    row("convRank", nodeOf("Conv", 2, {}), {ramp({4}), ramp({4})}, "rank 1");
    row("convTransposeGroup", nodeOf("ConvTranspose", 2, {{"group", std::int64_t{0}}}), conv, "group is 0");
    row("convTransposePads", nodeOf("ConvTranspose", 2, {{"pads", Ints{9, 0, 9, 0}}}), conv, "pads 9 and 9");
    row("poolKernelNegative", nodeOf("MaxPool", 1, {{"kernel_shape", Ints{-1, 2}}}), image, "kernel_shape [-1,2] is out of range");
    row("poolKernelMissing", nodeOf("AveragePool", 1, {}), image, "kernel_shape is missing");
    row("poolKernelCount", nodeOf("AveragePool", 1, {{"kernel_shape", Ints{2}}}), image, "kernel_shape has 1 numbers, 2");
    row("lpOrder", nodeOf("LpPool", 1, {{"kernel_shape", Ints{2, 2}}, {"p", std::int64_t{0}}}), image, "p is 0");
    row("matMulSizes", nodeOf("MatMul", 2, {}), {ramp({2, 3}), ramp({4, 2})}, "3 columns against 4 rows");
    row("matMulScalar", nodeOf("MatMul", 2, {}), {ramp({}), ramp({4, 2})}, "a scalar is no matrix");
    row("gemmBias", nodeOf("Gemm", 3, {}), {ramp({2, 3}), ramp({3, 4}), ramp({3})}, "does not broadcast to the result [2,4]");
    row("einsumTerms", nodeOf("Einsum", 1, {{"equation", std::string("ij,jk")}}), {ramp({2, 2})}, "2 terms for 1 inputs");
    row("einsumOutput", nodeOf("Einsum", 1, {{"equation", std::string("ij->k")}}), {ramp({2, 2})}, "'k' stands in the output only");
    row("softmaxAxis", nodeOf("Softmax", 1, {{"axis", std::int64_t{2}}}), {ramp({2, 2})}, "axis 2 is out of range for rank 2");
    row("groupsDivide", nodeOf("GroupNormalization", 3, {{"num_groups", std::int64_t{3}}}), {ramp({1, 4, 2}), ramp({4}), ramp({4})}, "num_groups 3");
    row("labelOutside", nodeOf("NegativeLogLikelihoodLoss", 2, {}), {ramp({1, 2}), Tensor::of<std::int64_t>({1}, {2})}, "label 2 at position 0");
    row("hiddenSize", nodeOf("RNN", 3, {{"hidden_size", std::int64_t{3}}}), {ramp({1, 1, 2}), ramp({1, 2, 2}), ramp({1, 2, 2})}, "hidden_size is 3");
    row("direction", nodeOf("GRU", 3, {{"direction", std::string("up")}}), {ramp({1, 1, 2}), ramp({1, 6, 2}), ramp({1, 6, 2})}, "direction \"up\"");
    row("unpoolIndex", nodeOf("MaxUnpool", 2, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
        {ramp({1, 1, 1, 1}), Tensor::of<std::int64_t>({1, 1, 1, 1}, {4})}, "index 4 is outside the 4 cells");
    row("dftLength", nodeOf("DFT", 2, {}), {ramp({1, 4, 1}), Tensor::scalar<std::int64_t>(0)}, "dft_length is 0");
    const std::vector<Tensor> table{ramp({2, 2})};
    row("treeCycle", treeNode({"nodes_truenodeids", Ints{0, 0, 0}}), table, "branch 0 of 1 is reached from no root");
    row("treeTwoRoots", treeNode({"nodes_falsenodeids", Ints{1, 0, 0}}), table, "tree 0 has two roots, nodes 0 and 2");
    row("treeAllChildren", treeNode({"nodes_modes", Texts{"BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LEQ"}}), table, "tree 0 has no root");
    row("treeChildMissing", treeNode({"nodes_falsenodeids", Ints{9, 0, 0}}), table, "tree 0, node 0: its false node 9 is not in the tree");
    row("treeLengths", treeNode({"nodes_values", Floats{0}}), table, "nodes_values has 1 entries, nodes_treeids has 3");
    row("treeMode", treeNode({"nodes_modes", Texts{"BRANCH_UP", "LEAF", "LEAF"}}), table, "nodes_modes is \"BRANCH_UP\"");
    row("treeRepeated", treeNode({"nodes_nodeids", Ints{0, 1, 1}}), table, "tree 0, node 1 stands twice");
    row("treeTarget", treeNode({"target_ids", Ints{0, 1}}), table, "leaf 1 votes for target 1 of 1");
    row("treeTargetHuge", treeNode({"target_ids", Ints{0, INT64_MAX}}), table, "target_ids[1] is 9223372036854775807");
    row("treeTargetsHuge", treeNode({"n_targets", INT64_MAX}), table, "n_targets is 9223372036854775807");
    row("treeVoteNowhere", treeNode({"target_nodeids", Ints{1, 7}}), table, "tree 0 has no node 7");
    row("treeFeature", treeNode({"nodes_featureids", Ints{5, 0, 0}}), table, "the trees look at feature 5");
    row("treeFeatureNegative", treeNode({"nodes_featureids", Ints{INT64_MIN, 0, 0}}), table, "node 0 looks at feature -9223372036854775808");
    row("ensembleCycle",
        mlNode("TreeEnsemble",
            {{"tree_roots", Ints{0}}, {"nodes_featureids", Ints{0, 0}}, {"nodes_truenodeids", Ints{1, 0}}, {"nodes_falsenodeids", Ints{0, 0}}, {"nodes_trueleafs", Ints{0, 0}},
                {"nodes_falseleafs", Ints{1, 1}}, {"nodes_modes", std::make_shared<const Tensor>(Tensor::of<std::uint8_t>({2}, {0, 0}))},
                {"nodes_splits", std::make_shared<const Tensor>(ramp({2}))}, {"leaf_targetids", Ints{0}}, {"leaf_weights", std::make_shared<const Tensor>(ramp({1}))}}),
        table, "node 1 leads back to node 0");
    row("svmCoefficients", mlNode("SVMClassifier", {{"classlabels_ints", Ints{1, 2}}, {"vectors_per_class", Ints{1, 1}}, {"support_vectors", Floats{1, 2, 3, 4}}, {"coefficients", Floats{1}}, {"rho", Floats{0}}}, 2),
        table, "1 coefficients, 2 classes of 2 vectors in all want 2");
    row("svmCountHuge", mlNode("SVMClassifier", {{"classlabels_ints", Ints{1, 2}}, {"vectors_per_class", Ints{INT64_MAX, 1}}, {"support_vectors", Floats{1, 2}}, {"rho", Floats{0}}}, 2), table,
        "names more than the 2 numbers");
    row("linearCoefficients", mlNode("LinearRegressor", {{"coefficients", Floats{1, 2, 3}}}), table, "3 coefficients are not 1 rows of 2 features");
    row("linearTargets", mlNode("LinearRegressor", {{"coefficients", Floats{1, 2}}, {"targets", INT64_MAX}}), table, "2 coefficients are not 9223372036854775807 rows");
    row("postTransform", mlNode("LinearRegressor", {{"coefficients", Floats{1, 2}}, {"post_transform", std::string("LOGIT")}}), table, "post_transform is \"LOGIT\"");
    row("zipMapLabels", mlNode("ZipMap", {{"classlabels_int64s", Ints{1}}}), table, "1 labels for 2 columns");
    row("zipMapRepeated", mlNode("ZipMap", {{"classlabels_int64s", Ints{1, 1}}}), table, "label \"1\" stands twice");
    row("labelCounts", mlNode("LabelEncoder", {{"keys_floats", Floats{1, 2}}, {"values_int64s", Ints{1}}}), table, "2 keys and 1 values");
    row("oneHotUnknown", mlNode("OneHotEncoder", {{"cats_int64s", Ints{0, 1, 2}}, {"zeros", std::int64_t{0}}}), table, "element 3 is \"3\"");
    row("vectorizerWidth", mlNode("FeatureVectorizer", {{"inputdimensions", Ints{INT64_MAX}}}), table, "inputdimensions[0] is 9223372036854775807");
    row("castMapTensor", mlNode("CastMap", {}), table, "is no map");
    row("tfidfColumns",
        nodeOf("TfIdfVectorizer", 1,
            {{"mode", std::string("TF")}, {"min_gram_length", std::int64_t{1}}, {"max_gram_length", std::int64_t{1}}, {"max_skip_count", INT64_MAX}, {"ngram_counts", Ints{0}},
                {"ngram_indexes", Ints{INT64_MAX}}, {"pool_int64s", Ints{1}}}),
        {Tensor::of<std::int64_t>({1}, {1})}, "ngram_indexes has 9223372036854775807");
    row("regex", nodeOf("RegexFullMatch", 1, {{"pattern", std::string("(")}}), {Tensor::of<std::string>({1}, {"a"})}, "is no regular expression: missing )");
    row("detSquare", nodeOf("Det", 1, {}), {ramp({2, 3})}, "2 by 3");
    row("loopWithoutRunner", nodeOf("Loop", 2, {{"body", declaredBody(2, {})}}), {Tensor::scalar<std::int64_t>(1), Tensor::scalar(true)}, "nobody runs bodies");
}

void KernelEdges::refused() {
    QFETCH(Node, node);
    QFETCH(std::vector<Tensor>, inputs);
    QFETCH(QString, words);
    const Run r = run(node, inputs);
    QVERIFY(!r.result.has_value());
    const QString message = QString::fromStdString(r.result.error().message());
    QVERIFY2(message.contains(words), qPrintable(message));
}

void KernelEdges::emptyBatchGivesEmptyResult_data() {
    QTest::addColumn<Node>("node");
    QTest::addColumn<std::vector<Tensor>>("inputs");
    QTest::addColumn<QString>("shape");
    const auto row = [](const char* name, Node node, std::vector<Tensor> inputs, const char* shape) {
        QTest::newRow(name) << std::move(node) << std::move(inputs) << QString(shape);
    };
    row("conv", nodeOf("Conv", 2, {}), {ramp({0, 2, 4, 4}), ramp({3, 2, 3, 3})}, "[0,3,2,2]"); // 4 - 3 + 1
    row("convTranspose", nodeOf("ConvTranspose", 2, {}), {ramp({0, 2, 4, 4}), ramp({2, 3, 3, 3})}, "[0,3,6,6]"); // 4 + 3 - 1
    row("maxPool", nodeOf("MaxPool", 1, {{"kernel_shape", Ints{2, 2}}}), {ramp({0, 2, 4, 4})}, "[0,2,3,3]");
    row("matMul", nodeOf("MatMul", 2, {}), {ramp({0, 2, 3}), ramp({3, 4})}, "[0,2,4]");
    row("softmax", nodeOf("Softmax", 1, {}), {ramp({2, 0})}, "[2,0]");
    row("layerNormalization", nodeOf("LayerNormalization", 2, {}), {ramp({0, 4}), ramp({4})}, "[0,4]");
    row("batchNormalization", nodeOf("BatchNormalization", 5, {}), {ramp({0, 2, 3}), ramp({2}), ramp({2}), ramp({2}), ramp({2})}, "[0,2,3]");
    row("rnn", nodeOf("RNN", 3, {}), {ramp({0, 1, 2}), ramp({1, 2, 2}), ramp({1, 2, 2})}, "[0,1,1,2]");
}

void KernelEdges::emptyBatchGivesEmptyResult() {
    QFETCH(Node, node);
    QFETCH(std::vector<Tensor>, inputs);
    QFETCH(QString, shape);
    const Run r = run(node, inputs);
    QVERIFY2(r.result.has_value(), r.result ? "" : r.result.error().message().c_str());
    QCOMPARE(QString::fromStdString(toString(r.outputs[0].tensor().shape())), shape);
}

void KernelEdges::loopOfZeroTripsHasEmptyScanOutput() {
    const ValueType scalar = ValueType::tensor(DType::Float32, ShapeView{}), pair = ValueType::tensor(DType::Float64, SymbolicShape{Dim(2)});
    const Node loop = nodeOf("Loop", 3, {{"body", declaredBody(3, {ValueType::tensor(DType::Bool), scalar, pair})}}, 2);
    int calls = 0;
    const Run r = run(loop, {Tensor::scalar<std::int64_t>(0), Tensor::scalar(true), Tensor::scalar(7.0F)}, [&](const GraphPtr&, auto, auto) {
        ++calls;
        return std::vector<RuntimeValue>{};
    });
    QVERIFY2(r.result.has_value(), r.result ? "" : r.result.error().message().c_str());
    QCOMPARE(calls, 0);
    QCOMPARE(r.outputs[0].tensor().asDouble(0), 7.0);
    QCOMPARE(r.outputs[1].tensor().shape(), (Shape{0, 2}));
    QVERIFY(r.outputs[1].tensor().dtype() == DType::Float64);
}

void KernelEdges::loopStopsWhenTheBodySaysSo() {
    const ValueType scalar = ValueType::tensor(DType::Float32, ShapeView{});
    const Node loop = nodeOf("Loop", 3, {{"body", declaredBody(3, {ValueType::tensor(DType::Bool), scalar, scalar})}}, 2);
    // x doubles from 1 until it is 8: three trips of ten, the scan output keeps 2, 4, 8.
    const Run r = run(loop, {Tensor::scalar<std::int64_t>(10), Tensor::scalar(true), Tensor::scalar(1.0F)},
        [](const GraphPtr&, std::vector<RuntimeValue> inputs, auto) -> Result<std::vector<RuntimeValue>> {
            const float next = 2 * static_cast<float>(inputs[2].tensor().asDouble(0));
            return std::vector<RuntimeValue>{Tensor::scalar(next < 8), Tensor::scalar(next), Tensor::scalar(next)};
        });
    QVERIFY2(r.result.has_value(), r.result ? "" : r.result.error().message().c_str());
    QCOMPARE(r.outputs[0].tensor().asDouble(0), 8.0);
    QCOMPARE(r.outputs[1].tensor().shape(), (Shape{3}));
    QCOMPARE(r.outputs[1].tensor().asDouble(0), 2.0);
    QCOMPARE(r.outputs[1].tensor().asDouble(2), 8.0);
}

void KernelEdges::scanInReverseStacksInReverse() {
    const ValueType any = ValueType::tensor(DType::Float32);
    const Node scan = nodeOf("Scan", 2,
        {{"body", declaredBody(2, {any, any})}, {"num_scan_inputs", std::int64_t{1}}, {"scan_input_axes", Ints{1}}, {"scan_input_directions", Ints{1}},
            {"scan_output_directions", Ints{1}}, {"scan_output_axes", Ints{-1}}},
        2);
    // Running sums of the columns of [[0,1,2],[3,4,5]] from the right: first entries 2, 2+1, 2+1+0.
    const Run r = run(scan, {ramp({}), ramp({2, 3})}, [](const GraphPtr&, std::vector<RuntimeValue> inputs, auto) -> Result<std::vector<RuntimeValue>> {
        const auto sum = static_cast<float>(inputs[0].tensor().asDouble(0) + inputs[1].tensor().asDouble(0));
        return std::vector<RuntimeValue>{Tensor::scalar(sum), Tensor::scalar(sum)};
    });
    QVERIFY2(r.result.has_value(), r.result ? "" : r.result.error().message().c_str());
    QCOMPARE(r.outputs[0].tensor().asDouble(0), 3.0);
    const float expected[] = {3, 3, 2};
    for (std::int64_t i = 0; i < 3; ++i)
        QCOMPARE(r.outputs[1].tensor().asDouble(i), static_cast<double>(expected[i]));
}

QTEST_APPLESS_MAIN(KernelEdges)
#include "tst_kernel_edges.moc"

// The chain rule of one weight of the first convolution, read from the gradient pane by clicks and keys, against PyTorch's stored values.
#include <cmath>
#include <map>

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSet>
#include <QTableView>
#include <QTimer>

#include "engine/importers/values/npz.h"
#include "tests/gui/window_fixture.h"
#include "tests/support/must.h"
#include "views/gradient/gradient_view.h"
#include "views/theme/units.h"

using namespace nabla;
using namespace nabla::app;
using nabla::tests::kPatience;
using nabla::tests::must;

class TestGradientPane : public QObject, protected tests::WindowFixture {
    Q_OBJECT

private:
    engine::NamedTensors m_gradients, m_cotangents;

    template <typename T> T* part(const char* name) const { return m_window->view("gradient")->findChild<T*>(name); }
    QString text(const char* name) const { return part<QLabel>(name)->text(); }
    QString cell(const char* table, int row, int column) const {
        const QAbstractItemModel* model = part<QTableView>(table)->model();
        return model->index(row, column).data().toString();
    }

private Q_SLOTS:
    void initTestCase() {
        useOwnSettings("NablascopeGradientTest");
        m_gradients = must(engine::readNpz(std::string(NABLA_TEST_DATA) + "/samples/digits_cnn/gradients.npz"));
        m_cotangents = must(engine::readNpz(std::string(NABLA_TEST_DATA) + "/samples/digits_cnn/cotangents.npz"));
        makeWindow();
        openSample("digits_cnn");
    }

    void saysWhatIsMissing() {
        auto* view = qobject_cast<views::GradientView*>(m_window->view("gradient"));
        showTab("Gradient");
        QTRY_VERIFY(view->emptyPanel()->isVisible());
        QCOMPARE(view->emptyPanel()->button()->text(), QString("Differentiate"));
        QTest::mouseClick(view->emptyPanel()->button(), Qt::LeftButton);
        settle();
        QVERIFY(!state().gradientOf.empty());
        clickInOutline("conv1");
        QTRY_COMPARE(view->emptyPanel()->button()->text(), QString("Run"));
        QTest::mouseClick(view->emptyPanel()->button(), Qt::LeftButton);
        settle();
    }

    /// Stop, then F8 through the forward and the whole backward pass: after each backward step what the step made is shown, and where it is
    /// the gradient of a stored value it is PyTorch's (f32 here, f64 there).
    void stepsThroughTheWholeBackwardPass() {
        click("stop");
        QVERIFY(!state().step);
        std::map<engine::ValueId, std::string> storedOf; // cotangent -> forward name
        for (const auto& [forward, cotangent] : state().gradientOf) {
            const std::string& name = state().graph.value(forward)->name;
            if (m_cotangents.contains(name) || m_gradients.contains(name))
                storedOf[cotangent] = name;
        }
        int compared = 0;
        std::size_t backward = 0;
        for (std::size_t k = 0; !state().step || state().step->position < state().step->count; ++k) {
            QTest::keyClick(m_window.get(), Qt::Key_F8);
            settle();
            QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
            QCOMPARE(state().step->position, k + 1);
            const engine::Node* node = state().graph.node(state().step->order.at(k));
            QCOMPARE(state().selection.node.value, node->id.value);
            if (k < state().step->backwardStart)
                continue;
            ++backward;
            for (const engine::ValueId made : node->outputs) {
                const auto stored = storedOf.find(made);
                if (stored == storedOf.end())
                    continue;
                const auto& from = m_cotangents.contains(stored->second) ? m_cotangents : m_gradients;
                const engine::Tensor &wanted = from.at(stored->second), &got = state().values->at(made).tensor();
                double difference = 0, largest = 0;
                for (std::int64_t i = 0; i < wanted.elementCount(); ++i) {
                    difference = std::max(difference, std::fabs(wanted.asDouble(i) - got.asDouble(i)));
                    largest = std::max(largest, std::fabs(wanted.asDouble(i)));
                }
                QVERIFY2(difference <= 1e-4 * largest, stored->second.c_str());
                ++compared;
            }
        }
        QCOMPARE(backward, state().step->count - state().step->backwardStart);
        QVERIFY2(backward >= 30 && compared >= 25, qPrintable(QString("%1 steps, %2 compared").arg(backward).arg(compared)));
    }

    /// What is searched for stays in view, though the step is marked elsewhere and new numbers come to the overlay.
    void searchLeavesTheStep() {
        press(Qt::Key_F8, Qt::ShiftModifier);
        press(Qt::Key_F, Qt::ControlModifier);
        QTest::keyClicks(QApplication::focusWidget(), "MaxPool");
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
        settle();
        QTest::qWait(500);
        settle();
        const auto* canvas = m_window->graphPanel()->canvas();
        const engine::Node* found = state().graph.node(state().selection.node);
        QVERIFY(found && found->is("MaxPool") && !found->gradientOf);
        const views::Box& box = canvas->scenePtr()->scene().nodes[static_cast<std::size_t>(m_window->graphPanel()->sceneNode(found->id))].box;
        QVERIFY(QRectF(canvas->rect()).contains(canvas->widgetRect(box)));
        press(Qt::Key_F8);
    }

    /// The overlay that came with the first backward step: the number on a card is the norm of its gradient, wider and stronger coloured edges carry
    /// more, and a layer's box shows the norm over all its weights' gradients, which is PyTorch's.
    void overlayShowsNormsOnTheGraph() {
        QCOMPARE(m_window->graphPanel()->overlayBox()->currentText(), QString("Overlay: gradient"));
        const auto prepared = m_window->graphPanel()->canvas()->scenePtr();
        const views::GraphScene& scene = prepared->scene();
        QCOMPARE(scene.overlayTitle, std::string("Gradient norm, log scale"));
        QVERIFY(scene.overlayRamp == views::OverlayRamp::Health);
        QVERIFY(scene.overlayLow.find("vanishing") != std::string::npos && scene.overlayHigh.find("exploding") != std::string::npos);
        const auto normOf = [](const engine::Tensor& t) {
            double squares = 0;
            for (std::int64_t i = 0; i < t.elementCount(); ++i)
                squares += t.asDouble(i) * t.asDouble(i);
            return std::sqrt(squares);
        };
        int cards = 0, edges = 0, groups = 0;
        state().graph.forEachNode([&](const engine::Node& node) {
            const int card = m_window->graphPanel()->sceneNode(node.id);
            if (!node.gradientOf || card < 0 || scene.nodes[static_cast<std::size_t>(card)].form != views::NodeForm::Card)
                return;
            const views::SceneNode& shown = scene.nodes[static_cast<std::size_t>(card)];
            const engine::Tensor& made = state().values->at(node.output(0)).tensor();
            const auto* model = qobject_cast<views::OutlineView*>(m_window->view("outline"))->model();
            const std::string right = views::outlineRightText(state(), *model->item(model->indexOf(node.id)));
            if (made.dtype() != engine::DType::Float32) { // axes and sizes
                QVERIFY(std::isnan(shown.overlay) && right.empty());
                return;
            }
            QVERIFY(!right.empty());
            const std::string norm = views::formatNumber(normOf(made));
            QVERIFY2(shown.rightText == norm, (node.name + " " + shown.rightText + " " + norm).c_str());
            QVERIFY(!std::isnan(shown.overlay));
            ++cards;
        });
        for (const views::SceneEdge& edge : scene.edges) {
            if (!std::isnan(edge.overlay)) {
                QVERIFY2(edge.label.find("\u2016g\u2016 ") != std::string::npos, edge.label.c_str());
                QVERIFY(views::overlayEdgeWidth(edge.overlay) >= 1 && views::overlayEdgeWidth(edge.overlay) <= 6);
                ++edges;
            }
        }
        QVERIFY(views::overlayEdgeWidth(-1) < views::overlayEdgeWidth(0) && views::overlayEdgeWidth(0) < views::overlayEdgeWidth(1));
        // Boxes of layers, forward and backward: the first convolution's weight and bias.
        const engine::Node* conv = nullptr;
        state().graph.forEachNode([&](const engine::Node& node) { conv = !conv && node.is("Conv") && !node.gradientOf ? &node : conv; });
        const int scope = state().scopes->scope(conv->id);
        double squares = 0;
        state().graph.forEachNode([&](const engine::Node& node) {
            bool inside = false;
            for (int s = state().scopes->scope(node.id); s > 0; s = state().scopes->scopes[static_cast<std::size_t>(s)].parent)
                inside = inside || s == scope;
            for (const engine::ValueId input : inside ? node.inputs : std::vector<engine::ValueId>()) {
                const engine::Value* value = input ? state().graph.value(input) : nullptr;
                if (value && value->constant && m_gradients.contains(value->name))
                    squares += std::pow(normOf(m_gradients.at(value->name)), 2);
            }
        });
        QVERIFY(scope > 0 && squares > 0);
        const std::string wanted = "\u2207 weights " + views::formatNumber(std::sqrt(squares));
        for (const views::SceneGroup& group : scene.groups)
            groups += group.rightText == wanted ? 1 : 0;
        for (const views::SceneNode& node : scene.nodes)
            groups += node.form == views::NodeForm::CollapsedGroup && node.rightText == wanted ? 1 : 0;
        QVERIFY2(cards >= 5 && edges >= 5 && groups >= 1, qPrintable(QString("%1 cards, %2 edges, %3 groups with %4").arg(cards).arg(edges).arg(groups).arg(QString::fromStdString(wanted))));
    }

    void forwardAndBackwardNodesLeadToEachOther() {
        clickInOutline("conv1");
        const engine::NodeId conv = state().selection.node;
        QSet<std::uint32_t> visited;
        for (int i = 0; i < 30; ++i) {
            QTest::keyClick(m_window.get(), Qt::Key_J, Qt::ControlModifier);
            settle();
            if (state().selection.node == conv)
                break;
            QCOMPARE(state().graph.node(state().selection.node)->gradientOf.value, conv.value);
            visited.insert(state().selection.node.value);
        }
        qsizetype expected = 0;
        state().graph.forEachNode([&](const engine::Node& node) { expected += node.gradientOf == conv ? 1 : 0; });
        QCOMPARE(visited.size(), expected);
        QCOMPARE(state().selection.node.value, conv.value);
    }

    /// dL/dW[k]: three numbers that multiply, a sum of products, and the total that PyTorch gives (f32 here, f64 there).
    void readsOneWeightOfTheFirstConvolution() {
        clickInOutline("conv1");
        auto* values = part<QComboBox>("gradientValue");
        const engine::Node* conv = state().graph.node(state().selection.node);
        QVERIFY(conv && conv->is("Conv"));
        const engine::Value* weight = state().graph.value(conv->inputs[1]);
        const int index = values->findText(QString::fromStdString(weight->name));
        QVERIFY(index >= 0);
        values->setFocus();
        while (values->currentIndex() != index)
            QTest::keyClick(values, values->currentIndex() < index ? Qt::Key_Down : Qt::Key_Up);
        settle();
        QCOMPARE(state().explanation->rule.value.value, weight->id.value);
        auto* element = part<QLineEdit>("gradientElement");
        element->setFocus();
        element->selectAll();
        QTest::keyClicks(element, "3, 0, 1, 2");
        QTest::keyClick(element, Qt::Key_Return);
        settle();
        const engine::ChainRule& rule = state().explanation->rule;
        QCOMPARE(engine::elementText(rule.element, rule.shape), std::string("[3, 0, 1, 2]"));
        QCOMPARE(text("gradientRule"), QString("∂L/∂W = correlation of X with g"));

        // The three numbers shown are those of the engine's values: the cotangent that arrives, the pixel, and their product.
        const engine::ChainTerm& top = rule.paths.at(0).terms.at(0);
        const auto shown = [](double number) { return QString::fromStdString(views::formatNumber(number, 4)); };
        const double arriving = state().values->at(state().gradientOf.at(conv->outputs[0])).tensor().asDouble(top.index);
        QCOMPARE(text("gradientUpstream"), shown(arriving));
        const engine::Tensor& x = state().values->at(conv->inputs[0]).tensor();
        const std::int64_t n = top.index / (12 * 64), i = top.index / 8 % 8 - 1 + 1, j = top.index % 8 - 1 + 2; // 12 maps of 8 x 8, pads 1, tap [1, 2]
        QCOMPARE(text("gradientLocal"), shown(x.asDouble(n * 64 + i * 8 + j)));
        QCOMPARE(text("gradientResult"), shown(arriving * x.asDouble(n * 64 + i * 8 + j)));

        const engine::Tensor& reference = m_gradients.at(weight->name);
        const double wanted = reference.asDouble(rule.element);
        double largest = 0;
        for (std::int64_t k = 0; k < reference.elementCount(); ++k)
            largest = std::max(largest, std::fabs(reference.asDouble(k)));
        QVERIFY(std::fabs(rule.total - wanted) <= 1e-4 * largest); // float32 activations
        QTRY_VERIFY_WITH_TIMEOUT(state().explanation->check.has_value(), kPatience);
        QVERIFY(std::fabs(state().explanation->check->reference - wanted) <= 1e-10 * largest);
        QVERIFY(std::fabs(state().explanation->check->central - wanted) <= 1e-6 * largest);
        QCOMPARE(part<QTableView>("gradientChecks")->model()->rowCount(), 4);
        QCOMPARE(cell("gradientChecks", 2, 1), QString::fromStdString(views::formatNumber(state().explanation->check->reference, 6)));
    }

    void aWrongElementIsRefusedInWords() {
        auto* element = part<QLineEdit>("gradientElement");
        element->selectAll();
        QTest::keyClicks(element, "99, 0, 0, 0");
        QTest::keyClick(element, Qt::Key_Return);
        QVERIFY2(text("gradientNote").contains("index 99 is outside axis 0"), qPrintable(text("gradientNote")));
    }

    /// A product leads up the chain: to the element of y that it came from.
    void followsAProduct() {
        const engine::ChainTerm top = state().explanation->rule.paths.at(0).terms.at(0);
        auto* table = part<QTableView>("gradientTerms");
        table->setFocus();
        table->setCurrentIndex(table->model()->index(0, 0));
        QTest::keyClick(table, Qt::Key_Return);
        settle();
        QCOMPARE(state().explanation->rule.value.value, top.output.value);
        QCOMPARE(state().explanation->rule.element, top.index);
    }

    /// The dialog: only one weight is asked for, so that the joint graph has one gradient output.
    void differentiatesByChoice() {
        const std::uint32_t imported = state().history.front().id;
        m_window->controller().showState(imported);
        settle();
        QTimer::singleShot(300, this, [this] {
            auto* dialog = m_window->findChild<QDialog*>("differentiateDialog");
            QVERIFY(dialog);
            auto* list = dialog->findChild<QListView*>("differentiateWrt");
            list->setFocus();
            for (int row = 0; row < list->model()->rowCount(); ++row) { // all ticked at first but inner values
                list->setCurrentIndex(list->model()->index(row, 0));
                const bool ticked = list->model()->index(row, 0).data(Qt::CheckStateRole).toInt() == Qt::Checked;
                if (ticked != (row == 1))
                    QTest::keyClick(list, Qt::Key_Space);
            }
            for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
                if (button->text() == "Differentiate")
                    QTest::mouseClick(button, Qt::LeftButton);
            }
        });
        QTest::keyClick(m_window.get(), Qt::Key_G, Qt::ControlModifier | Qt::ShiftModifier);
        settle();
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        int gradients = 0;
        for (const engine::ValueId output : state().graph.outputs())
            gradients += state().graph.value(output)->name.starts_with("grad:") ? 1 : 0;
        QCOMPARE(gradients, 1);
    }
};

QTEST_MAIN(TestGradientPane)
#include "tst_gradient_pane.moc"

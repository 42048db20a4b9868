// The reading half of the state form. Nothing is trusted: every count, number and id is bounded before it is used.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "app/document/byte_stream.h"
#include "app/document/dim_terms.h"
#include "app/document/state_blob.h"
#include "app/document/state_checks.h"
#include "engine/graph/graph_diff.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

constexpr int kMostNesting = 110;                        ///< bodies in bodies; files may have 100
constexpr int kMostTypeNesting = 32;
constexpr std::size_t kMostTerms = 1000;                 ///< of one dimension
constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 26; ///< pointers in the tables of all graphs together, 1 GiB

} // namespace

class StateReader::Impl {
public:
    Impl(SessionFolder& folder, JobControl job) : m_folder(folder), m_job(std::move(job)) { }

    Result<HistoryState> read(std::span<const std::byte> blob) {
        NABLA_CHECK(m_job.check());
        m_in = ByteReader(blob);
        const auto magic = m_in.bytes(4);
        if (magic.size() != 4 || std::memcmp(magic.data(), "NBST", 4) != 0)
            return readError("is not a graph state of Nablascope");
        if (const std::uint64_t version = m_in.number(); m_in.ok() && version != kStateBlobVersion)
            return readError("the state has version {}, this program reads {}", version, kStateBlobVersion);
        HistoryState state;
        state.kind = static_cast<HistoryState::Kind>(m_in.below(5, "the kind of state"));
        state.title = m_in.text();
        state.subtitle = m_in.text();
        if (m_in.flag())
            state.pass = record();
        if (const GraphPtr made = graph())
            state.graph = *made;
        if (m_in.flag())
            state.joint = joint();
        NABLA_CHECK(m_in.status());
        if (m_in.remaining() > 0)
            return readError("{} bytes follow the end of the state", m_in.remaining());
        return state;
    }

    void finish() {
        // The source gives out one id after the other; at most 2^26 are drawn, which takes a fraction of a second.
        while (m_largestNode > 0 && m_ids->nextNode().value < m_largestNode) { }
        while (m_largestValue > 0 && m_ids->nextValue().value < m_largestValue) { }
    }

private:
    /// Null once something went wrong, and for a null object.
    template <typename T, typename F> std::shared_ptr<const T> shared(std::vector<std::shared_ptr<const T>>& table, F&& body) {
        const std::uint64_t number = m_in.number();
        if (number == 0)
            return nullptr;
        if (number > 1) {
            if (number - 2 < table.size())
                return table[static_cast<std::size_t>(number - 2)];
            m_in.fail(readError("byte {}: object {} of {} is not there yet", m_in.position(), number - 2, table.size()));
            return nullptr;
        }
        std::shared_ptr<const T> made = body();
        if (!m_in.ok() || !made)
            return nullptr;
        table.push_back(made);
        return made;
    }
    template <typename F> auto list(std::string_view what, F&& each) {
        std::vector<std::decay_t<decltype(each())>> all;
        const std::size_t count = m_in.count(what);
        for (std::size_t i = 0; i < count && m_in.ok(); ++i)
            all.push_back(each());
        return all;
    }
    std::uint32_t idUpTo(std::uint32_t& largest) {
        const std::uint64_t one = m_in.number();
        if (one > kMostId) {
            m_in.fail(readError("byte {}: id {} is beyond {}", m_in.position(), one, kMostId));
            return 0;
        }
        largest = std::max(largest, static_cast<std::uint32_t>(one));
        return static_cast<std::uint32_t>(one);
    }
    NodeId nodeId() { return {idUpTo(m_largestNode)}; }
    ValueId valueId() { return {idUpTo(m_largestValue)}; }
    std::vector<NodeId> nodeIds() {
        return list("node ids", [this] { return nodeId(); });
    }
    std::vector<ValueId> valueIds() {
        return list("value ids", [this] { return valueId(); });
    }
    std::string word() {
        const std::uint64_t number = m_in.number();
        if (number == 0)
            return m_in.text();
        if (number > 1) {
            if (number - 2 < m_words.size())
                return m_words[static_cast<std::size_t>(number - 2)];
            m_in.fail(readError("byte {}: word {} of {} is not there yet", m_in.position(), number - 2, m_words.size()));
            return {};
        }
        std::string text = m_in.text();
        if (text.size() > 200) // the writer never does: long texts by number would make little bytes much memory
            m_in.fail(readError("byte {}: a word has {} characters", m_in.position(), text.size()));
        m_words.push_back(text);
        return text;
    }
    std::vector<std::string> texts() {
        return list("texts", [this] { return m_in.text(); });
    }
    std::vector<std::pair<std::string, std::string>> pairs() {
        return list("pairs", [this] {
            std::string key = m_in.text();
            return std::pair<std::string, std::string>(std::move(key), m_in.text());
        });
    }
    Shape shape() {
        Shape out = list("dimensions", [this] { return m_in.whole(); });
        if (auto fits = checkShape(out); m_in.ok() && !fits)
            m_in.fail(fits.error());
        return m_in.ok() ? out : Shape{};
    }

    TensorPtr tensor() {
        return shared(m_tensors, [this]() -> TensorPtr {
            const auto dtype = static_cast<DType>(m_in.below(kLastDType + 1, "an element type"));
            Shape dims = shape();
            if (m_in.ok() && dtype == DType::Undefined)
                m_in.fail(readError("byte {}: a tensor without element type", m_in.position()));
            if (!m_in.ok())
                return nullptr;
            auto made = dtype == DType::String ? strings(std::move(dims)) : m_in.flag() ? inFile(dtype, std::move(dims)) : inside(dtype, std::move(dims));
            if (!made) {
                m_in.fail(made.error());
                return nullptr;
            }
            if (auto go = m_job.check(); !go)
                m_in.fail(go.error());
            return std::make_shared<const Tensor>(std::move(*made));
        });
    }
    Result<Tensor> strings(Shape dims) {
        const std::int64_t count = elementCount(dims);
        if (static_cast<std::uint64_t>(count) > m_in.remaining())
            return readError("byte {}: {} texts do not fit into the {} bytes that are left", m_in.position(), count, m_in.remaining());
        NABLA_TRY(Tensor made, Tensor::make(DType::String, std::move(dims)));
        for (std::string& each : made.mutableData<std::string>())
            each = m_in.text();
        return made;
    }
    Result<Tensor> inside(DType dtype, Shape dims) {
        const auto bytes = m_in.bytes(static_cast<std::size_t>(storageBytes(dtype, elementCount(dims))));
        NABLA_CHECK(m_in.status());
        if (dtype == DType::Bool && std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
            return readError("byte {}: a bool before it is neither 0 nor 1", m_in.position());
        NABLA_TRY(Tensor made, Tensor::make(dtype, std::move(dims)));
        if (!bytes.empty())
            std::memcpy(made.mutableRaw(), bytes.data(), bytes.size());
        return made;
    }
    Result<Tensor> inFile(DType dtype, Shape dims) {
        WeightPlace place;
        place.file = m_in.text();
        place.fileSize = m_in.number();
        place.offset = m_in.number();
        place.length = static_cast<std::uint64_t>(storageBytes(dtype, elementCount(dims)));
        place.hash = m_in.fixed64();
        NABLA_CHECK(m_in.status());
        return m_folder.tensor(place, dtype, std::move(dims));
    }
    SparseTensorPtr sparse() {
        return shared(m_sparse, [this]() -> SparseTensorPtr {
            SparseTensor one;
            one.values = tensor();
            one.indices = tensor();
            one.shape = shape();
            if (auto right = checkSparse(one); m_in.ok() && !right)
                m_in.fail(right.error());
            return std::make_shared<const SparseTensor>(std::move(one));
        });
    }

    Dim dim() {
        const std::uint8_t form = m_in.below(3, "the form of a dimension");
        if (form == 0)
            return {};
        if (form == 1) {
            const std::int64_t size = m_in.whole();
            if (size < 0)
                m_in.fail(readError("byte {}: dimension {} is negative", m_in.position(), size));
            return size;
        }
        const auto terms = list("terms", [this] {
            const std::int64_t factor = m_in.whole();
            return DimTerm{factor, list("names", [this] { return word(); })};
        });
        std::size_t atoms = 0;
        for (const DimTerm& term : terms)
            atoms += 1 + term.atoms.size();
        if (atoms > kMostTerms)
            m_in.fail(readError("byte {}: a dimension has {} terms and names", m_in.position(), atoms));
        return m_in.ok() ? dimFromTerms(terms) : Dim();
    }
    ValueType type(int nesting = 0) {
        ValueType out;
        if (nesting > kMostTypeNesting) {
            m_in.fail(readError("byte {}: types nest deeper than {}", m_in.position(), kMostTypeNesting));
            return out;
        }
        out.kind = static_cast<ValueType::Kind>(m_in.below(static_cast<std::uint8_t>(ValueType::Kind::Opaque) + 1, "the kind of a type"));
        out.elementType = static_cast<DType>(m_in.below(kLastDType + 1, "an element type"));
        if (m_in.flag()) {
            out.shape = list("dimensions", [this] { return dim(); });
            if (out.shape->size() > kMaxRank)
                m_in.fail(readError("byte {}: rank {} is above the limit of {}", m_in.position(), out.shape->size(), kMaxRank));
        }
        if (m_in.flag())
            out.element = std::make_shared<const ValueType>(type(nesting + 1));
        return out;
    }

    template <typename T> T present(T pointer) {
        if (!pointer)
            m_in.fail(readError("byte {}: something is missing here", m_in.position()));
        return pointer;
    }
    void into(std::int64_t& out) { out = m_in.whole(); }
    void into(float& out) { out = m_in.realFloat(); }
    void into(std::string& out) { out = m_in.text(); }
    void into(TensorPtr& out) { out = present(tensor()); }
    void into(GraphPtr& out) { out = present(graph()); }
    void into(SparseTensorPtr& out) { out = present(sparse()); }
    void into(ValueType& out) { out = type(); }
    void into(AttributeReference& out) {
        out.name = m_in.text();
        out.kind = m_in.u8();
    }
    template <typename T> void into(std::vector<T>& out) {
        out = list("entries", [this] {
            T one{};
            into(one);
            return one;
        });
    }
    /// Makes the alternative of the variant that has this index.
    template <std::size_t I = 0> AttributeValue alternative(std::size_t index) {
        if constexpr (I < std::variant_size_v<AttributeValue>) {
            if (index != I)
                return alternative<I + 1>(index);
            std::variant_alternative_t<I, AttributeValue> one{};
            into(one);
            return AttributeValue(std::in_place_index<I>, std::move(one));
        } else {
            return std::int64_t{0};
        }
    }
    Attribute attribute() {
        Attribute out;
        out.name = word();
        out.value = alternative(m_in.below(static_cast<std::uint8_t>(std::variant_size_v<AttributeValue>), "the kind of an attribute"));
        return out;
    }
    std::vector<Attribute> attributes() {
        return list("attributes", [this] { return attribute(); });
    }

    NodePtr node() {
        return present(shared(m_nodes, [this]() -> NodePtr {
            Node one;
            one.id = nodeId();
            one.opType = word();
            one.domain = word();
            one.overload = word();
            one.name = m_in.text();
            one.inputs = valueIds();
            one.outputs = valueIds();
            one.attributes = attributes();
            one.captures = valueIds();
            one.doc = m_in.text();
            one.metadata = pairs();
            one.origins = nodeIds();
            one.gradientOf = nodeId();
            one.createdBy = shared(m_makers, [this] { return std::make_shared<const std::string>(m_in.text()); });
            return std::make_shared<const Node>(std::move(one));
        }));
    }
    ValuePtr value() {
        return present(shared(m_values, [this]() -> ValuePtr {
            Value one;
            one.id = valueId();
            one.name = m_in.text();
            one.producer = nodeId();
            const std::uint64_t index = m_in.number();
            if (index > kMostId)
                m_in.fail(readError("byte {}: output {} of a node", m_in.position(), index));
            one.outputIndex = static_cast<std::uint32_t>(index);
            one.declared = type();
            one.constant = tensor();
            one.doc = m_in.text();
            return std::make_shared<const Value>(std::move(one));
        }));
    }
    std::vector<Diagnostic> diagnostics() {
        return list("diagnostics", [this] {
            Diagnostic one;
            one.severity = static_cast<Diagnostic::Severity>(m_in.below(3, "a severity"));
            one.node = nodeId();
            one.value = valueId();
            one.message = m_in.text();
            one.blocksRun = m_in.flag();
            return one;
        });
    }
    ModelInfoPtr info() {
        return present(shared(m_infos, [this]() -> ModelInfoPtr {
            ModelInfo one;
            one.format = m_in.text();
            one.dialect = m_in.text();
            const bool beside = m_in.flag();
            const std::string path = m_in.text();
            if (beside) {
                if (auto there = m_folder.resolve(path))
                    one.path = *there;
                else
                    m_in.fail(there.error());
            } else {
                one.path = path;
            }
            for (std::string* text : {&one.producer, &one.producerVersion, &one.modelDomain, &one.doc})
                *text = m_in.text();
            one.modelVersion = m_in.whole();
            one.irVersion = m_in.whole();
            for (auto& [domain, version] : list("opsets", [this] {
                     std::string name = word();
                     return std::pair<std::string, std::int64_t>(std::move(name), m_in.whole());
                 }))
                one.opsets[domain] = version;
            one.metadata = pairs();
            return std::make_shared<const ModelInfo>(std::move(one));
        }));
    }
    FunctionMap functions() {
        FunctionMap out;
        const std::size_t count = m_in.count("functions");
        for (std::size_t i = 0; i < count && m_in.ok(); ++i) {
            const std::string key = m_in.text();
            out[key] = present(shared(m_functions, [this]() -> std::shared_ptr<const Function> {
                Function one;
                one.domain = word();
                one.name = word();
                one.overload = word();
                one.doc = m_in.text();
                one.attributes = texts();
                one.attributeDefaults = attributes();
                one.body = present(graph());
                return std::make_shared<const Function>(std::move(one));
            }));
        }
        return out;
    }

    GraphPtr graph() {
        if (m_nesting > kMostNesting) {
            m_in.fail(readError("byte {}: bodies nest deeper than {}", m_in.position(), kMostNesting));
            return nullptr;
        }
        ++m_nesting;
        const GraphPtr out = present(shared(m_graphs, [this] { return newGraph(); }));
        --m_nesting;
        return out;
    }
    GraphPtr newGraph() {
        const std::uint64_t base = m_in.number();
        if (base > m_graphs.size())
            m_in.fail(readError("byte {}: the graph {} that is patched is not there", m_in.position(), base));
        if (!m_in.ok())
            return nullptr;
        const Graph before = base == 0 ? Graph() : *m_graphs[static_cast<std::size_t>(base - 1)];
        GraphPatch patch;
        patch.name = m_in.text();
        patch.doc = m_in.text();
        patch.info = info();
        patch.inputs = valueIds();
        patch.captures = valueIds();
        patch.outputs = valueIds();
        patch.removedNodes = nodeIds();
        patch.removedValues = valueIds();
        patch.nodes = list("nodes", [this] { return node(); });
        patch.values = list("values", [this] { return value(); });
        if (m_in.flag())
            patch.functions = functions();
        if (m_in.flag())
            patch.diagnostics = diagnostics();
        if (!m_in.ok())
            return nullptr;
        if (auto right = checkPatch(before, patch); !right) {
            m_in.fail(right.error());
            return nullptr;
        }
        if (m_slots += tableSlots(before, patch); m_slots > kMostSlots) {
            m_in.fail(readError("the tables of the graphs take more than {} entries", kMostSlots));
            return nullptr;
        }
        auto made = std::make_shared<const Graph>(GraphDiff::patched(before, std::move(patch), m_ids));
        if (auto right = m_sizes.check(*made); !right)
            m_in.fail(right.error());
        return made;
    }

    std::optional<GraphPrice> price() {
        if (!m_in.flag())
            return std::nullopt;
        GraphPrice out;
        out.nodes = m_in.whole();
        for (auto* each : {&out.flops, &out.bytesMoved, &out.peakBytes, &out.lowerBoundBytes}) {
            if (m_in.flag())
                *each = m_in.whole();
        }
        if (m_in.flag())
            out.medianMs = m_in.realDouble();
        return out;
    }
    PassRecord record() {
        PassRecord out;
        out.pass = m_in.text();
        for (Graph* each : {&out.before, &out.after}) {
            if (const GraphPtr made = graph())
                *each = *made;
        }
        out.rewrites = list("rewrites", [this] {
            Rewrite one;
            one.rule = word();
            one.removed = nodeIds();
            one.added = nodeIds();
            one.reason = m_in.text();
            return one;
        });
        out.nearMisses = list("near misses", [this] {
            NearMiss one;
            one.rule = word();
            one.node = nodeId();
            one.predicate = m_in.text();
            return one;
        });
        out.milliseconds = m_in.realDouble();
        out.priceBefore = price();
        out.priceAfter = price();
        if (m_in.flag()) {
            out.differences = list("differences", [this] {
                OutputDifference one;
                one.output = m_in.text();
                one.largest = m_in.realDouble();
                one.relativeToLargestEntry = m_in.realDouble();
                return one;
            });
        }
        if (m_in.flag())
            out.error = m_in.text();
        return out;
    }
    std::shared_ptr<const JointGraph> joint() {
        auto out = std::make_shared<JointGraph>();
        if (const GraphPtr made = graph())
            out->graph = *made;
        for (auto* map : {&out->gradientOf, &out->cotangentInput, &out->seedOf}) {
            const std::size_t count = m_in.count("pairs", 2);
            for (std::size_t i = 0; i < count && m_in.ok(); ++i) {
                const ValueId from = valueId();
                (*map)[from] = valueId();
            }
        }
        out->wrt = valueIds();
        out->notes = diagnostics();
        if (auto right = checkJoint(*out); m_in.ok() && !right)
            m_in.fail(right.error());
        return out;
    }

    SessionFolder& m_folder;
    JobControl m_job;
    ByteReader m_in{{}};
    IdSourcePtr m_ids = std::make_shared<IdSource>();
    std::uint32_t m_largestNode = 0, m_largestValue = 0;
    int m_nesting = 0;
    std::uint64_t m_slots = 0;
    GraphSizes m_sizes;
    std::vector<std::string> m_words;
    std::vector<TensorPtr> m_tensors;
    std::vector<SparseTensorPtr> m_sparse;
    std::vector<NodePtr> m_nodes;
    std::vector<ValuePtr> m_values;
    std::vector<std::shared_ptr<const std::string>> m_makers;
    std::vector<ModelInfoPtr> m_infos;
    std::vector<std::shared_ptr<const Function>> m_functions;
    std::vector<GraphPtr> m_graphs;
};

StateReader::StateReader(SessionFolder& folder, JobControl job) : m_impl(std::make_unique<Impl>(folder, std::move(job))) { }
StateReader::~StateReader() = default;
Result<HistoryState> StateReader::read(std::span<const std::byte> blob) { return m_impl->read(blob); }
void StateReader::finish() { m_impl->finish(); }

} // namespace nabla::app

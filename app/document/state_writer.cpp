// The writing half of the state form; state_reader.cpp mirrors it line by line.
#include <unordered_map>

#include "app/document/byte_stream.h"
#include "app/document/dim_terms.h"
#include "app/document/state_blob.h"
#include "engine/graph/graph_diff.h"
#include "engine/graph/graph_editor.h"
#include "engine/tensor/file_elements.h"

namespace nabla::app {

using namespace nabla::engine;

class StateWriter::Impl {
public:
    Impl(const SessionFolder& folder, JobControl job) : m_folder(folder), m_job(std::move(job)) { }

    Result<std::vector<std::byte>> write(const HistoryState& state, const HistoryState* parent) {
        NABLA_CHECK(m_job.check());
        m_out = {};
        m_out.bytes(std::as_bytes(std::span("NBST", 4)));
        m_out.number(kStateBlobVersion);
        m_out.u8(static_cast<std::uint8_t>(state.kind));
        m_out.text(state.title);
        m_out.text(state.subtitle);
        const Graph* base = parent ? &parent->graph : nullptr;
        m_out.flag(state.pass.has_value());
        if (state.pass) { // the pass may have begun with a state that is not in the history
            record(*state.pass, base);
            base = &state.pass->before;
        }
        graph(state.graph, base);
        m_out.flag(state.joint != nullptr);
        if (state.joint)
            joint(*state.joint);
        if (m_error)
            return *m_error;
        return m_out.take();
    }

private:
    void fail(Error error) {
        if (!m_error)
            m_error = std::move(error);
    }

    /// 0 = null, 1 = here it is, k + 2 = number k of its table. Numbers are given when the object is complete, as the reader does.
    template <typename Table, typename F> void shared(Table& table, typename Table::key_type object, F&& body) {
        if (!object) {
            m_out.number(0);
        } else if (const auto it = table.find(object); it != table.end()) {
            m_out.number(it->second + 2);
        } else {
            m_out.number(1);
            body();
            const std::size_t number = table.size();
            table.emplace(object, number);
        }
    }
    template <typename List, typename F> void list(const List& all, F&& each) {
        m_out.number(all.size());
        for (const auto& one : all)
            each(one);
    }
    template <typename I> void id(I one) { m_out.number(one.value); }
    template <typename I> void ids(std::span<const I> all) {
        list(all, [this](I one) { id(one); });
    }
    /// Operators, domains: short texts that recur.
    void word(const std::string& text) {
        if (text.size() > 200) {
            m_out.number(0);
            m_out.text(text);
            return;
        }
        const auto [it, isNew] = m_words.emplace(text, m_words.size());
        m_out.number(isNew ? 1 : it->second + 2);
        if (isNew)
            m_out.text(text);
    }
    void pairs(const std::vector<std::pair<std::string, std::string>>& all) {
        list(all, [this](const auto& one) {
            m_out.text(one.first);
            m_out.text(one.second);
        });
    }
    void shape(const Shape& all) {
        list(all, [this](std::int64_t one) { m_out.whole(one); });
    }

    void tensor(const TensorPtr& one) {
        shared(m_tensors, one.get(), [&] {
            m_out.u8(static_cast<std::uint8_t>(one->dtype()));
            shape(one->shape());
            if (one->dtype() == DType::String) {
                for (const std::string& text : one->data<std::string>())
                    m_out.text(text);
                return;
            }
            const auto size = static_cast<std::size_t>(one->bytes());
            const auto at = size > kInsideBytes ? filePlace(*one) : std::nullopt;
            const auto name = at ? m_folder.relative(at->file->path()) : std::nullopt;
            m_out.flag(name.has_value());
            if (name) {
                m_out.text(*name);
                m_out.number(at->file->bytes().size());
                m_out.number(at->offset);
                m_out.fixed64(weightHash(at->file->bytes().subspan(at->offset, size)));
            } else if (m_inside += one->bytes(); m_inside > kMostInsideBytes) {
                fail(usageError("the weights that do not lie in files beside or below the session take more than {} MiB; save the session into the folder of its model{}",
                    kMostInsideBytes >> 20, at ? " " + at->file->path().parent_path().string() : std::string()));
            } else {
                m_out.bytes({one->raw(), size});
            }
            if (auto go = m_job.check(); !go)
                fail(go.error());
        });
    }
    void sparse(const SparseTensorPtr& one) {
        shared(m_sparse, one.get(), [&] {
            tensor(one->values);
            tensor(one->indices);
            shape(one->shape);
        });
    }

    void dim(const Dim& one) {
        if (one.isUnknown())
            return m_out.u8(0);
        if (const auto value = one.constant()) {
            m_out.u8(1);
            return m_out.whole(*value);
        }
        m_out.u8(2);
        const auto terms = dimTerms(one);
        if (!terms)
            return fail(usageError("the dimension \"{}\" cannot be written: the names in it are full of signs", one.text().substr(0, 300)));
        list(*terms, [this](const DimTerm& term) {
            m_out.whole(term.factor);
            list(term.atoms, [this](const std::string& atom) { word(atom); });
        });
    }
    void type(const ValueType& one) {
        m_out.u8(static_cast<std::uint8_t>(one.kind));
        m_out.u8(static_cast<std::uint8_t>(one.elementType));
        m_out.flag(one.shape.has_value());
        if (one.shape)
            list(*one.shape, [this](const Dim& each) { dim(each); });
        m_out.flag(one.element != nullptr);
        if (one.element)
            type(*one.element);
    }

    struct AttributeWriter;
    void attribute(const Attribute& one);
    void node(const Node& one) {
        shared(m_nodes, &one, [&] {
            id(one.id);
            word(one.opType);
            word(one.domain);
            word(one.overload);
            m_out.text(one.name);
            ids<ValueId>(one.inputs);
            ids<ValueId>(one.outputs);
            list(one.attributes, [this](const Attribute& each) { attribute(each); });
            ids<ValueId>(one.captures);
            m_out.text(one.doc);
            pairs(one.metadata);
            ids<NodeId>(one.origins);
            id(one.gradientOf);
            shared(m_makers, one.createdBy.get(), [&] { m_out.text(*one.createdBy); });
        });
    }
    void value(const Value& one) {
        shared(m_values, &one, [&] {
            id(one.id);
            m_out.text(one.name);
            id(one.producer);
            m_out.number(one.outputIndex);
            type(one.declared);
            tensor(one.constant);
            m_out.text(one.doc);
        });
    }
    void diagnostics(const std::vector<Diagnostic>& all) {
        list(all, [this](const Diagnostic& one) {
            m_out.u8(static_cast<std::uint8_t>(one.severity));
            id(one.node);
            id(one.value);
            m_out.text(one.message);
            m_out.flag(one.blocksRun);
        });
    }
    void info(const ModelInfoPtr& one) {
        shared(m_infos, one.get(), [&] {
            m_out.text(one->format);
            m_out.text(one->dialect);
            const auto name = one->path.empty() ? std::nullopt : m_folder.relative(one->path);
            m_out.flag(name.has_value());
            std::error_code error;
            m_out.text(name ? *name : one->path.empty() ? std::string() : std::filesystem::absolute(one->path, error).string());
            for (const std::string* text : {&one->producer, &one->producerVersion, &one->modelDomain, &one->doc})
                m_out.text(*text);
            m_out.whole(one->modelVersion);
            m_out.whole(one->irVersion);
            list(one->opsets, [this](const auto& each) {
                word(each.first);
                m_out.whole(each.second);
            });
            pairs(one->metadata);
        });
    }
    void functions(const FunctionMap& all) {
        list(all, [this](const auto& entry) {
            m_out.text(entry.first);
            shared(m_functions, entry.second.get(), [&, one = entry.second] {
                word(one->domain);
                word(one->name);
                word(one->overload);
                m_out.text(one->doc);
                list(one->attributes, [this](const std::string& each) { m_out.text(each); });
                list(one->attributeDefaults, [this](const Attribute& each) { attribute(each); });
                graph(*one->body, nullptr);
            });
        });
    }
    void graph(const Graph& one, const Graph* base) {
        shared(m_graphs, &one.memo(), [&] {
            const auto from = base ? m_graphs.find(&base->memo()) : m_graphs.end();
            m_out.number(from == m_graphs.end() ? 0 : from->second + 1);
            const Graph nothing;
            const Graph& before = from == m_graphs.end() ? nothing : *base;
            m_out.text(one.name());
            m_out.text(one.doc());
            info(one.infoPtr());
            ids(one.inputs());
            ids(one.captures());
            ids(one.outputs());
            const GraphDiff difference = diff(before, one);
            ids<NodeId>(difference.removed);
            ids<ValueId>(difference.removedValues);
            m_out.number(difference.added.size() + difference.changed.size());
            for (const auto* part : {&difference.added, &difference.changed}) {
                for (const NodeId each : *part)
                    node(*one.node(each));
            }
            m_out.number(difference.addedValues.size() + difference.changedValues.size());
            for (const auto* part : {&difference.addedValues, &difference.changedValues}) {
                for (const ValueId each : *part)
                    value(*one.value(each));
            }
            const bool sameFunctions = &before.functions() == &one.functions(), sameDiagnostics = &before.diagnostics() == &one.diagnostics();
            m_out.flag(!sameFunctions);
            if (!sameFunctions)
                functions(one.functions());
            m_out.flag(!sameDiagnostics);
            if (!sameDiagnostics)
                diagnostics(one.diagnostics());
        });
    }

    void price(const std::optional<GraphPrice>& one) {
        m_out.flag(one.has_value());
        if (!one)
            return;
        m_out.whole(one->nodes);
        for (const auto* each : {&one->flops, &one->bytesMoved, &one->peakBytes, &one->lowerBoundBytes}) {
            m_out.flag(each->has_value());
            if (*each)
                m_out.whole(**each);
        }
        m_out.flag(one->medianMs.has_value());
        if (one->medianMs)
            m_out.real(*one->medianMs);
    }
    void record(const PassRecord& one, const Graph* base) {
        m_out.text(one.pass);
        graph(one.before, base);
        graph(one.after, &one.before);
        list(one.rewrites, [this](const Rewrite& each) {
            word(each.rule);
            ids<NodeId>(each.removed);
            ids<NodeId>(each.added);
            m_out.text(each.reason);
        });
        list(one.nearMisses, [this](const NearMiss& each) {
            word(each.rule);
            id(each.node);
            m_out.text(each.predicate);
        });
        m_out.real(one.milliseconds);
        price(one.priceBefore);
        price(one.priceAfter);
        m_out.flag(one.differences.has_value());
        if (one.differences) {
            list(*one.differences, [this](const OutputDifference& each) {
                m_out.text(each.output);
                m_out.real(each.largest);
                m_out.real(each.relativeToLargestEntry);
            });
        }
        m_out.flag(one.error.has_value());
        if (one.error)
            m_out.text(*one.error);
    }
    void joint(const JointGraph& one) {
        graph(one.graph, nullptr);
        for (const auto* map : {&one.gradientOf, &one.cotangentInput, &one.seedOf}) {
            list(*map, [this](const auto& entry) {
                id(entry.first);
                id(entry.second);
            });
        }
        ids<ValueId>(one.wrt);
        diagnostics(one.notes);
    }

    const SessionFolder& m_folder;
    JobControl m_job;
    ByteWriter m_out;
    std::optional<Error> m_error;
    std::int64_t m_inside = 0;
    std::unordered_map<std::string, std::size_t> m_words;
    template <typename T> using Numbers = std::unordered_map<const T*, std::size_t>;
    Numbers<Tensor> m_tensors;
    Numbers<SparseTensor> m_sparse;
    Numbers<Node> m_nodes;
    Numbers<Value> m_values;
    Numbers<std::string> m_makers;
    Numbers<ModelInfo> m_infos;
    Numbers<Function> m_functions;
    Numbers<AnalysisMemo> m_graphs; ///< copies of one state share its memo
};

/// One overload per kind of attribute; the reader takes them by the index of the variant.
struct StateWriter::Impl::AttributeWriter {
    Impl& to;
    void operator()(std::int64_t one) { to.m_out.whole(one); }
    void operator()(float one) { to.m_out.real(one); }
    void operator()(const std::string& one) { to.m_out.text(one); }
    void operator()(const TensorPtr& one) { to.tensor(one); }
    void operator()(const GraphPtr& one) { to.graph(*one, nullptr); }
    void operator()(const SparseTensorPtr& one) { to.sparse(one); }
    void operator()(const ValueType& one) { to.type(one); }
    void operator()(const AttributeReference& one) {
        to.m_out.text(one.name);
        to.m_out.u8(one.kind);
    }
    template <typename T> void operator()(const std::vector<T>& all) { to.list(all, *this); }
};

void StateWriter::Impl::attribute(const Attribute& one) {
    word(one.name);
    m_out.u8(static_cast<std::uint8_t>(one.value.index()));
    std::visit(AttributeWriter{*this}, one.value);
}

StateWriter::StateWriter(const SessionFolder& folder, JobControl job) : m_impl(std::make_unique<Impl>(folder, std::move(job))) { }
StateWriter::~StateWriter() = default;
Result<std::vector<std::byte>> StateWriter::write(const HistoryState& state, const HistoryState* parent) { return m_impl->write(state, parent); }

} // namespace nabla::app

// From text to features: StringNormalizer (case by Unicode's rules, through ICU) and TfIdfVectorizer.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include "engine/ops/cost_rules.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

// ---- StringNormalizer ----

enum class CaseChange : std::uint8_t { None, Lower, Upper };

std::string inUtf8(const icu::UnicodeString& text) {
    std::string out;
    text.toUTF8String(out);
    return out;
}

/// Same for two spellings that differ in case only.
std::string folded(const std::string& text) { return inUtf8(icu::UnicodeString::fromUTF8(text).foldCase()); }

std::string changed(const std::string& text, CaseChange change, const icu::Locale& locale) {
    if (change == CaseChange::None)
        return text;
    icu::UnicodeString wide = icu::UnicodeString::fromUTF8(text);
    return inUtf8(change == CaseChange::Lower ? wide.toLower(locale) : wide.toUpper(locale));
}

Result<void> runStringNormalizer(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    if (x.dtype() != DType::String)
        return typeError(c, x.dtype());
    if (x.rank() != 1 && (x.rank() != 2 || x.dim(0) != 1))
        return runError("StringNormalizer wants [C] or [1, C], input 0 is {}", toString(x.shape()));
    const std::string action = c.stringAttribute("case_change_action");
    if (action != "NONE" && action != "LOWER" && action != "UPPER")
        return runError("case_change_action is \"{}\", wants NONE, LOWER or UPPER", action.substr(0, 100));
    const CaseChange change = action == "LOWER" ? CaseChange::Lower : action == "UPPER" ? CaseChange::Upper : CaseChange::None;
    const std::string localeName = c.stringAttribute("locale");
    const icu::Locale locale = icu::Locale::createFromName(localeName.empty() ? "en_US" : localeName.c_str()); // the standard's default
    const bool caseSensitive = c.intAttribute("is_case_sensitive") != 0;
    const auto key = [&](const std::string& word) { return caseSensitive ? word : folded(word); };
    std::unordered_set<std::string> stopwords;
    for (const std::string& word : c.node().stringsAttribute("stopwords"))
        stopwords.insert(key(word));
    std::vector<std::string> kept;
    for (const std::string& word : x.data<std::string>()) {
        if (stopwords.empty() || !stopwords.contains(key(word)))
            kept.push_back(changed(word, change, locale));
    }
    if (kept.empty())
        kept.emplace_back(); // one empty string stands for none
    Shape shape = x.shape();
    shape.back() = static_cast<std::int64_t>(kept.size());
    c.setOutput(0, Tensor::of<std::string>(std::move(shape), kept));
    return {};
}

// ---- TfIdfVectorizer ----

/// The n-grams of the pool as a tree: node 0 is the root, an edge is a token, and a node knows the n-gram that ends there.
class NgramTree {
public:
    void insert(std::span<const std::int64_t> tokens, std::int64_t ngram) {
        std::uint32_t at = 0;
        for (const std::int64_t token : tokens) {
            const auto [it, isNew] = m_edges.try_emplace({at, token}, static_cast<std::uint32_t>(m_ngram.size()));
            if (isNew)
                m_ngram.push_back(-1);
            at = it->second;
        }
        m_ngram[at] = ngram;
    }
    /// The node after one more token; 0 when no n-gram goes on like this.
    std::uint32_t follow(std::uint32_t at, std::int64_t token) const {
        const auto it = m_edges.find({at, token});
        return it == m_edges.end() ? 0 : it->second;
    }
    std::int64_t ngram(std::uint32_t at) const { return m_ngram[at]; } ///< -1: none ends here

private:
    struct Edge {
        std::uint32_t from;
        std::int64_t token;
        friend bool operator==(const Edge&, const Edge&) = default;
    };
    struct Hash {
        std::size_t operator()(const Edge& e) const { return std::hash<std::int64_t>{}(e.token) * 1'000'003 ^ e.from; }
    };
    std::unordered_map<Edge, std::uint32_t, Hash> m_edges;
    std::vector<std::int64_t> m_ngram{-1};
};

struct TfIdf {
    NgramTree tree;
    std::unordered_map<std::string, std::int64_t> tokenOf; ///< strings as numbers
    std::vector<std::int64_t> columns; ///< of each n-gram
    std::vector<float> weights;        ///< of each n-gram; may be empty
    std::int64_t shortest = 1, longest = 1, skips = 0, width = 0;
    bool counts = true, weighs = false; ///< TF counts, IDF weighs presence, TFIDF both
};

/// Which n-grams the pool holds: those of size k start at ngram_counts[k - 1].
Result<void> readPool(const KernelContext& c, std::span<const std::int64_t> pool, TfIdf& m) {
    const auto starts = c.intsAttribute("ngram_counts");
    std::int64_t ngram = 0;
    for (std::size_t k = 0; k < starts.size(); ++k) {
        const std::int64_t begin = starts[k], end = k + 1 < starts.size() ? starts[k + 1] : static_cast<std::int64_t>(pool.size());
        const auto size = static_cast<std::int64_t>(k) + 1;
        if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()) || (end - begin) % size != 0)
            return runError("ngram_counts {}: positions {} to {} of a pool of {} are no {}-grams", toString(starts), begin, end, pool.size(), size);
        for (std::int64_t at = begin; at < end; at += size, ++ngram) {
            if (size >= m.shortest && size <= m.longest)
                m.tree.insert(pool.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size)), ngram);
        }
    }
    if (ngram != static_cast<std::int64_t>(m.columns.size()))
        return runError("ngram_indexes has {} numbers for {} n-grams", m.columns.size(), ngram);
    return {};
}

Result<TfIdf> readTfIdf(const KernelContext& c) {
    TfIdf m;
    const std::string mode = c.stringAttribute("mode");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
        return runError("mode is \"{}\", wants TF, IDF or TFIDF", mode.substr(0, 100));
    m.counts = mode != "IDF";
    m.weighs = mode != "TF";
    m.shortest = c.intAttribute("min_gram_length");
    m.longest = c.intAttribute("max_gram_length");
    m.skips = c.intAttribute("max_skip_count");
    if (m.shortest < 1 || m.longest < m.shortest || m.skips < 0)
        return runError("min_gram_length {}, max_gram_length {}, max_skip_count {} are out of range", m.shortest, m.longest, m.skips);
    m.columns = c.intsAttribute("ngram_indexes");
    for (const std::int64_t column : m.columns) {
        if (column < 0 || column > INT32_MAX)
            return runError("ngram_indexes has {}", column);
        m.width = std::max(m.width, column + 1);
    }
    m.weights = c.floatsAttribute("weights");
    if (m.weighs && !m.weights.empty() && m.weights.size() != m.columns.size())
        return runError("weights has {} numbers for {} n-grams", m.weights.size(), m.columns.size());
    const auto strings = c.node().stringsAttribute("pool_strings");
    auto pool = c.node().intsAttribute("pool_int64s");
    if (!strings.empty() && !pool.empty())
        return runError("one of pool_strings and pool_int64s is wanted, got both");
    for (const std::string& token : strings)
        pool.push_back(m.tokenOf.try_emplace(token, static_cast<std::int64_t>(m.tokenOf.size())).first->second);
    if (!pool.empty() && (c.input(0).dtype() == DType::String) == strings.empty())
        return runError("TfIdfVectorizer looks {} up in {}", name(c.input(0).dtype()), strings.empty() ? "pool_int64s" : "pool_strings");
    NABLA_CHECK(readPool(c, pool, m));
    return m;
}

/// TF counts an n-gram, IDF has its weight once, TFIDF its weight each time.
void addNgram(const TfIdf& m, std::int64_t ngram, std::span<float> out) {
    const auto i = static_cast<std::size_t>(ngram);
    const float weight = m.weighs && !m.weights.empty() ? m.weights[i] : 1.0F;
    float& cell = out[static_cast<std::size_t>(m.columns[i])];
    cell = m.counts ? cell + weight : weight;
}

/// Adds the n-grams of one row. Tokens of an n-gram stand 1 + skip apart; single tokens are counted once, whatever the skips.
void countRow(const TfIdf& m, std::span<const std::int64_t> tokens, std::span<float> out) {
    const auto length = static_cast<std::int64_t>(tokens.size());
    std::int64_t shortest = m.shortest;
    for (std::int64_t distance = 1; distance - 1 <= m.skips; ++distance) {
        if (shortest > length || (shortest > 1 && distance > (length - 1) / (shortest - 1)))
            return;
        for (std::int64_t start = 0; start + distance * (shortest - 1) < length; ++start) {
            std::uint32_t node = 0;
            for (std::int64_t size = 1, at = start; size <= m.longest && at < length; ++size, at += distance) {
                node = m.tree.follow(node, tokens[static_cast<std::size_t>(at)]);
                if (node == 0)
                    break;
                if (const std::int64_t ngram = m.tree.ngram(node); size >= shortest && ngram >= 0)
                    addNgram(m, ngram, out);
            }
        }
        if (shortest == 1 && ++shortest > m.longest)
            return;
    }
}

std::vector<std::int64_t> tokensOf(const TfIdf& m, const Tensor& x) {
    if (x.dtype() != DType::String)
        return x.toInt64s();
    std::vector<std::int64_t> tokens;
    tokens.reserve(static_cast<std::size_t>(x.elementCount()));
    for (const std::string& word : x.data<std::string>()) {
        const auto it = m.tokenOf.find(word);
        tokens.push_back(it == m.tokenOf.end() ? -1 : it->second);
    }
    return tokens;
}

Result<void> runTfIdfVectorizer(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    if (x.dtype() != DType::String && x.dtype() != DType::Int32 && x.dtype() != DType::Int64)
        return typeError(c, x.dtype());
    if (x.rank() > 2)
        return runError("TfIdfVectorizer wants [C] or [B, C], input 0 is {}", toString(x.shape()));
    NABLA_TRY(const TfIdf m, readTfIdf(c));
    const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1, length = x.rank() == 0 ? 1 : x.shape().back();
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, x.rank() == 2 ? Shape{rows, m.width} : Shape{m.width}));
    const auto out = y.mutableData<float>();
    std::fill(out.begin(), out.end(), 0.0F);
    const std::vector<std::int64_t> tokens = tokensOf(m, x);
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto row = out.subspan(static_cast<std::size_t>(r * m.width), static_cast<std::size_t>(m.width));
        countRow(m, std::span(tokens).subspan(static_cast<std::size_t>(r * length), static_cast<std::size_t>(length)), row);
    }
    c.setOutput(0, std::move(y));
    return {};
}

constexpr auto kText = "its operands are text";

constexpr OpDef kOps[] = {
    {.name = "StringNormalizer", .since = 10, .source = "ONNX Operators.md, StringNormalizer-10; Unicode's case mapping", .run = runStringNormalizer,
        .gradient = notDifferentiable(kText), .flops = noFlops},
    {.name = "TfIdfVectorizer", .since = 9, .source = "ONNX Operators.md, TfIdfVectorizer-9", .run = runTfIdfVectorizer,
        .gradient = notDifferentiable("it counts words"), .flops = noFlops},
};

} // namespace

std::span<const OpDef> textFeatureOps() { return kOps; }

} // namespace nabla::engine

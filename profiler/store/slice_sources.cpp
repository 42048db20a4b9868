// Column resolution by name: versions of Nsight Systems add, rename and leave out columns (3.4 to 3.27 seen).
#include "profiler/store/slice_sources.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace nabla::profiler {

namespace {

struct TableName {
    SliceSource source;
    const char* table;
    bool own;
    bool foreign;
};
constexpr TableName kTables[] = {
    {SliceSource::Step, "NABLA_STEP", true, false},
    {SliceSource::OpEvent, "NABLA_OP_EVENT", true, false},
    {SliceSource::Range, "NVTX_EVENTS", false, true},
    {SliceSource::RuntimeCall, "CUPTI_ACTIVITY_KIND_RUNTIME", true, true},
    {SliceSource::Kernel, "CUPTI_ACTIVITY_KIND_KERNEL", true, true},
    {SliceSource::Memcpy, "CUPTI_ACTIVITY_KIND_MEMCPY", true, true},
    {SliceSource::Memset, "CUPTI_ACTIVITY_KIND_MEMSET", true, true},
    {SliceSource::Synchronization, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", true, true},
    {SliceSource::GraphTrace, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", true, true},
};

/// NVTX_EVENTS also comes as NVTX_EVENTS_V2, _V3, ...
bool isNvtxTable(std::string_view name) {
    constexpr std::string_view kBase = "NVTX_EVENTS";
    if (!name.starts_with(kBase))
        return false;
    name.remove_prefix(kBase.size());
    if (name.empty())
        return true;
    if (!name.starts_with("_V"))
        return false;
    name.remove_prefix(2);
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Columns found by name; the brackets keep a missing one from being taken for a string.
struct ColumnSet {
    const std::vector<std::string>& names;

    bool has(std::string_view name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
    std::string orNull(std::string_view name) const { return has(name) ? fmt::format("[{}]", name) : "NULL"; }
    std::string firstOf(std::initializer_list<std::string_view> candidates) const {
        std::string list;
        for (const std::string_view name : candidates) {
            if (has(name))
                list += fmt::format("{}[{}]", list.empty() ? "" : ", ", name);
        }
        if (list.empty())
            return "NULL";
        return list.find(',') == std::string::npos ? list : fmt::format("coalesce({})", list);
    }
};

std::string detailColumn(SliceSource source, const ColumnSet& columns) {
    switch (source) {
    case SliceSource::Memcpy:
        return columns.orNull("copyKind");
    case SliceSource::Synchronization:
        return columns.orNull("syncType");
    case SliceSource::GraphTrace:
        return columns.orNull("graphId");
    case SliceSource::Step:
        return columns.orNull("phase");
    default:
        return "NULL";
    }
}

std::string trackColumn(SliceSource source, const ColumnSet& columns) {
    if (isGpu(source))
        return fmt::format("(coalesce({}, 0) << 32) | (coalesce({}, 0) & 4294967295)", columns.orNull("deviceId"),
            columns.orNull("streamId"));
    if (source == SliceSource::Step)
        return columns.has("runId") ? "[runId]" : "0";
    return columns.has("globalTid") ? "[globalTid]" : "0";
}

std::string processColumn(SliceSource source, const ColumnSet& columns) {
    return source == SliceSource::RuntimeCall && columns.has("globalTid") ? "[globalTid] >> 24"
                                                                          : columns.orNull("globalPid");
}

} // namespace

bool isKnownTable(std::string_view name) {
    constexpr std::array<std::string_view, 14> kOthers = {"StringIds", "META_DATA_EXPORT", "EXPORT_META_DATA",
        "ThreadNames", "TARGET_INFO_SESSION_START_TIME", "NABLA_RUN", "NABLA_HOST", "NABLA_MODEL", "NABLA_GRAPH",
        "NABLA_NODE", "NABLA_VALUE", "NABLA_STATE", "NABLA_VIEW", "NABLA_ALLOC_EVENT"};
    return isNvtxTable(name) || std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end()
        || std::any_of(std::begin(kTables), std::end(kTables), [&](const TableName& t) { return name == t.table; });
}

bool isTableOf(SliceSource source, std::string_view table, bool own) {
    return std::any_of(std::begin(kTables), std::end(kTables), [&](const TableName& t) {
        const bool sameName = source == SliceSource::Range ? isNvtxTable(table) : table == t.table;
        return t.source == source && sameName && (own ? t.own : t.foreign);
    });
}

Result<SourceSql> sourceSql(SliceSource source, const std::string& table, const std::vector<std::string>& names) {
    const ColumnSet columns{names};
    for (const char* needed : {"start", "end"}) {
        if (!columns.has(needed))
            return engine::readError("{} has no column \"{}\"", table, needed);
    }
    const std::string nameId = source == SliceSource::Range ? columns.orNull("textId")
        : source == SliceSource::RuntimeCall                ? columns.orNull("nameId")
                                             : columns.firstOf({"shortName", "demangledName", "mangledName"});
    SourceSql sql;
    sql.track = trackColumn(source, columns);
    // 59 push/pop, 60 start/end, 70 and 71 the same from Linux's own API; the rest are marks and names of things.
    sql.filter = source == SliceSource::Range && columns.has("eventType") ? "[eventType] IN (59, 60, 70, 71)" : "1";
    const std::string id = source == SliceSource::Step ? columns.orNull("id") : columns.orNull("stepId");
    sql.select = fmt::format("SELECT rowid, [start], [end], {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {} FROM [{}]",
        sql.track, nameId, columns.orNull("text"), columns.orNull("nodeId"), id, columns.orNull("kernelId"),
        columns.orNull("flags"), columns.orNull("planStep"), columns.orNull("correlationId"),
        processColumn(source, columns), columns.orNull("bytes"), detailColumn(source, columns), table);
    return sql;
}

} // namespace nabla::profiler

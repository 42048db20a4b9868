// The tables that hold slices, and the SELECT over whatever columns a file's version of them has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiler/store/recording.h"

namespace nabla::profiler {

/// A table we read rows of; a view must not stand in its place.
bool isKnownTable(std::string_view name);
/// `table` is where slices of `source` come from, in our own or a foreign file.
bool isTableOf(SliceSource source, std::string_view table, bool own);

/// Columns of every SELECT, in this order; those a file lacks are NULL.
enum SliceColumn {
    kRowId,
    kStart,
    kEnd,
    kTrackColumn,
    kNameId,
    kNameText,
    kNode,
    kStep,
    kKernelId,
    kFlags,
    kPlanStep,
    kCorrelation,
    kProcess,
    kBytes,
    kDetail,
};
struct SourceSql {
    std::string select; ///< "SELECT rowid, ... FROM table", without WHERE
    std::string track; ///< expression of the track
    std::string filter; ///< "1" or a condition that every query of the source adds
};

/// Errors (Read): a column that is needed is missing, named.
Result<SourceSql> sourceSql(SliceSource source, const std::string& table, const std::vector<std::string>& columns);

} // namespace nabla::profiler

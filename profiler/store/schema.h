// The tables of our own file, version 1.
#pragma once

#include <cstdint>

#include "profiler/store/sqlite.h"

namespace nabla::profiler {

inline constexpr std::int64_t kApplicationId = 0x4E42534C; // "NBSL"
inline constexpr std::int64_t kSchemaVersion = 1;

/// Makes every table in an empty database and stamps it with our id and version.
Result<void> createSchema(Database& database, std::int64_t utcEpochNs);
/// The indexes that queries want. Made when a recording closes: present while inserting they halve its speed.
Result<void> createIndexes(Database& database);

} // namespace nabla::profiler

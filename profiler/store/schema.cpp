// Table definitions. GPU tables have the names and columns of Nsight Systems 2024.5, so that queries written for its
// exports work on our files; tables of our own begin with NABLA_.
#include "profiler/store/schema.h"

namespace nabla::profiler {

namespace {

constexpr const char* kNsightTables = R"sql(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT(name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE(name TEXT NOT NULL, value TEXT);
CREATE TABLE ANALYSIS_DETAILS(globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER, memoryBandwidth INTEGER,
    clockRate INTEGER, smCount INTEGER, l2CacheSize INTEGER, uuid TEXT, chipName TEXT, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_STREAM(streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, contextId INTEGER,
    priority INTEGER, flag INTEGER);
CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames(nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
    greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
    mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER,
    gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER,
    localMemoryPerThread INTEGER, localMemoryTotal INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,
    sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
    greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
    deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER,
    dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
    greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER,
    graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
    contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER,
    eventId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
    contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER,
    graphExecId INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER, contextId INTEGER,
    address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, name INTEGER, correlationId INTEGER);
CREATE TABLE PROFILER_OVERHEAD(start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE DIAGNOSTIC_EVENT(timestamp INTEGER NOT NULL, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT,
    globalPid INTEGER);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER(id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES
    (0,'CUDA_MEMCPY_KIND_UNKNOWN','Unknown'), (1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),
    (2,'CUDA_MEMCPY_KIND_DTOH','Device-to-Host'), (8,'CUDA_MEMCPY_KIND_DTOD','Device-to-Device'),
    (9,'CUDA_MEMCPY_KIND_HTOH','Host-to-Host'), (10,'CUDA_MEMCPY_KIND_PTOP','Peer-to-Peer');
CREATE TABLE ENUM_CUPTI_SYNC_TYPE(id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES (1,'EVENT_SYNCHRONIZE','Event sync'), (2,'STREAM_WAIT_EVENT','Stream wait event'),
    (3,'STREAM_SYNCHRONIZE','Stream sync'), (4,'CONTEXT_SYNCHRONIZE','Context sync');
)sql";

constexpr const char* kOwnTables = R"sql(
CREATE TABLE NABLA_HOST(id INTEGER PRIMARY KEY, hostname TEXT, cpuModel TEXT, cores INTEGER, memBytes INTEGER, os TEXT,
    clockSource TEXT, tscHz INTEGER, tscInvariant INTEGER);
CREATE TABLE NABLA_MODEL(id INTEGER PRIMARY KEY, path TEXT, format TEXT, sha256 TEXT, opset INTEGER, importedUtcNs INTEGER);
CREATE TABLE NABLA_GRAPH(id INTEGER PRIMARY KEY, modelId INTEGER, parentId INTEGER, passNameId INTEGER, kind INTEGER NOT NULL,
    nodes INTEGER, edges INTEGER, fingerprint TEXT);
CREATE TABLE NABLA_NODE(id INTEGER NOT NULL, graphId INTEGER NOT NULL, idx INTEGER, nameId INTEGER, opTypeId INTEGER,
    domainId INTEGER, phase INTEGER, forwardNodeId INTEGER, flops INTEGER, bytesRead INTEGER, bytesWritten INTEGER,
    PRIMARY KEY(graphId, id)) WITHOUT ROWID;
CREATE TABLE NABLA_NODE_ORIGIN(nodeId INTEGER NOT NULL, originNodeId INTEGER NOT NULL, PRIMARY KEY(nodeId, originNodeId)) WITHOUT ROWID;
CREATE TABLE NABLA_VALUE(id INTEGER NOT NULL, graphId INTEGER NOT NULL, nameId INTEGER, producerNodeId INTEGER, dtype INTEGER,
    shape TEXT, bytes INTEGER, role INTEGER, PRIMARY KEY(graphId, id)) WITHOUT ROWID;
CREATE TABLE NABLA_RUN(id INTEGER PRIMARY KEY, graphId INTEGER, hostId INTEGER, device TEXT, mode TEXT, warmup INTEGER,
    start INTEGER NOT NULL, end INTEGER, state INTEGER NOT NULL, threads INTEGER, label TEXT, droppedEvents INTEGER,
    droppedGpuRecords INTEGER);
CREATE TABLE NABLA_STEP(id INTEGER PRIMARY KEY, runId INTEGER NOT NULL, idx INTEGER NOT NULL, phase INTEGER,
    start INTEGER NOT NULL, end INTEGER NOT NULL, loss REAL);
CREATE TABLE NABLA_OP_EVENT(start INTEGER NOT NULL, end INTEGER NOT NULL, stepId INTEGER, nodeId INTEGER, globalTid INTEGER,
    kernelId INTEGER, flags INTEGER, bytes INTEGER, externalId INTEGER, planStep INTEGER);
CREATE TABLE NABLA_OP_CORRELATION(externalId INTEGER, correlationId INTEGER NOT NULL, globalPid INTEGER NOT NULL,
    PRIMARY KEY(correlationId, globalPid)) WITHOUT ROWID;
CREATE TABLE NABLA_ALLOC_EVENT(time INTEGER NOT NULL, stepId INTEGER, valueId INTEGER, nodeId INTEGER, action INTEGER NOT NULL,
    pool INTEGER, offset INTEGER, bytes INTEGER);
CREATE TABLE NABLA_TENSOR_STATS(stepId INTEGER, valueId INTEGER, kind INTEGER, count INTEGER, nan INTEGER, inf INTEGER,
    zero INTEGER, min REAL, max REAL, mean REAL, std REAL, l2 REAL, histogram BLOB);
CREATE TABLE NABLA_COUNTER(time INTEGER NOT NULL, counterId INTEGER NOT NULL, value REAL);
CREATE TABLE NABLA_CLOCK_PAIR(runId INTEGER NOT NULL, ticks INTEGER NOT NULL, ns INTEGER NOT NULL);
CREATE TABLE NABLA_IMPORT(id INTEGER PRIMARY KEY, path TEXT, format TEXT, sha256 TEXT, clock TEXT, clockOffsetNs INTEGER, warnings TEXT);
CREATE TABLE NABLA_MIGRATION(version INTEGER, appVersion TEXT, appliedUtcNs INTEGER);
CREATE TABLE NABLA_STATE(id INTEGER PRIMARY KEY, parentId INTEGER, passId TEXT, graph BLOB);
CREATE TABLE NABLA_VIEW(key TEXT PRIMARY KEY, json TEXT) WITHOUT ROWID;
-- Executions and their plan steps as ranges, for tools that read Nsight Systems' tables. eventType 59 is push/pop.
CREATE VIEW NVTX_EVENTS AS
    SELECT e.start AS start, e.end AS end, 59 AS eventType, NULL AS rangeId, NULL AS category, NULL AS color,
        coalesce((SELECT s.value FROM NABLA_NODE n JOIN StringIds s ON s.id = n.nameId
            WHERE n.graphId = r.graphId AND n.id = e.nodeId), 'node ' || e.nodeId) AS text,
        e.globalTid AS globalTid, NULL AS endGlobalTid, NULL AS textId, 0 AS domainId
    FROM NABLA_OP_EVENT e JOIN NABLA_STEP t ON t.id = e.stepId JOIN NABLA_RUN r ON r.id = t.runId;
)sql";

constexpr const char* kIndexes = R"sql(
CREATE INDEX IF NOT EXISTS nabla_kernel_start ON CUPTI_ACTIVITY_KIND_KERNEL(start);
CREATE INDEX IF NOT EXISTS nabla_kernel_correlation ON CUPTI_ACTIVITY_KIND_KERNEL(correlationId);
CREATE INDEX IF NOT EXISTS nabla_runtime_correlation ON CUPTI_ACTIVITY_KIND_RUNTIME(correlationId);
CREATE INDEX IF NOT EXISTS nabla_step_run ON NABLA_STEP(runId, idx);
CREATE INDEX IF NOT EXISTS nabla_op_step ON NABLA_OP_EVENT(stepId, start);
CREATE INDEX IF NOT EXISTS nabla_op_node ON NABLA_OP_EVENT(nodeId);
CREATE INDEX IF NOT EXISTS nabla_op_start ON NABLA_OP_EVENT(globalTid, start);
CREATE INDEX IF NOT EXISTS nabla_op_external ON NABLA_OP_EVENT(externalId) WHERE externalId IS NOT NULL;
CREATE INDEX IF NOT EXISTS nabla_alloc_step ON NABLA_ALLOC_EVENT(stepId, time);
CREATE INDEX IF NOT EXISTS nabla_stats_step ON NABLA_TENSOR_STATS(stepId);
CREATE INDEX IF NOT EXISTS nabla_node_order ON NABLA_NODE(graphId, idx);
CREATE INDEX IF NOT EXISTS nabla_correlation_external ON NABLA_OP_CORRELATION(externalId);
)sql";

} // namespace

Result<void> createSchema(Database& database, std::int64_t utcEpochNs) {
    NABLA_CHECK(database.execute("BEGIN IMMEDIATE"));
    NABLA_CHECK(database.execute(kNsightTables));
    NABLA_CHECK(database.execute(kOwnTables));
    NABLA_TRY(Statement meta, database.prepare("INSERT INTO META_DATA_EXPORT VALUES(?, ?)"));
    NABLA_CHECK(meta.run("EXPORT_PRODUCT_NAME", "Nablascope"));
    NABLA_CHECK(meta.run("EXPORT_SCHEMA_VERSION", "3.13.2"));
    NABLA_CHECK(meta.run("EXPORT_PLATFORM", "Linux-x86_64"));
    NABLA_TRY(const std::string now, database.text("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"));
    NABLA_CHECK(meta.run("EXPORT_TIME_UTC", now));
    NABLA_TRY(Statement start,
        database.prepare("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(?1, "
                         "strftime('%Y-%m-%d %H:%M:%S', ?1 / 1000000000, 'unixepoch'), "
                         "strftime('%Y-%m-%d %H:%M:%S', ?1 / 1000000000, 'unixepoch', 'localtime'))"));
    NABLA_CHECK(start.run(utcEpochNs));
    NABLA_CHECK(database.execute(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; COMMIT", kApplicationId, kSchemaVersion)
            .c_str()));
    return {};
}

Result<void> createIndexes(Database& database) {
    return database.execute(kIndexes);
}

} // namespace nabla::profiler

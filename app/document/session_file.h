// A document with its history in a `.nabla` file: saving and opening. The bytes of a state: state_blob.h.
#pragma once

#include <span>

#include "app/document/document.h"
#include "app/document/training_log.h"

namespace nabla::app {

/// What the window showed.
struct SessionView {
    std::uint32_t state = 0; ///< the chosen one; 0 = none said
    engine::NodeId node;     ///< the selection
    engine::ValueId value;
};

struct OpenedSession {
    Document document; ///< its chosen state is view.state, the first one where that says nothing
    SessionView view;
    bool hasRuns = false; ///< the file holds recordings too
    std::vector<TrainingPtr> trainings; ///< oldest first
};

/// Replaces the history that the file holds; recordings in it stay. Weights that lie in files in or below its folder are referred to, others
/// are written into it. `trainings`: appended. Errors (Usage): those of StateWriter, a file that is not ours; (Read): disk full. The file is then as it was.
Result<void> saveSession(const Document& document, const SessionView& view, const std::filesystem::path& path, const engine::JobControl& job = {},
    std::span<const TrainingPtr> trainings = {});

/// Nothing when the file is a recording without states. Errors (Read): those of Recording::open and StateReader, with the number of the
/// state; a parent that is not there.
Result<std::optional<OpenedSession>> openSession(const std::filesystem::path& path, const engine::JobControl& job = {});

} // namespace nabla::app

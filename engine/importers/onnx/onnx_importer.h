// The importer of ONNX files (.onnx, .ort is not one of them).
#pragma once

#include "engine/importers/importer.h"

namespace nabla::engine {

extern const ImporterDef kOnnxImporter;

} // namespace nabla::engine

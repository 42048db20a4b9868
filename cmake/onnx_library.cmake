# The ONNX project's C++ library, built beforehand by scripts/build_onnx.sh, as the target `nabla_onnx`.
# Its place is the same for every build folder: <project>/build/onnx.
set(NABLA_ONNX_DIR "${PROJECT_SOURCE_DIR}/build/onnx" CACHE PATH "Where scripts/build_onnx.sh put the ONNX C++ library")
if(NOT EXISTS "${NABLA_ONNX_DIR}/stamp" OR NOT EXISTS "${NABLA_ONNX_DIR}/lib/libonnx.a")
    message(FATAL_ERROR "the ONNX C++ library is not in ${NABLA_ONNX_DIR}; run scripts/setup.sh first, which builds it")
endif()

add_library(nabla_onnx STATIC IMPORTED GLOBAL)
set_target_properties(nabla_onnx PROPERTIES
    IMPORTED_LOCATION "${NABLA_ONNX_DIR}/lib/libonnx.a"
    INTERFACE_INCLUDE_DIRECTORIES "${NABLA_ONNX_DIR}/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${NABLA_ONNX_DIR}/include"
    INTERFACE_COMPILE_DEFINITIONS "ONNX_NAMESPACE=onnx;ONNX_ML=1"
    INTERFACE_LINK_LIBRARIES protobuf::libprotobuf)

# Compiler settings, as the target `nabla_options` that every target of ours links privately.
find_program(NABLA_CCACHE ccache)
if(NABLA_CCACHE)
    # The sloppiness flags are what ccache asks for beside precompiled headers; the base folder makes paths relative, so that
    # a second clone finds the first one's objects.
    set(launcher "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;CCACHE_NOHASHDIR=1;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};${NABLA_CCACHE}")
    set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()
find_program(NABLA_MOLD mold)

add_library(nabla_options INTERFACE)
target_include_directories(nabla_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(nabla_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -fno-math-errno)
if(NABLA_DEBUG_CHECKS)
    target_compile_definitions(nabla_options INTERFACE NABLA_DEBUG_CHECKS)
endif()
if(NABLA_MOLD)
    target_link_options(nabla_options INTERFACE -fuse-ld=mold)
endif()
if(NABLA_SANITIZE)
    target_compile_options(nabla_options INTERFACE -fsanitize=${NABLA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(nabla_options INTERFACE -fsanitize=${NABLA_SANITIZE})
    target_compile_definitions(nabla_options INTERFACE NABLA_SANITIZED)
    # The checks between a variant's members keep GCC 12 from seeing that a temporary was set: it warns where nothing is wrong.
    target_compile_options(nabla_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# nabla_library(NAME SOURCES... [LINK PUBLIC_LIBS...] [PRIVATE_LINK LIBS...]): one folder, one static library.
function(nabla_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE nabla_options ${arg_PRIVATE_LINK})
endfunction()

# nabla_test(NAME SOURCE LINK LIBS...): one Qt Test program, one ctest entry of the same name.
function(nabla_test name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES AUTOMOC ON RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    target_link_libraries(${name} PRIVATE nabla_options Qt6::Test ${arg_LINK})
    target_compile_definitions(${name} PRIVATE NABLA_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
        NABLA_SAMPLE_MODELS="${PROJECT_SOURCE_DIR}/sample_models" NABLA_BINARY_DIR="${CMAKE_BINARY_DIR}/bin")
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "QT_QPA_PLATFORM=offscreen")
endfunction()

#!/usr/bin/env bash
# Configures a preset when needed and builds it: scripts/build.sh PRESET [TARGET…]. Used by the other scripts.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${1:?usage: scripts/build.sh PRESET [TARGET…]}
shift
build=$root/build/$preset

# ninja itself configures again when a CMakeLists.txt changed, but does not see a changed preset or a new ONNX library.
if [[ ! -f $build/build.ninja || $root/CMakePresets.json -nt $build/build.ninja || $root/build/onnx/stamp -nt $build/build.ninja ]]; then
    mkdir -p "$build"
    # From the project's folder: presets are looked for where cmake is started.
    (cd "$root" && cmake --preset "$preset") >"$build/configure.log" 2>&1 ||
        { cat "$build/configure.log" >&2; echo "build: preset $preset does not configure" >&2; exit 1; }
    touch "$build/build.ninja"
fi

quiet=()
if [[ ! -t 1 ]]; then
    quiet=(--quiet)  # a log wants the failures, not a line for each file
fi
cmake --build "$build" --parallel "$(nproc)" ${1:+--target "$@"} -- "${quiet[@]}"

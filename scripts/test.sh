#!/usr/bin/env bash
# From a fresh clone to the test results: installs what is missing, builds the preset dev, writes the ONNX tests, runs ctest.
# Arguments go to ctest, for example: scripts/test.sh -R tst_graph
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

export LC_NUMERIC=C  # the clock below is written with a point

phase() {
    local name=$1 start=$EPOCHREALTIME
    shift
    "$@" || { echo "test: $name failed" >&2; exit 1; }
    awk -v name="$name" -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "test: %s took %.1f s\n", name, b - a }'
}

phase "set-up" "$root/scripts/setup.sh" --with-tests
phase "ONNX tests" "$root/build/venv/bin/python" "$root/scripts/make_onnx_tests.py" "$root/build/onnx-tests"
phase "build" "$root/scripts/build.sh" dev

# ctest's summary is the last thing printed.
cd "$root"
exec ctest --preset dev --parallel "$(nproc)" "$@"

#!/usr/bin/env bash
# Builds and tests under AddressSanitizer and UndefinedBehaviorSanitizer, or with --tsan under ThreadSanitizer.
# Other arguments go to ctest. For people before a risky change: it takes several times as long as scripts/test.sh.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=asan
if [[ ${1:-} == --tsan ]]; then
    preset=tsan
    shift
fi

"$root/scripts/setup.sh" --with-tests --with-sanitizers
"$root/build/venv/bin/python" "$root/scripts/make_onnx_tests.py" "$root/build/onnx-tests"
"$root/scripts/build.sh" "$preset"
cd "$root"
exec ctest --preset "$preset" --parallel "$(nproc)" "$@"

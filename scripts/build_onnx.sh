#!/usr/bin/env bash
# Builds the ONNX C++ library once: build/onnx/lib/libonnx.a and build/onnx/include, for every preset.
# A second run does nothing as long as the recipe and the protobuf version are the same.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/build/onnx
mkdir -p "$out"

# One build at a time: two scripts may be started side by side.
exec 9>"$out/lock"
flock 9

recipe=$(cat "$root/scripts/onnx_package.txt" "$root/cmake/onnx/CMakeLists.txt" <(protoc --version) <(g++ -dumpfullversion) | sha256sum)
if [[ -f $out/lib/libonnx.a && -f $out/stamp && $(<"$out/stamp") == "$recipe" ]]; then
    exit 0
fi

echo "onnx: fetching the package"
# Unpacked files carry the dates of the package: a build folder of another version would take them for unchanged.
rm -rf "${out:?}"/{wheel,package,build,installed}
python3 -m pip download --quiet --disable-pip-version-check --no-deps --python-version 311 \
    --platform manylinux_2_28_x86_64 --only-binary=:all: --require-hashes \
    --requirement "$root/scripts/onnx_package.txt" --dest "$out/wheel"
unzip -q "$out"/wheel/onnx-*.whl -d "$out/package"

echo "onnx: compiling the C++ library (some minutes the first time)"
launcher=()
if command -v ccache >/dev/null; then
    # Paths relative to the project, so that a second clone finds the first one's objects.
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake -S "$root/cmake/onnx" -B "$out/build" -G Ninja -DONNX_WHEEL="$out/package" "${launcher[@]}" >"$out/configure.log" ||
    { cat "$out/configure.log" >&2; exit 1; }
cmake --build "$out/build" -- --quiet
cmake --install "$out/build" --prefix "$out/installed" >/dev/null

# Put in place only when whole: an interrupted build leaves the old library, or none.
rm -rf "${out:?}"/{lib,include}
mv "$out/installed/lib" "$out/installed/include" "$out"
rm -rf "$out/installed"
printf '%s' "$recipe" >"$out/stamp"
echo "onnx: ready in build/onnx"

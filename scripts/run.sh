#!/usr/bin/env bash
# From a fresh clone to the running program: installs what is missing, builds, opens the window on MODEL… or on a sample.
# Without a display it does the same work headless: pictures and a recording in build/out, whose paths it prints.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_only=no
models=()
for argument in "$@"; do
    case $argument in
    --build-only) build_only=yes ;;
    -*)
        echo "usage: scripts/run.sh [--build-only] [MODEL…]" >&2
        exit 2
        ;;
    *) models+=("$argument") ;;
    esac
done

"$root/scripts/setup.sh"
echo "run: building build/release/bin/nablascope (some minutes the first time)"
"$root/scripts/build.sh" release nablascope nablascope-layout
program=$root/build/release/bin/nablascope
if [[ $build_only == yes ]]; then
    echo "run: built $program"
    exit 0
fi

if ((${#models[@]} == 0)); then
    models=("$root/sample_models/digits_cnn/model.onnx")
fi
if [[ -n ${DISPLAY:-} || -n ${WAYLAND_DISPLAY:-} ]]; then
    exec "$program" "${models[@]}"
fi

fail() {
    echo "run: $*" >&2
    exit 1
}

# A verb that must succeed and leave the file it was asked for.
make() {
    local file=$1
    shift
    rm -f "$file"
    "$program" "$@" -o "$file" || fail "nablascope $* failed with exit code $?"
    [[ -s $file ]] || fail "nablascope $* wrote nothing to $file"
    written+=("$file")
}

echo "run: no display (DISPLAY and WAYLAND_DISPLAY are not set): working headless"
out=$root/build/out
mkdir -p "$out"
written=()
for model in "${models[@]}"; do
    name=$(basename "$model")
    name=${name%.*}
    if [[ $name == model ]]; then
        name=$(basename "$(dirname "$(realpath "$model")")")
    fi
    "$program" info "$model" || fail "nablascope info $model failed with exit code $?"
    make "$out/$name.png" render "$model"
    make "$out/$name-all.svg" render "$model" --expand all
    make "$out/$name.nabla" profile "$model" -n 100
    "$program" trace "$out/$name.nabla" || fail "nablascope trace failed with exit code $?"
done
echo "run: wrote"
printf '  %s\n' "${written[@]}"

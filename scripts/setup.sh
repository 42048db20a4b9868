#!/usr/bin/env bash
# Installs what is missing to build Nablascope (Debian 12; Debian 13 and Ubuntu 24.04 as far as possible) and builds the ONNX library.
# With --with-tests also makes build/venv, whose Python writes the test data; with --with-sanitizers also installs Clang, which builds
# the sanitized presets ten times as fast as GCC. Running it again costs a second and changes nothing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

with_tests=no
package_lists=("$root/scripts/packages.txt")
for argument in "$@"; do
    case $argument in
    --with-tests) with_tests=yes ;;
    --with-sanitizers) package_lists+=("$root/scripts/packages_sanitizers.txt") ;;
    *)
        echo "usage: scripts/setup.sh [--with-tests] [--with-sanitizers]" >&2
        exit 2
        ;;
    esac
done

fail() {
    echo "setup: $*" >&2
    exit 1
}

# The packages of which no alternative is installed, a line of the lists each.
missing_packages() {
    local installed line name found
    installed=$'\n'$(dpkg-query --show --showformat '${db:Status-Abbrev}${binary:Package}\n' | sed -n 's/^ii *\([^:]*\).*/\1/p')$'\n'
    while read -r line; do
        [[ -z $line || $line == \#* ]] && continue
        found=no
        for name in ${line//|/ }; do
            [[ $installed == *$'\n'"$name"$'\n'* ]] && found=yes
        done
        [[ $found == yes ]] || echo "$line"
    done < <(cat "${package_lists[@]}")
}

as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "installing packages needs root; run as root: apt-get install -y ${wanted[*]}"
    fi
}

install_packages() {
    local line name
    wanted=("$@")
    echo "setup: missing packages: ${wanted[*]}"
    as_root apt-get update -qq
    wanted=()
    for line in "$@"; do
        for name in ${line//|/ }; do
            if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
                wanted+=("$name")
                continue 2
            fi
        done
        fail "this system offers no package ${line//|/ or }"
    done
    echo "setup: apt-get install ${wanted[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >"$root/build/apt.log" 2>&1 ||
        { tail -n 20 "$root/build/apt.log" >&2; fail "apt-get failed; the whole output is in build/apt.log"; }
}

make_venv() {
    local venv=$root/build/venv recipe
    recipe=$(sha256sum <"$root/scripts/requirements.txt")
    if [[ -f $venv/stamp && $(<"$venv/stamp") == "$recipe" ]] && "$venv/bin/python" -c '' 2>/dev/null; then
        return
    fi
    echo "setup: making build/venv with the Python packages of scripts/requirements.txt"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
        --requirement "$root/scripts/requirements.txt"
    printf '%s' "$recipe" >"$venv/stamp"
}

command -v apt-get >/dev/null || fail "this system has no apt-get; install by hand what scripts/packages.txt names"
mkdir -p "$root/build"
mapfile -t missing < <(missing_packages)
if ((${#missing[@]})); then
    install_packages "${missing[@]}"
fi
"$root/scripts/build_onnx.sh"
if [[ $with_tests == yes ]]; then
    make_venv
fi

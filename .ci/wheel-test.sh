#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Checks a built wheel: tag, size, exported symbols, and a run of the README's pipeline in a fresh environment
# with every CPython since 3.11 that is installed. A wheel for another architecture runs in QEMU (tools/setup.sh aarch64),
# and operators must give the same bytes as the package in .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1")
arch=$(sed 's/.*manylinux_2_28_\(.*\)\.whl/\1/' <<<"$wheel")
folder=build/wheel-test
rm -rf "$folder"
mkdir -p "$folder"

fail() {
    echo "wheel: $*"
    exit 1
}

case $wheel in
*-cp311-abi3-manylinux_2_28_x86_64.whl | *-cp311-abi3-manylinux_2_28_aarch64.whl) ;;
*) fail "tag is not cp311-abi3-manylinux_2_28: $wheel" ;;
esac
size=$(stat -c %s "$wheel")
[ "$size" -le $((15 * 1000 * 1000)) ] || fail "$size bytes are more than 15 MB"

.venv/bin/python -m zipfile -e "$wheel" "$folder/files"
core=$(echo "$folder"/files/headrace/_core*.so)
exported=$("$arch-linux-gnu-nm" -D --defined-only "$core" | awk '$2 ~ /[A-TV-Z]/ { print $3 }' | sort | tr '\n' ' ')
[ "$exported" = "PyInit__core " ] || fail "exports more than PyInit__core: $exported"
echo "wheel: ${wheel##*/}: $size bytes, exports $exported"
sha256sum "$wheel"

# Nothing newer than glibc 2.28, no other libraries, no paths of the machine that built it.
for file in "$folder"/files/headrace/*.so; do
    newest=$("$arch-linux-gnu-objdump" -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    [ "$(printf 'GLIBC_2.28\n%s\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ] || fail "$file needs $newest"
    # The linker cannot give a version to what glibc 2.28 lacks, so objdump and auditwheel see nothing of it.
    missing=$("$arch-linux-gnu-nm" -D --undefined-only "$file" | awk '$1 == "U" && $2 !~ /@|^_?Py/ { printf " %s", $2 }')
    [ -z "$missing" ] || fail "$file needs functions that glibc 2.28 does not have:$missing"
    others=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(lib(c|m|dl|pthread|rt)|ld-linux-[a-z0-9_-]+)\.so\.[0-9]$' || true)
    [ -z "$others" ] || fail "$file needs $others"
    ! grep -q "$PWD" "$file" || fail "$file contains the path of this tree"
    # The build ID is a hash of what the linker wrote, before anything was stripped.
    linked=build/wheel-$arch/python/headrace/${file##*/}
    [ -f "$linked" ] && ! grep -q "$PWD" "$linked" || fail "$linked is missing, or contains the path of this tree"
    echo "wheel: ${file##*/}: $newest"
done
platform=$(.venv/bin/python -m auditwheel show "$wheel" | grep -o 'manylinux_2_[0-9]*' | head -n 1)
[ -n "$platform" ] && [ "${platform##*_}" -le 28 ] || fail "auditwheel says $platform"

# The bill of materials names every library inside.
.venv/bin/python - "$folder"/files/headrace-*.dist-info/sboms/headrace.cdx.json <<'END' || fail "bill of materials"
import json, sys
bom = json.load(open(sys.argv[1]))
found = {c["name"]: c["version"] for c in bom["components"]}
images = {"zlib", "libdeflate", "libpng1.6", "libjpeg-turbo", "libwebp", "openjpeg2"}
assert images | {"libogg", "flac", "libvorbis", "opus"} <= set(found), found
assert all(found.values()) and bom["metadata"]["component"]["name"] == "headrace", bom
print("wheel: bill of materials:", ", ".join(f"{name} {version}" for name, version in found.items()))
END

fits() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}
# check_slim BIN: without the extra `cli` only NumPy is installed beside headrace, and commands say what they lack.
check_slim() {
    local packages message
    packages=$("$1/python" -m pip list --format=freeze | sed 's/==.*//' | grep -vE '^(pip|setuptools)$' | sort | tr '\n' ' ')
    [ "$packages" = "headrace numpy " ] || fail "pip install brings $packages"
    "$1/headrace" ops flip --json >/dev/null || fail "headrace ops --json needs the extra cli"
    message=$("$1/headrace" ops flip 2>&1) && fail "headrace ops works without rich?"
    case $message in *"pip install headrace[cli]"*) ;; *) fail "without rich: $message" ;; esac
}
.venv/bin/python .ci/wheel_use.py make "$folder/images"

if [ "$arch" != "$(uname -m)" ]; then
    (cd "$folder" && ../../.cache/aarch64/python ../../.ci/wheel_use.py load images)
    # Without videos, whose codecs are in no wheel, and sound files: .venv has the lossy codecs of the system.
    digests() {
        "$1" tests/ops/digests.py 20 | grep -vE ' (experimental\.)?decoders\.(audio|video)'
    }
    digests .venv/bin/python >"$folder/native" &
    digests .cache/aarch64/python >"$folder/emulated"
    wait $!
    diff "$folder/native" "$folder/emulated" >"$folder/differences" || {
        head -n 20 "$folder/differences"
        fail "results differ from those of $(uname -m)"
    }
    echo "wheel: $(wc -l <"$folder/native") cases give the bytes of $(uname -m)"
    exit 0
fi
tried=
for python in .venv/bin/python python3.12 python3.13 \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-9]*/bin/python3; do
    fits "$python" || continue
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    case " $tried " in *" $version "*) continue ;; esac
    tried="$tried $version"
    "$python" -m venv "$folder/venv$version"
    started=$SECONDS
    "$folder/venv$version/bin/python" -m pip install -q --disable-pip-version-check "$wheel"
    echo "wheel: pip install: $((SECONDS - started)) s"
    check_slim "$folder/venv$version/bin"
    (cd "$folder" && "venv$version/bin/python" ../../.ci/wheel_use.py use images)
    "$folder/venv$version/bin/python" -m pip install -q --disable-pip-version-check "$wheel[cli]"
    "$folder/venv$version/bin/headrace" ops flip >/dev/null || fail "headrace ops fails under $version"
    cmake_dir=$("$folder/venv$version/bin/python" -c 'from headrace import sysconfig; print(sysconfig.get_cmake_dir())')
    cmake -S examples/plugin -B "$folder/plugin$version" -DCMAKE_PREFIX_PATH="$cmake_dir" >/dev/null
    cmake --build "$folder/plugin$version" >/dev/null
    (cd "$folder" && "venv$version/bin/python" -c "from headrace import fn, plugin_manager
plugin_manager.load_library('plugin$version/libheadrace_example.so')
fn.example.above, fn.example.scale") || fail "the example plug-in cannot be loaded under $version"
    echo "wheel: works under CPython $version"
done

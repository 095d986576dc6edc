#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Builds the wheel of an architecture in dist/. It needs glibc 2.28 or newer, and two builds of a commit give the same
# bytes. Usage: tools/wheel/build.sh ARCH; for another architecture than this machine's, the type stubs come from the
# build that tools/setup.sh install makes
set -eu
cd "$(dirname "$0")/../.."
arch=$1
top=$PWD/.cache/wheel/$arch
tools/wheel/toolchain.sh "$arch"
tools/wheel/libraries.sh "$arch"
set --
if [ "$arch" != "$(uname -m)" ]; then
    set -- --config-settings=cmake.define.HR_STUBS="$PWD/build/dev/python/stubs" \
        --config-settings=cmake.define.HR_CUDA=OFF
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
export PKG_CONFIG_LIBDIR="$top/libraries/lib/pkgconfig" # the libraries above, not those of the system
export _PYTHON_HOST_PLATFORM="manylinux_2_28_$arch"     # the tag of the wheel
rm -rf "build/wheel-$arch"
mkdir -p dist
rm -f dist/headrace-*_"$arch".whl
.venv/bin/python -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
    --config-settings=wheel.reproducible=true --config-settings=build-dir="build/wheel-$arch" \
    --config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE="$top/toolchain/toolchain.cmake" \
    --config-settings=cmake.define.HR_BUNDLED="$PWD/.cache/wheel/sources" "$@" -w dist . </dev/null
ls -l dist/*_"$arch".whl

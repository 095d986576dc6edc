#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Builds the image and audio libraries of the wheel as static libraries in .cache/wheel/ARCH/libraries, from the source packages
# that sources.txt lists. Usage: tools/wheel/libraries.sh ARCH, after toolchain.sh ARCH
set -eu
cd "$(dirname "$0")/../.."
arch=$1
top=$PWD/.cache/wheel
sources=$top/sources
build=$top/$arch/build
out=$top/$arch/libraries
toolchain=$top/$arch/toolchain
jobs=$(nproc)

tools/wheel/sources.sh "$sources" zlib libdeflate libpng1.6 libjpeg-turbo libwebp openjpeg2 libogg flac libvorbis opus

state="$(sha256sum <tools/wheel/libraries.sh) $(cat "$toolchain/state" "$sources"/*/version "$sources"/*/dsc)"
[ "$state" = "$(cat "$out/state" 2>/dev/null)" ] && exit 0
rm -rf "$build" "$out"
mkdir -p "$build" "$out"

# with_cmake LIBRARY OPTION...: -ffp-contract=off, because gcc would use FMA on aarch64, which changes results.
with_cmake() {
    library=$1
    shift
    cmake -G Ninja -S "$sources/$library/tree" -B "$build/$library" -DCMAKE_TOOLCHAIN_FILE="$toolchain/toolchain.cmake" \
        -DCMAKE_INSTALL_PREFIX="$out" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_C_FLAGS=-ffp-contract=off "$@"
    cmake --build "$build/$library" --parallel "$jobs"
    cmake --install "$build/$library"
}
{
    cp -r "$sources/zlib/tree" "$build/zlib"
    (cd "$build/zlib" && CHOST=$arch-linux-gnu CC="$toolchain/cc" CFLAGS="-O3 -fPIC" ./configure --static \
        --prefix="$out" && make -j"$jobs" install)
    cp -r "$sources/libdeflate/tree" "$build/libdeflate"
    (cd "$build/libdeflate" && make -s -j"$jobs" CC="$toolchain/cc" AR="$arch-linux-gnu-ar" CFLAGS="-O3 -fPIC" \
        PREFIX="$out" DISABLE_SHARED=yes install)
    with_cmake libpng1.6 -DPNG_SHARED=OFF -DPNG_TESTS=OFF
    with_cmake libjpeg-turbo -DCMAKE_INSTALL_LIBDIR="$out/lib" -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DREQUIRE_SIMD=ON
    with_cmake libwebp -DWEBP_BUILD_ANIM_UTILS=OFF -DWEBP_BUILD_CWEBP=OFF -DWEBP_BUILD_DWEBP=OFF \
        -DWEBP_BUILD_GIF2WEBP=OFF -DWEBP_BUILD_IMG2WEBP=OFF -DWEBP_BUILD_VWEBP=OFF -DWEBP_BUILD_WEBPINFO=OFF \
        -DWEBP_BUILD_WEBPMUX=OFF -DWEBP_BUILD_EXTRAS=OFF
    with_cmake openjpeg2 -DBUILD_CODEC=OFF
    with_cmake libogg -DBUILD_TESTING=OFF -DINSTALL_DOCS=OFF
    with_cmake flac -DBUILD_CXXLIBS=OFF -DBUILD_PROGRAMS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_TESTING=OFF -DBUILD_DOCS=OFF \
        -DINSTALL_MANPAGES=OFF -DWITH_STACK_PROTECTOR=OFF -DCMAKE_PREFIX_PATH="$out"
    with_cmake libvorbis -DCMAKE_PREFIX_PATH="$out"
    # The sources lack a file that CMake needs. The intrinsics and assembly of different CPUs round differently.
    cp -a "$sources/opus/tree" "$build/opus" # keeps times: make must not run automake
    (cd "$build/opus" && ./configure --quiet --host="$arch-linux-gnu" CC="$toolchain/cc" \
        CFLAGS="-O3 -fPIC -ffp-contract=off" --prefix="$out" --disable-shared --disable-doc --disable-extra-programs \
        --disable-intrinsics --disable-rtcd --disable-asm && make -s -j"$jobs" install)
} >"$build/log" 2>&1 || {
    tail -n 30 "$build/log" >&2
    exit 1
}
printf '%s\n' "$state" >"$out/state"
rm -rf "$build"

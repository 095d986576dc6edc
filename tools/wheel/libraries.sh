#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Builds the image and audio libraries of the wheel as static libraries in .cache/wheel/ARCH/libraries, from the source packages
# of the Debian (or Ubuntu) that this machine runs. Usage: tools/wheel/libraries.sh ARCH, after toolchain.sh ARCH
set -eu
cd "$(dirname "$0")/../.."
arch=$1
top=$PWD/.cache/wheel
sources=$top/sources
build=$top/$arch/build
out=$top/$arch/libraries
toolchain=$top/$arch/toolchain
libraries="zlib libpng1.6 libjpeg-turbo libwebp openjpeg2 libogg flac libvorbis opus"
jobs=$(nproc)

# ---- sources: from where this machine gets its packages; with lists of its own, so that root is not needed -----------

die() {
    echo "libraries: $*" >&2
    exit 1
}

if [ ! -f "$sources/distribution" ]; then # written last
    rm -rf "$sources"
    mkdir -p "$sources/apt/lists/partial" "$sources/apt/archives/partial" "$sources/apt/parts"
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$list" ] || sed 's/^deb[[:space:]]/deb-src /; s/^Types:.*/Types: deb-src/' "$list" \
            >"$sources/apt/parts/${list##*/}"
    done
    cat >"$sources/apt/apt.conf" <<END
Dir::State "$sources/apt";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$sources/apt";
Dir::Etc::sourcelist "-";
Dir::Etc::sourceparts "$sources/apt/parts";
APT::Sandbox::User "$(id -un)";
Acquire::Retries "3";
END
    export APT_CONFIG="$sources/apt/apt.conf"
    # Not every entry has sources; what matters is whether those of the libraries are found.
    apt-get update -qq >"$sources/apt/log" 2>&1 || true
    for library in $libraries; do
        # The newest version comes first. A mirror that is being updated can lack the files of one that it lists.
        for version in $(apt-cache showsrc --only-source "$library" | sed -n 's/^Version: //p' | sort -rVu); do
            mkdir -p "$sources/$library"
            (cd "$sources/$library" && apt-get source -qq --only-source "$library=$version" >>../apt/log 2>&1) && break
            echo "libraries: $library $version cannot be downloaded" >&2
            rm -rf "${sources:?}/$library"
        done
        [ -d "$sources/$library" ] || {
            tail -n 20 "$sources/apt/log" >&2
            die "the source package $library could not be downloaded from the places in /etc/apt"
        }
        mv "$sources/$library"/*/ "$sources/$library/tree"
        printf '%s\n' "$version" >"$sources/$library/version"
    done
    (. /etc/os-release && echo "$ID${VERSION_ID:+-$VERSION_ID}") >"$sources/distribution" # such as debian-12
fi

# ---- builds ----------------------------------------------------------------------------------------------------------

state="$(sha256sum <tools/wheel/libraries.sh) $(cat "$toolchain/state" "$sources"/*/version)"
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

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Builds the wheel of the package headrace-video in dist/: libheadrace_video.so with libavformat, libavcodec,
# libswresample (for Opus) and libavutil, whose licence is the LGPL 2.1 and which have nothing but the demuxers and
# decoders that are used, and dav1d inside libavcodec. They come from the source packages that sources.txt lists.
# `make video-wheel` calls it, after it has installed what is needed: meson, ninja and nasm.
# Usage: tools/wheel/video.sh ARCH
set -eu
cd "$(dirname "$0")/../.."
arch=$1
top=$PWD/.cache/wheel
sources=$top/sources
toolchain=$top/$arch/toolchain
build=$top/$arch/build-video
out=$top/$arch/video
jobs=$(nproc)
suffix=_headrace # of the libraries' names, so that they are never those of another package
decoders=h264,hevc,vp8,vp9,mpeg4,mjpeg,libdav1d
sounds=aac,aac_latm,opus,vorbis,flac,alac,mp3float,mp2,ac3,eac3 # the codecs in sound.c
for pcm in u8 s8 s16le s16be s24le s24be s32le s32be f32le f32be mulaw alaw; do
    sounds=$sounds,pcm_$pcm
done
demuxers=mov,matroska,aac,flv,avi,mpegps,mpegts # those in codecs/audio/container.c
parsers=aac,aac_latm,ac3,flac,mpegaudio,opus,vorbis

# configure leaves out what lacks something else, without a word.
has_all() { # has_all KIND NAME,...
    for name in $(echo "$2" | tr , ' '); do
        grep -qix "#define CONFIG_${name}_$1 1" config_components.h || {
            echo "FFmpeg's configure has left out $name ($1)"
            return 1
        }
    done
}

tools/wheel/toolchain.sh "$arch"
tools/wheel/sources.sh "$sources/video" ffmpeg dav1d

state="$(cat tools/wheel/video.sh "$toolchain/state" "$sources"/video/*/version "$sources"/video/*/dsc | sha256sum)"
if [ "$state" != "$(cat "$out/state" 2>/dev/null)" ]; then
    rm -rf "$build" "$out"
    mkdir -p "$build" "$out"
    # The library's files say who compiled them, not where.
    cpu=${arch%%-*}
    cat >"$build/meson.txt" <<END
[binaries]
c = '$toolchain/cc'
ar = '$arch-linux-gnu-ar'
strip = '$arch-linux-gnu-strip'
nasm = 'nasm'
[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
END
    {
        .venv/bin/meson setup "$build/dav1d" "$sources/video/dav1d/tree" --cross-file "$build/meson.txt" \
            --prefix "$out" --libdir lib --buildtype release --default-library static -Denable_tools=false \
            -Denable_tests=false
        ninja -C "$build/dav1d" install
        mkdir "$build/ffmpeg"
        (cd "$build/ffmpeg" && PKG_CONFIG_LIBDIR="$out/lib/pkgconfig" "$sources/video/ffmpeg/tree/configure" \
            --prefix="$out" --arch="$arch" --target-os=linux --enable-cross-compile --cc="$toolchain/cc" \
            --ar="$arch-linux-gnu-ar" --nm="$arch-linux-gnu-nm" --strip="$arch-linux-gnu-strip" \
            --ranlib="$arch-linux-gnu-ranlib" --pkg-config=pkg-config --pkg-config-flags=--static \
            --build-suffix="$suffix" --enable-shared --disable-static --enable-pic --disable-autodetect \
            --disable-programs --disable-doc --disable-network --disable-avdevice \
            --disable-avfilter --disable-swscale --disable-postproc --disable-debug \
            --disable-everything --enable-libdav1d --enable-decoder="$decoders,$sounds" \
            --enable-demuxer="$demuxers" --enable-parser="$parsers" &&
            sed -i 's/^#define HAVE_SYSCTL 1/#define HAVE_SYSCTL 0/' config.h && # glibc has it, but no header
            has_all DECODER "$decoders,$sounds" && has_all DEMUXER "$demuxers" && has_all PARSER "$parsers" &&
            make -j"$jobs" && make install)
    } >"$build/log" 2>&1 || {
        tail -n 30 "$build/log" >&2
        exit 1
    }
    printf '%s\n' "$state" >"$out/state"
fi

# ---- the module and the wheel ----------------------------------------------------------------------------------------

stage=$build/stage
rm -rf "$stage"
mkdir -p "$stage/headrace_video" dist
for library in avformat avcodec swresample avutil; do
    file=$(basename "$(readlink -f "$out/lib/lib$library$suffix.so")")
    name=$(readelf -d "$out/lib/$file" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    cp "$out/lib/$file" "$stage/headrace_video/$name"
    "$arch-linux-gnu-strip" "$stage/headrace_video/$name"
done
"$toolchain/cc" -std=c11 -O2 -fPIC -shared -fvisibility=hidden -Wl,--no-undefined -Wl,-rpath,'$ORIGIN' -Wl,-s \
    -I"$out/include" -Iinclude -Isrc -o "$stage/headrace_video/libheadrace_video.so" src/modules/video/*.c \
    src/modules/audio/frames.c -L"$out/lib" -lavformat$suffix -lavcodec$suffix -lavutil$suffix \
    -Wl,--no-as-needed -lswresample$suffix # libavcodec needs it, and finds it only if it is there already
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
rm -f dist/headrace_video-*_"$arch".whl
.venv/bin/python tools/wheel/video.py "$arch" "$sources/video" "$stage" dist
ls -l dist/headrace_video-*_"$arch".whl

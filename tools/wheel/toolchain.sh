#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Makes .cache/wheel/ARCH/toolchain: gcc with the headers and the link-time libraries of glibc 2.28, which manylinux_2_28
# stands for. They come from the package ziglang; the code is gcc's. Usage: tools/wheel/toolchain.sh ARCH
set -eu
cd "$(dirname "$0")/../.."
arch=$1
glibc=2.28
root=$PWD/.cache/wheel/$arch/toolchain
gcc=$arch-linux-gnu-gcc
version=$(.venv/bin/python -c 'import importlib.metadata as m; print(m.version("ziglang"))')
state="$version $($gcc -dumpfullversion) $(sha256sum <tools/wheel/toolchain.sh)"
[ "$state" = "$(cat "$root/state" 2>/dev/null)" ] && exit 0

rm -rf "$root"
mkdir -p "$root/lib" "$root/include" "$root/zig"
# zig makes the libraries, which only name symbols and their versions, when it links a program.
echo 'int main(void) { return 0; }' >"$root/zig/main.c"
ZIG_GLOBAL_CACHE_DIR=$root/zig ZIG_LOCAL_CACHE_DIR=$root/zig .venv/bin/python -m ziglang cc \
    -target "$arch-linux-gnu.$glibc" "$root/zig/main.c" -o "$root/zig/main"
for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 libld.so.2 libc_nonshared.a \
    crti.o crtn.o Scrt1.o; do
    # zig makes two of crti.o and of crtn.o, which differ in the order of their sections
    find "$root/zig" -name "$name" -exec cp {} "$root/lib/$name" \;
    [ -s "$root/lib/$name" ] || {
        echo "toolchain: ziglang $version has made no $name" >&2
        exit 1
    }
done
for library in m pthread dl rt util; do
    (cd "$root/lib" && ln -s lib$library.so.* lib$library.so)
done
cp "$root/lib/Scrt1.o" "$root/lib/crt1.o"
echo 'GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( libld.so.2 ) )' >"$root/lib/libc.so"
zig=$(.venv/bin/python -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/lib/libc/include
for folder in any-linux-any generic-glibc "$arch-linux-any" "$arch-linux-gnu"; do
    [ ! -d "$zig/$folder" ] || cp -r "$zig/$folder/." "$root/include"
done
# Debian's Python.h includes <x86_64-linux-gnu/python3.11/pyconfig.h>. What it says holds for both architectures.
mkdir -p "$root/include/$arch-linux-gnu"
for folder in /usr/include/x86_64-linux-gnu/python3.*; do
    [ ! -d "$folder" ] || ln -s "$folder" "$root/include/$arch-linux-gnu/"
done
rm -rf "$root/zig"

# The compiler. File names in messages and debug information do not depend on where the tree is.
cat >"$root/cc" <<END
#!/bin/sh
exec $gcc -nostdinc -isystem $($gcc -print-file-name=include) -isystem $root/include \\
    -D__GLIBC_MINOR__=${glibc#2.} -ffile-prefix-map=$PWD=. -B$root/lib -L$root/lib "\$@"
END
chmod +x "$root/cc"
cat >"$root/toolchain.cmake" <<END
$([ "$arch" = "$(uname -m)" ] || printf 'set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR %s)' "$arch")
set(CMAKE_C_COMPILER $root/cc)
set(CMAKE_AR $arch-linux-gnu-ar)
set(CMAKE_RANLIB $arch-linux-gnu-ranlib)
set(CMAKE_STRIP $arch-linux-gnu-strip)
# -B and -L: for the CUDA module, which g++ links. -s: the linker's build ID is a hash of all that it writes, and debug
# information contains paths.
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-B$root/lib -L$root/lib -Wl,-s")
set(CMAKE_FIND_ROOT_PATH $(dirname "$root")/libraries)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
END
printf '%s\n' "$state" >"$root/state"

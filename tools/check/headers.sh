#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Checks that every header compiles on its own: public headers as C11 and C++17, internal headers as C11.
set -eu
cd "$(dirname "$0")/../.."
warnings="-Wall -Wextra -Wpedantic -Wshadow -Werror"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

compile() { # compile HEADER SUFFIX COMPILER FLAGS...
    header=$1 suffix=$2
    shift 2
    printf '#include "%s"\nint hr_headers_unused;\n' "$header" >"$work/alone.$suffix"
    # shellcheck disable=SC2086
    "$@" $warnings -fsyntax-only "$work/alone.$suffix" || {
        echo "headers: $header does not compile alone ($*)" >&2
        exit 1
    }
    count=$((count + 1))
}

for path in include/headrace/*.h; do
    header=${path#include/}
    for cc in gcc clang; do
        if command -v $cc >/dev/null; then
            compile "$header" c $cc -std=c11 -Wstrict-prototypes -Iinclude
        fi
    done
    for cxx in g++ clang++; do
        if command -v $cxx >/dev/null; then
            compile "$header" cc $cxx -std=c++17 -Iinclude
        fi
    done
done
[ "$count" -gt 0 ] || {
    echo "headers: no compiler found" >&2
    exit 1
}
public=$count
for path in $(git ls-files 'src/*.h'); do
    case $path in
    src/cuda/* | src/modules/*) continue ;; # these need the headers of other libraries
    esac
    compile "${path#src/}" c "${CC:-cc}" -std=c11 -D_GNU_SOURCE -DHR_IN_TREE -DHR_LEVEL=base -DHR_LEVEL_base=1 \
        -Wno-unused-function -Iinclude -Isrc
done
echo "headers: $public compilations of public headers, $((count - public)) of internal headers"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Checks that every tracked source file begins with the two-line licence header, after an optional #! line.
set -eu
cd "$(dirname "$0")/../.."
git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.py' '*.pyi' '*.sh' '*.cmake' '*CMakeLists.txt' '*.toml' \
    '*.yml' '*.yaml' Makefile .ci/run .ci/paths | {
    count=0 bad=0
    while IFS= read -r file; do
        [ -s "$file" ] || continue # empty files need no licence
        count=$((count + 1))
        head=$(head -n 3 "$file")
        case $head in
        *"SPDX-License-Identifier: Apache-2.0
"*"Copyright The Headrace authors"*) ;;
        *)
            echo "spdx: $file lacks the header" >&2
            bad=$((bad + 1))
            ;;
        esac
    done
    echo "spdx: $count files, $bad without the header"
    [ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
}

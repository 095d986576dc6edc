#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Checks that clang-format 14 would not change any C file. `format.sh --fix` formats the files.
set -eu
cd "$(dirname "$0")/../.."
format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "format: clang-format 14 is missing" >&2
    exit 1
}
case $("$format" --version) in
*"version 14."*) ;;
*)
    echo "format: clang-format 14 is required, found $("$format" --version)" >&2
    exit 1
    ;;
esac
if [ "${1:-}" = --fix ]; then
    git ls-files -z '*.c' '*.h' | xargs -0 "$format" -i
    exit
fi
git ls-files '*.c' '*.h' | {
    count=0 bad=0
    while IFS= read -r file; do
        count=$((count + 1))
        if ! "$format" --dry-run -Werror "$file" 2>/dev/null; then
            echo "format: $file needs clang-format (tools/check/format.sh --fix)" >&2
            bad=$((bad + 1))
        fi
    done
    echo "format: $count files, $bad not formatted"
    [ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
}

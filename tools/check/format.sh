#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Every C file is laid out by clang-format 14. `format.sh --fix` does it instead of asking for it.
set -eu
cd "$(dirname "$0")/../.."
format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "format: clang-format 14 is missing" >&2
    exit 1
}
case $("$format" --version) in
*"version 14."*) ;;
*)
    echo "format: version 14 is needed, this is $("$format" --version)" >&2
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
    echo "format: $count files, $bad to be laid out"
    [ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Runs all static checks. Each prints one line. The exit status is 1 if any of them failed.
cd "$(dirname "$0")" || exit 1
failed=0
for check in ./format.sh ./spdx.sh ./headers.sh ./includes.py ./registered.py ./structs.py ./imports.py ./style.py ./luck.py \
    ./markdown.py; do
    "$check" || {
        echo "failed: tools/check/${check#./}" >&2
        failed=1
    }
done
exit $failed

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks that every table of an operator, a codec, a demuxer, a format of volumes, a storage or a CUDA operator that is defined
anywhere in src is registered. The registries are made as in a build, by tools/registry.cmake; here
any definition counts, wherever and however it is written."""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
TABLE = re.compile(r"\bhr_(?:op_def|codec|demuxer|storage|volume_format)\s+(hr_(?:op|codec|demuxer|storage|volume_format)_\w+)\s*=")
CUDA = re.compile(r'^(?!#).*\bHR_CUDA_OP\s*\(\s*\w+\s*,\s*("[^"]+")', re.M)


def sources(*patterns: str) -> str:
    """The files that CMakeLists.txt gives to tools/registry.cmake."""
    return ";".join(sorted(str(path) for pattern in patterns for path in SRC.glob(pattern)))


def registry() -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "registry.c")
        subprocess.run(
            [
                "cmake",
                "-DOPS=" + sources("ops/**/*.c", "readers/**/*.c"),
                "-DCODECS=" + sources("codecs/**/*.c"),
                "-DSTORAGES=" + sources("io/*.c", "remote/*.c"),
                "-DCUDA_OPS=" + sources("cuda/ops/*.cu"),
                f"-DOUT={out}",
                "-P",
                str(ROOT / "tools/registry.cmake"),
            ],
            check=True,
        )
        return out.read_text()


def main() -> int:
    tables, missing = registry(), []
    count = 0
    for path in sorted(p for p in SRC.rglob("*") if p.suffix in (".c", ".h", ".cu", ".cuh")):
        text = re.sub(r"(?m)//.*$|/\*(?s:.*?)\*/", "", path.read_text())
        names = [(name, f"&{name},") for name in TABLE.findall(text)]
        names += [(name, f"    {name},") for name in CUDA.findall(text)]
        count += len(names)
        missing += [f"{path.relative_to(ROOT)}: {n}" for n, line in names if line not in tables]
    for line in missing:
        print(f"{line} is not registered: see tools/registry.cmake", file=sys.stderr)
    if count == 0:
        print("no tables were found", file=sys.stderr)
    if not missing and count:
        print(f"registered: {count} tables")
    return 1 if missing or not count else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks the direction of dependencies.

A file in src/ includes only its own folder and those before it in ORDER. Within a folder of PARTS it includes only
headers that are not after it, and calls only functions of files that are not after it. No header includes itself
through others.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORDER = "core kernels graph image plan io remote codecs device ops readers exec".split()
# The modules are loaded at run time by the folders before them. They must not include the executor.
LAST = ("modules", "cuda")
# Pairs (folder, target) that the order would allow, but that must stay independent.
APART = {("image", "graph")}
# The order within a folder. A name without a suffix is the header, the source file and the folder of this name; other
# source files come last.
PARTS = {
    "src/graph": """graph.h table node suggest value literal form convert args check registry graph own_outputs schema
        serialize""".split(),
    "src/io": "storage local open_files readahead items file_store".split(),
    "src/remote": """net_module.h net url credentials.h sha1 sigv4 credentials_parse credentials_profile credentials_fetch credentials_sts
        credentials_process credentials_google credentials_given azure credentials.c s3 s3_list disk_cache
        http_storage""".split(),
    "src/codecs/video": "video.h module.h bits packets demux video flat memory plan select colors planes frames".split(),
    "src/codecs/video/bits": "rbsp units.h h264 hevc mpeg4 units av1 bitstream split".split(),
    "src/codecs/video/demux": """demuxer fourcc times flags pictures fields keys mp4_box mp4.h mp4_track mp4_samples
        mp4_fragments""".split(),
    "src/readers": """list scan.h scan_cache scan files file_order selection cut sampler epochs rest records tar coco fits
        video table""".split(),
    "src/readers/coco": "data json_stream draw json saved".split(),
    "src/readers/fits": "image header".split(),
    "src/readers/records": "records wire lmdb caffe_messages tf_example".split(),
    "src/readers/table": "column provider groups".split(),
    "src/readers/tar": "braces tar wds_index".split(),
    "src/readers/video": "list sequences tables reader emit legacy".split(),
    "src/modules/audio": "frames decoders vorbis_kept vorbis_plain vorbis flac opus mp3".split(),
    "src/device": "module.h device.h task.h loader.c state.h device.c memory launch create batch".split(),
    "src/plan": "plan.h edge describe pass.h prune merge fuse group values".split(),
    "src/exec": """affinity stall trace thread_pool state job left_out values.h gather values.c branch source resplit bad
        task call chain device_batch device_prepare device_queue stage settle publish iteration device_stage stream
        worker checkpoint take feed seek facts stats pipeline""".split(),
    "python/_core": "core reaper threads device tensor dlpack device_tensor import batch packed function tables secrets pipeline.h".split(),
}
# A function of ours that other files can call, where clang-format puts it, and its use.
DEFINED = re.compile(r"^(?!static|typedef|extern|#)\w[\w \*]*?\b(hr_\w+)\((?=[^;{]*\)\n\{)", re.M)
CALLED = re.compile(r"\b(hr_\w+)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
OURS = set(ORDER) | set(LAST) | {"headrace"}


def allowed(folder: str, target: str) -> bool:
    """Whether a file in src/`folder` may include a header of `target` (a folder of src/, or headrace)."""
    if target in (folder, "headrace"):
        return True
    if folder in LAST:
        return target in ORDER and target != "exec"
    if target not in ORDER or (folder, target) in APART:
        return False
    return ORDER.index(target) < ORDER.index(folder)


def complaint(path: pathlib.PurePosixPath, kind: str, name: str, local: bool) -> str | None:
    """The text of what is wrong with an include in the file `path` (relative to the root), or None.

    `kind` is the opening quote or bracket. `local` says whether the header is in the folder of the file.
    """
    top = name.split("/")[0]
    ours = top in OURS and "/" in name
    if path.parts[0] == "include":
        good = kind == "<" and not ours or kind == '"' and top == "headrace"
        return None if good else f"a public header includes {name}"
    if path.parts[0] == "python":
        good = kind == "<" and not ours or kind == '"' and (top == "headrace" or local)
        return None if good else f"the extension may include only headrace/*.h, not {name}"
    if kind == "<":
        return f"<{name}> is an internal header: use quotes" if ours else None
    if path.parts[1] not in ORDER + list(LAST):
        return f"src/{path.parts[1]} is not a layer"
    if not ours:
        return None if local and path.parts[1] in LAST else f'"{name}" does not begin with a folder of src/'
    return None if allowed(path.parts[1], top) else f"{path.parts[1]} must not include {name}"


def position(path: pathlib.PurePosixPath, folder: str) -> int | None:
    """The position of a file in the order of `folder`, which contains it; None for a header that the order lacks."""
    parts, name = PARTS[folder], path.relative_to(folder).parts[0]
    for known in (name, pathlib.PurePosixPath(name).stem):
        if known in parts:
            return parts.index(known)
    return None if name.endswith(".h") else len(parts)


def disorder(path: pathlib.PurePosixPath, target: pathlib.PurePosixPath) -> str | None:
    """The text of what is wrong if the file `path` depends on `target`, or None."""
    folder = next((str(p) for p in path.parents if str(p) in PARTS and p in target.parents), None)
    if folder is None:
        return None
    here, there = position(path, folder), position(target, folder)
    if here is None or there is None:
        return f"{path.name if here is None else target.name} is not in the order of {folder} (includes.py)"
    return f"{target.name} comes after {path.name} in the order of {folder}" if there > here else None


def calls(texts: dict[pathlib.PurePosixPath, str]) -> list[str]:
    """The complaints about functions that the source files of PARTS call in files after them."""
    homes = {name: path for path, text in texts.items() for name in DEFINED.findall(text)}
    out = []
    for path, text in texts.items():
        for name in sorted(set(CALLED.findall(text)) & homes.keys()):
            if wrong := disorder(path, homes[name]):
                out.append(f"{path}: {name}: {wrong}")
    return out


def circle(graph: dict[str, list[str]]) -> list[str]:
    """The headers of a circle, or an empty list. `graph`: for each file, the headers that it includes."""
    done: set[str] = set()

    def visit(file: str, way: list[str]) -> list[str]:
        if file in way:
            return way[way.index(file) :]
        if file in done:
            return []
        found = next((c for header in graph.get(file, []) if (c := visit(header, [*way, file]))), [])
        done.add(file)
        return found

    return next((c for file in graph if (c := visit(file, []))), [])


def check() -> list[str]:
    """The complaints about the sources, one line each. Prints the number of includes."""
    out, seen = [], 0
    texts: dict[pathlib.PurePosixPath, str] = {}
    graph: dict[str, list[str]] = {}
    files = [p for d in ("include", "src", "python/_core") for p in (ROOT / d).rglob("*")]
    for file in sorted(p for p in files if p.suffix in {".c", ".h", ".cu", ".cuh", ".inc"}):
        path = pathlib.PurePosixPath(file.relative_to(ROOT).as_posix())
        text_of_file = file.read_text(errors="replace")
        if file.suffix == ".c" and any(str(parent) in PARTS for parent in path.parents):
            texts[path] = text_of_file
        for number, line in enumerate(text_of_file.splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            seen += 1
            local = (file.parent / found[2]).is_file()
            root = path.parent if local else "include" if found[2].startswith("headrace/") else "src"
            target = pathlib.PurePosixPath(root, found[2])
            graph.setdefault(str(path), []).append(str(target))
            text = complaint(path, found[1], found[2], local)
            text = text or disorder(path, target)
            if text:
                out.append(f"{path}:{number}: {text}")
    out += calls(texts)
    if ring := circle(graph):
        out.append(f"includes: a circle: {' '.join(ring)}")
    print(f"includes: {seen} checked, {len(out)} not allowed")
    if seen == 0:
        out.append("includes: found no includes to check")
    return out


def self_test() -> None:
    """Fails if the check would miss a wrong include."""
    cases = [
        ("src/core/a.c", '"', "core/b.h", True),
        ("src/core/a.c", '"', "graph/graph.h", False),
        ("src/graph/a.c", '"', "core/core.h", True),
        ("src/graph/a.c", '"', "image/program.h", False),
        ("src/image/a.c", '"', "graph/graph.h", False),
        ("src/image/a.c", '"', "kernels/kernels.h", True),
        ("src/io/a.c", '"', "remote/net.h", False),
        ("src/remote/a.c", '"', "io/storage.h", True),
        ("src/ops/image/a.c", '"', "exec/task.h", False),
        ("src/exec/a.c", '"', "ops/x.h", True),
        ("src/core/a.c", "<", "core/b.h", False),
        ("src/core/a.c", "<", "sys/mman.h", True),
        ("src/core/a.c", '"', "b.h", False),
        ("include/headrace/a.h", '"', "core/b.h", False),
        ("include/headrace/a.h", '"', "headrace/b.h", True),
        ("python/_core/a.c", '"', "headrace/b.h", True),
        ("python/_core/a.c", '"', "core/b.h", False),
        ("src/cuda/a.cu", '"', "exec/b.h", False),
        ("src/new/a.c", '"', "core/b.h", False),
    ]
    for path, kind, name, good in cases:
        text = complaint(pathlib.PurePosixPath(path), kind, name, False)
        assert (text is None) == good, (path, name, text)
    parts = [("module.h", "device.h", False), ("memory.h", "device.h", True), ("device.c", "device.h", True)]
    parts += [("device.c", "memory.h", False), ("new.c", "launch.h", True), ("new.h", "module.h", False)]
    for name, header, good in parts:
        folder = pathlib.PurePosixPath("src/device")
        assert (disorder(folder / name, folder / header) is None) == good, (name, header)
    video = pathlib.PurePosixPath("src/codecs/video")
    assert disorder(video / "bits/units.c", video / "demux/demuxer.h") and not disorder(video / "video.c", video / "bits/av1.h")
    files = {"table.c": "int32_t hr_a(void)\n{\n}\n", "graph.c": "hr_status *hr_b(int a,\n int b)\n{\n    hr_a();\n}\n"}
    texts = {pathlib.PurePosixPath("src/graph", name): text for name, text in files.items()}
    assert calls(texts) == []
    assert len(calls({path: text.replace("{\n}", "{\n    hr_b(1, 2);\n}") for path, text in texts.items()})) == 1
    assert circle({"a": ["b", "c"], "b": ["c"]}) == []
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c"]


def main() -> int:
    self_test()
    complaints = check()
    print("\n".join(complaints), end="\n" if complaints else "", file=sys.stderr)
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators of a plug-in: examples/plugin, built outside of the tree against the installed package.

Loaded operators stay for the life of a process, so each test loads them in a process of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import headrace
from headrace import plugin_manager, sysconfig
from waiting import HANG_S

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plugin"
PACKAGE = Path(headrace.__file__).parent.resolve()

HEAD = """
import sys
import numpy as np
from headrace import backend, fn, ops, pipeline_def, plugin_manager, types
from headrace.pipeline import Pipeline

PICTURES = np.random.default_rng(5).integers(0, 256, (3, 40, 50, 3), np.uint8)

@pipeline_def(batch_size=3, num_threads=2, device_id=None)
def pipe(fuse=True):
    pictures = fn.external_source(lambda: PICTURES, batch=True, layout="HWC", name="pictures")
    small = fn.resize(pictures, size=(20, 30))
    negative = fn.example.invert(small)
    normal = fn.crop_mirror_normalize(negative, mean=[10, 20, 30], std=[2, 4, 8])
    factor = fn.random.uniform(range=[1, 2], seed=7)
    scaled = fn.example.scale(fn.cast(pictures, dtype=types.FLOAT), factor=factor, addend=0.5)
    return small, negative, normal, fn.example.above(pictures, threshold=99.5), scaled, factor

def arrays(outputs):
    return [np.stack([np.array(output.at(i)) for i in range(3)]) for output in outputs]
"""


@pytest.fixture(scope="module")
def library(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built from a copy that sees nothing but the installed package."""
    assert PACKAGE in Path(sysconfig.get_cmake_dir()).parents
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("build"))
    configure = ["cmake", "-S", "source", "-B", "build", "-DCMAKE_CUDA_COMPILER=NOTFOUND"]
    configure.append(f"-DCMAKE_PREFIX_PATH={sysconfig.get_cmake_dir()}")
    configure.append("-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror")
    for command in (configure, ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "libheadrace_example.so"


def run(code: str, *args: object, cwd: Path | None = None) -> str:
    """Runs the code in a process of its own; returns its output."""
    program = HEAD + textwrap.dedent(code)
    command = [sys.executable, "-c", program, *map(str, args)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_operators_run_and_fuse(library: Path):
    code = """
    plugin_manager.load_library(sys.argv[1])
    small, negative, normal, above, scaled, factor = arrays(pipe().run())
    assert (negative == 255 - small).all()
    mean, std = np.array([10, 20, 30], np.float32), np.array([2, 4, 8], np.float32)
    wanted = ((negative - mean) / std).transpose(0, 3, 1, 2)
    assert normal.dtype == np.float32 and np.allclose(normal, wanted, atol=1e-4)
    assert above.dtype == np.bool_ and (above == (PICTURES > 99.5)).all()
    product = PICTURES.astype(np.float32) * factor.reshape(3, 1, 1, 1)
    assert (scaled == product + np.float32(0.5)).all() and len(set(factor.ravel())) == 3

    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def chain():
        pictures = fn.external_source(lambda: PICTURES, batch=True, layout="HWC")
        return fn.crop_mirror_normalize(fn.example.invert(fn.resize(pictures, size=(20, 30))))

    together, apart = chain(), chain(fuse=False)
    assert (arrays(together.run())[0] == arrays(apart.run())[0]).all()
    plan = together.describe()
    fused = plan[plan.index("fused:") :]
    assert fused.index("resize") < fused.index("example.invert") < fused.index("crop_mirror")
    """
    run(code, library)


def test_operators_are_part_of_the_package(library: Path):
    code = """
    import headrace.fn.readers
    assert not hasattr(fn, "example") and "example" not in dir(fn)
    plugin_manager.load_library(sys.argv[1], global_symbols=True)
    plugin_manager.load_library(sys.argv[1])  # no effect
    assert dir(fn.example) == ["above", "invert", "lines", "records", "scale"] and "example" in dir(fn)
    assert dir(ops.example) == ["Above", "Invert", "Lines", "Records", "Scale"]
    import headrace.fn.example, headrace.ops.example
    from headrace.fn.example import above
    help(above)
    assert "example__Above" in backend.RegisteredCPUOps()
    assert {"addend", "factor"} <= set(backend.GetSchema("example__Scale").GetArgumentNames())
    negative = ops.example.Invert()
    p = Pipeline(batch_size=3, num_threads=1, device_id=None)
    with p:
        p.set_outputs(negative(fn.external_source(lambda: PICTURES, batch=True, layout="HWC")))
    assert (arrays(p.run())[0] == 255 - PICTURES).all()
    try:
        fn.example.above(fn.external_source(lambda: PICTURES), treshold=3)
    except KeyError as error:
        assert 'Argument "treshold" is not defined for operator "example__Above"' in str(error)
    else:
        raise AssertionError
    """
    text = run(code, library)
    assert "Elements greater than this give True." in text and "threshold=0.5" in text


def test_serialized_pipelines_need_the_plugin(library: Path, tmp_path: Path):
    code = """
    plugin_manager.load_library(sys.argv[1])
    text = pipe().serialize()
    open("pipeline", "wb").write(text)
    np.save("wanted.npy", arrays(pipe().run())[2])
    """
    run(code, library, cwd=tmp_path)
    code = """
    text = open("pipeline", "rb").read()
    try:
        Pipeline.deserialize(text)
    except (KeyError, RuntimeError) as error:
        assert "operator 'example.invert'" in str(error) and "plug-in" in str(error)
    else:
        raise AssertionError
    plugin_manager.load_library(sys.argv[1])
    p = Pipeline.deserialize(text)
    p.feed_input("pictures", PICTURES)
    assert (arrays(p.run())[2] == np.load("wanted.npy")).all()
    """
    run(code, library, cwd=tmp_path)


def test_errors_of_operators_name_the_sample(library: Path):
    code = """
    plugin_manager.load_library(sys.argv[1])

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def wrong():
        return fn.example.scale(fn.external_source(lambda: PICTURES, batch=True), name="half")

    try:
        wrong().run()
    except RuntimeError as error:
        assert "example.scale 'half'" in str(error), error
        assert "the input is UINT8; it must be FLOAT" in str(error), error
    else:
        raise AssertionError
    """
    run(code, library)


def test_folders(library: Path, tmp_path: Path):
    for folder, name in (("b", "libheadrace_example.so"), ("a", "libother.so")):
        (tmp_path / folder).mkdir()
        shutil.copy(library, tmp_path / folder / name)
    run("plugin_manager.load_directory(sys.argv[1]); fn.example.above", tmp_path)
    code = "plugin_manager.load_directory(sys.argv[1]); assert not hasattr(fn, 'example')"
    run(code, tmp_path / "a")
    run(code, tmp_path / "no such folder")


def test_relative_paths(library: Path):
    run("plugin_manager.load_library('libheadrace_example.so'); fn.example", cwd=library.parent)


def test_what_cannot_be_loaded(library: Path, tmp_path: Path):
    bad = tmp_path / "libbad.so"
    bad.write_bytes(b"This is not a library.")
    with pytest.raises(RuntimeError, match="Failed to load library: .*libbad.so: "):
        plugin_manager.load_library(str(bad))
    with pytest.raises(RuntimeError, match="Failed to load library: .*cannot read file data"):
        plugin_manager.load_library(tmp_path)
    core = next(PACKAGE.glob("_core*.so"))
    with pytest.raises(RuntimeError, match="not a plug-in of Headrace: it does not export"):
        plugin_manager.load_library(core)
    copy = shutil.copy(library, tmp_path / "libcopy.so")
    code = """
    plugin_manager.load_library(sys.argv[1])
    try:
        plugin_manager.load_library(sys.argv[2])
    except RuntimeError as error:
        assert 'operator "example.above" exists already, in headrace_example' in str(error)
    else:
        raise AssertionError
    assert (arrays(pipe().run())[3] == (PICTURES > 99.5)).all()
    """
    run(code, library, copy)


# ---- sources of a plug-in ----

SOURCES = """
plugin_manager.load_library(sys.argv[1])
from pathlib import Path

FILES = ["a.bin", "b.bin", "c.bin"]
for i, name in enumerate(FILES):
    records = np.arange(7 * (i + 1) * 4, dtype=np.uint8).reshape(-1, 4) + 100 * i
    records.astype(np.uint8).tofile(name)
RECORDS = np.concatenate([np.fromfile(name, np.uint8) for name in FILES]).reshape(-1, 4)

TEXTS = ["one.txt", "empty.txt", "two.txt"]
LINES = [f"line {i} of one".encode() for i in range(11)], [b"", b"second" * 40000, b"last"]
Path("one.txt").write_bytes(b"".join(line + b"\\n" for line in LINES[0]))
Path("empty.txt").write_bytes(b"")
Path("two.txt").write_bytes(b"\\n".join(LINES[1]))
LINES = LINES[0] + LINES[1]

def values(outputs):
    return [np.array(outputs[0].at(i)) for i in range(len(outputs[0]))]

def lines(p):
    return [line.tobytes() for line in values(p.run())]
"""

READERS = (
    SOURCES
    + """
@pipeline_def(batch_size=5, num_threads=3, device_id=None, seed=3)
def reader(sampling=None):
    return fn.example.records(path=FILES, size=4, name="Reader", **sampling or {})
"""
)


def test_a_reader_of_a_plugin_is_like_any_other(library: Path, tmp_path: Path):
    code = """
    p = reader()
    first = [row for _ in range(9) for row in values(p.run())]
    assert (np.stack(first)[:42] == RECORDS).all() and (first[42] == RECORDS[0]).all()
    assert p.reader_meta("Reader")["epoch_size"] == 42 and p.epoch_size("Reader") == 42
    assert p.run()[0][1].source_info() == "a.bin: record 4"

    shuffled = reader({"random_shuffle": True}, enable_checkpointing=True)
    shuffled.build()
    rows, states = [], []
    for _ in range(20):
        states.append(shuffled.checkpoint())
        rows.append(values(shuffled.run()))
    flat = np.concatenate(rows)
    assert (flat[:42] != RECORDS).any() and (flat[42:84] != flat[:42]).any()
    for epoch in (flat[:42], flat[42:84]):
        assert sorted(map(bytes, epoch)) == sorted(map(bytes, RECORDS))
    for i, state in enumerate(states):
        again = reader({"random_shuffle": True}, enable_checkpointing=True, checkpoint=state)
        assert (np.stack(values(again.run())) == np.stack(rows[i])).all()

    shards = [reader({"num_shards": 3, "shard_id": k, "stick_to_shard": True}) for k in range(3)]
    parts = [np.concatenate([values(p.run()) for _ in range(3)])[:14] for p in shards]
    assert (np.concatenate(parts) == RECORDS).all()
    """
    run(READERS + textwrap.dedent(code), library, cwd=tmp_path)


def test_errors_of_a_reader_of_a_plugin(library: Path, tmp_path: Path):
    code = """
    p = reader({"pad_last_batch": True}, prefetch_queue_depth=1)
    p.build()
    Path("b.bin").write_bytes(b"1234")  # shorter than when the pipelines were built
    try:
        for _ in range(1000):  # more epochs than can have been read ahead by now
            p.run()
        raise AssertionError
    except RuntimeError as error:
        assert "b.bin: record " in str(error) and "example.records 'Reader'" in str(error), error
    Path("odd.bin").write_bytes(b"12345")
    try:
        FILES.append("odd.bin")
        reader().build()
        raise AssertionError
    except RuntimeError as error:
        assert "path 'odd.bin': the size of 5 bytes is not a multiple of the record size of 4 bytes" in str(error), error
    """
    run(READERS + textwrap.dedent(code), library, cwd=tmp_path)


STREAMS = (
    SOURCES
    + """
@pipeline_def(batch_size=4, device_id=None, seed=3, enable_checkpointing=True)
def stream():
    text = fn.example.lines(path=TEXTS)
    return text, fn.random.uniform(range=[0, 1]), fn.cast(text, dtype=types.INT32)
"""
)


def test_a_stream_ends_epochs_and_resumes_behind_every_batch(library: Path, tmp_path: Path):
    code = """
    def take(p):
        try:
            outputs = p.run()
        except StopIteration:
            p.reset()
            return "end"
        assert all(len(output) == len(outputs[0]) for output in outputs)
        names = [outputs[0][i].source_info() for i in range(len(outputs[0]))]
        return [[np.array(o.at(i)).tobytes() for o in outputs] + [names[i]] for i in range(len(names))]

    p = stream(num_threads=2)
    p.build()
    states, runs = [], []
    for _ in range(12):
        states.append(p.checkpoint())
        runs.append(take(p))
    flat = [sample for batch in runs[:4] for sample in batch]
    assert [sample[0] for sample in flat] == LINES, [sample[0][:20] for sample in flat]
    assert [len(batch) for batch in runs[:4]] == [4, 4, 4, 2] and runs[4] == "end" == runs[9]
    assert flat[0][3] == "one.txt: line 1" and flat[-1][3] == "two.txt: line 3"
    assert [s[0] for b in runs[5:9] for s in b] == LINES
    assert flat[0][1] != runs[5][0][1]  # other random numbers in the next epoch
    for i, state in enumerate(states):
        again = stream(num_threads=i % 4 + 1, prefetch_queue_depth=i % 3 + 1, checkpoint=state)
        for k in range(i, 12):
            assert take(again) == runs[k], (i, k)
    """
    run(STREAMS + textwrap.dedent(code), library, cwd=tmp_path)


def test_a_stream_raises_stop_iteration_until_reset(library: Path, tmp_path: Path):
    code = """
    p = stream(num_threads=2)
    assert [len(p.run()[0]) for _ in range(4)] == [4, 4, 4, 2]
    for _ in range(3):
        try:
            p.run()
            raise AssertionError
        except StopIteration:
            pass
    p.reset()
    assert lines(p) == LINES[:4]

    try:
        from headrace.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
    except ImportError:
        DALIGenericIterator = None

    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def lengths():
        return fn.shapes(fn.example.lines(path=TEXTS[:1]))

    if DALIGenericIterator is not None:
        for reset in (True, False):
            loop = DALIGenericIterator(
                lengths(), ["n"], auto_reset=reset, last_batch_policy=LastBatchPolicy.PARTIAL)
            for _ in range(3):
                assert [len(item[0]["n"]) for item in loop] == [2, 2, 2, 2, 2, 1]
                if not reset:
                    loop.reset()
    """
    run(STREAMS + textwrap.dedent(code), library, cwd=tmp_path)


def test_bad_samples_of_a_stream(library: Path, tmp_path: Path):
    code = """
    Path("one.txt").write_bytes(b"good\\nba\\0d\\n" + b"x" * 3000000 + b"\\nafter it\\nend")
    TEXTS[:] = ["one.txt"]
    try:
        stream(num_threads=2).run()
        raise AssertionError
    except RuntimeError as error:
        assert "one.txt: line 2: the line contains a zero byte" in str(error), error
    p = stream(num_threads=2, on_error="skip", quarantine="bad.txt")
    assert lines(p) == [b"good", b"after it"] and lines(p) == [b"end"]
    errors = {e["source"]: e["message"] for e in p.errors()}
    assert list(errors) == ["one.txt: line 2", "one.txt: line 3"]
    assert "longer than 1048576 bytes" in errors["one.txt: line 3"]
    assert "one.txt: line 2\\t" in Path("bad.txt").read_text()
    p = stream(num_threads=2, on_error="replace")
    assert lines(p) == [b"good", b"after it", b"after it", b"after it"]
    TEXTS.append("missing.txt")
    p = stream(num_threads=2, on_error="skip")
    assert lines(p) == [b"good", b"after it"] and lines(p) == [b"end"]
    assert sum("missing.txt" in e["source"] for e in p.errors()) == 1
    """
    run(STREAMS + textwrap.dedent(code), library, cwd=tmp_path)


def test_a_checkpoint_of_a_stream_needs_its_files(library: Path, tmp_path: Path):
    code = """
    import json
    p = stream(num_threads=2)
    for _ in range(3):
        p.run()
    state = p.checkpoint()
    Path("two.txt").write_bytes(b"x")  # the cursor is beyond its end
    try:
        p = stream(num_threads=2, checkpoint=state)
        p.run()
        raise AssertionError
    except StopIteration:
        pass
    cursors = json.loads(state)["engine"]["cursors"]
    for wrong in ({"cursors": ["00" + cursors[0]]}, {"cursor": cursors}):
        parts = json.loads(state)
        del parts["engine"]["cursors"]
        parts["engine"].update(wrong)
        try:
            stream(num_threads=2, checkpoint=json.dumps(parts)).build()
            raise AssertionError
        except ValueError as error:
            assert "checkpoint" in str(error) and "cursor" in str(error), error
    """
    run(STREAMS + textwrap.dedent(code), library, cwd=tmp_path)

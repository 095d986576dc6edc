# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipeline and pipeline_def: arguments, running, epochs, checkpoints, processes, signals."""

import gc
import inspect
import os
import re
import subprocess
import sys
import textwrap
import time
import weakref
from pathlib import Path

import headrace
import numpy as np
import pytest
from headrace import OperatorConcurrency, Pipeline, StreamPolicy, fn, pipeline_def, types
from PIL import Image
from waiting import HANG_S


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(1)
    for name in ("a", "b", "c"):
        (root / name).mkdir()
        for i in range(4):
            small = Image.fromarray(rng.integers(0, 256, (5, 6, 3), np.uint8))
            small.resize((48 + i, 40), Image.Resampling.BICUBIC).save(root / name / f"{i}.jpg")
    return os.fspath(root)


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=7)
def train(root):
    jpegs, labels = fn.readers.file(file_root=root, random_shuffle=True, name="Reader")
    images = fn.decoders.image_random_crop(jpegs)
    images = fn.resize(images, size=[16, 16])
    images = fn.crop_mirror_normalize(
        images, mirror=fn.random.coin_flip(), dtype=types.FLOAT, mean=[120.0], std=[60.0]
    )
    return images, labels, fn.random.uniform(range=[0.0, 1.0])


def arrays(outputs):
    return [out.as_array().copy() for out in outputs]


def simple(**kwargs):
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 1, "device_id": None, **kwargs})
    with pipe:
        pipe.set_outputs(types.Constant([1.0, 2.0], device="cpu"))
    return pipe


def python(code, **env):
    """Runs a script in another process."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        env={**os.environ, **env},
    )


def test_functions_describe_themselves():
    signature = inspect.signature(fn.resize)
    assert signature.parameters["antialias"].default is True
    assert signature.parameters["interp_type"].default == types.INTERP_LINEAR
    assert signature.parameters["size"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "interp_type (DALIInterpType or DataNode" in fn.resize.__doc__
    assert fn.decoders.image.__name__ == "image"
    assert fn.decoders.image.__module__ == "headrace.fn.decoders"
    assert "resize" in dir(fn) and "readers" in dir(fn) and "file" in dir(fn.readers)
    import headrace.fn.readers as readers

    assert readers.file is fn.readers.file


# ---- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kwargs, error",
    [
        ({"batch_size": 0}, ValueError),
        ({"batch_size": -3}, ValueError),
        ({"prefetch_queue_depth": {"cpu_size": 2, "gpu_size": 2}, "exec_async": False}, ValueError),
        ({"prefetch_queue_depth": "two"}, TypeError),
        ({"prefetch_queue_depth": 0}, ValueError),
        ({"output_ndim": -1}, ValueError),
        ({"output_ndim": [2, -1]}, ValueError),
        ({"output_ndim": "2"}, TypeError),
        ({"output_dtype": types.NO_TYPE}, ValueError),
        ({"output_dtype": "unit8"}, ValueError),
        ({"output_layout": 3}, TypeError),
        ({"py_callback_pickler": object()}, ValueError),
        ({"py_start_method": "thread"}, ValueError),
        ({"on_error": "ignore"}, ValueError),
        ({"checkpoint": b"nonsense"}, RuntimeError),
        ({"no_such_argument": 1}, TypeError),
    ],
)
def test_wrong_arguments(kwargs, error):
    with pytest.raises(error):
        Pipeline(**{"batch_size": 2, "num_threads": 1, "device_id": None, **kwargs})


def test_arguments_that_are_wrong_when_building():
    with pytest.raises(ValueError, match="num_threads"):
        simple(num_threads=0).build()
    with pytest.raises(ValueError, match="batch_size"):
        simple(batch_size=None).build()
    with pytest.raises(NotImplementedError):
        Pipeline(2, 1, None).build()
    with pytest.raises(RuntimeError):
        simple(output_ndim=[1, 1]).build()
    with pytest.raises(ValueError):
        simple(host_memory_limit=-1).build()


def test_arguments_that_warn():
    with pytest.warns(UserWarning, match="negative seed"):
        assert simple(seed=-1).seed is None
    with pytest.warns(Warning, match="max_streams"):
        assert simple(max_streams=2).max_streams == -1
    with pytest.warns(Warning, match="priority"):
        assert simple(default_cuda_stream_priority=1).default_cuda_stream_priority == 0
    with pytest.warns(DeprecationWarning, match="exec_dynamic"):
        assert simple(experimental_exec_dynamic=True).exec_dynamic is True
    with pytest.warns(DeprecationWarning):
        assert simple().batch_size == 2


def test_properties():
    pipe = simple(
        seed=5,
        prefetch_queue_depth=3,
        set_affinity=False,
        stream_policy=StreamPolicy.SINGLE,
        concurrency=OperatorConcurrency.FULL,
        enable_memory_stats=True,
        py_num_workers=2,
    )
    assert (pipe.max_batch_size, pipe.num_threads, pipe.device_id, pipe.seed) == (2, 1, None, 5)
    assert pipe.exec_pipelined and pipe.exec_async and pipe.exec_dynamic
    assert not pipe.exec_separated and not pipe.set_affinity and pipe.enable_memory_stats
    assert (pipe.prefetch_queue_depth, pipe.cpu_queue_size, pipe.gpu_queue_size) == (3, 3, 3)
    assert pipe.stream_policy is StreamPolicy.SINGLE
    assert pipe.concurrency is OperatorConcurrency.FULL
    assert (pipe.py_num_workers, pipe.py_start_method) == (2, "fork")
    assert pipe.num_outputs == 1 and pipe.output_dtype() == [None] and pipe.output_ndim() == [None]
    assert not pipe.is_restored_from_checkpoint
    separated = simple(prefetch_queue_depth={"cpu_size": 3, "gpu_size": 2})
    assert separated.exec_separated and separated.exec_dynamic is None
    assert (separated.cpu_queue_size, separated.gpu_queue_size) == (3, 2)
    separated.run()


def test_every_argument_of_dali_is_known(live_dali):
    dali = live_dali
    theirs = inspect.signature(dali.Pipeline.__init__).parameters
    ours = inspect.signature(Pipeline.__init__).parameters
    assert [name for name in theirs if name not in ours] == []
    for name, parameter in theirs.items():
        if name != "self":
            assert ours[name].default == parameter.default, name
            assert ours[name].kind == parameter.kind, name
    public = [n for n in dir(dali.Pipeline) if not n.startswith("_")]
    assert [n for n in public if not hasattr(Pipeline, n)] == []


def test_declared_outputs_are_checked():
    good = simple(output_dtype=types.FLOAT, output_ndim=1, output_layout=[None])
    assert good.run()[0].at(0).tolist() == [1.0, 2.0]
    assert good.output_dtype() == [types.FLOAT] and good.output_ndim() == [1]
    for bad in ({"output_dtype": types.UINT8}, {"output_ndim": [2]}, {"output_layout": "X"}):
        with pytest.raises(RuntimeError, match="output_idx=0"):
            simple(**bad).run()
    for count in (1, 3):  # found before anything is set up, so also where there is no GPU
        pipe = Pipeline(2, 1, 0, output_dtype=[types.FLOAT] * count)
        with pipe:
            data = fn.zeros(shape=[2])
            pipe.set_outputs(data.gpu(), data)
        with pytest.raises(RuntimeError, match="Lengths of provided outputs descriptions do not match"):
            pipe.build()


# ---- pipeline_def --------------------------------------------------------------------------------


def test_pipeline_def_splits_arguments(capsys):
    @pipeline_def(batch_size=3, num_threads=1)
    def define(value, device_id=None, *, extra=1):
        assert Pipeline.current() is not None
        return types.Constant(value + extra, device="cpu")

    pipe = define(4, batch_size=2, extra=2)
    assert Pipeline.current() is None
    assert define._is_pipeline_def and define.__name__ == "define"
    assert pipe.max_batch_size == 2
    assert [pipe.run()[0].at(i) for i in range(2)] == [6, 6]
    define(4, device_id=0)
    assert "shadows" in capsys.readouterr().out
    with pytest.raises(TypeError):
        define(4, unknown=1)

    @pipeline_def
    def bare():
        return 1

    assert bare(batch_size=1, num_threads=1, device_id=None).run()[0].at(0) == 1

    @pipeline_def
    def variadic(**kwargs):
        return 1

    with pytest.raises(TypeError, match="variadic"):
        variadic(batch_size=1, num_threads=1)
    with pytest.raises(ValueError):
        headrace.pipeline.do_not_convert(bare)
    from headrace.pipeline import experimental

    assert experimental.pipeline_def(batch_size=1, num_threads=1)(lambda: 1)().run()


def test_pipeline_without_outputs():
    @pipeline_def(batch_size=1, num_threads=1)
    def nothing():
        pass

    with pytest.raises(NotImplementedError):
        nothing().run()


def test_outputs_of_wrong_types():
    def build(value):
        pipe = Pipeline(1, 1, None)
        pipe.set_outputs(value)
        pipe.build()

    with pytest.raises(TypeError, match="nested"):
        build([types.Constant([1], device="cpu")])
    for bad in (None, "a", object()):
        with pytest.raises(TypeError, match="Illegal output type"):
            build(bad)


def test_names_are_unique():
    pipe = Pipeline(1, 1, None)
    with pipe, pytest.raises(RuntimeError, match="same"):
        fn.random.coin_flip(name="same")
        fn.random.coin_flip(name="same")


def test_errors_name_the_users_line(folders):
    @pipeline_def(batch_size=1, num_threads=1)
    def bad():
        data = fn.external_source(source=[[np.zeros(10, np.uint8)]])
        return fn.decoders.image(data)

    line = bad.__wrapped__.__code__.co_firstlineno + 3
    with pytest.raises(RuntimeError, match=rf"decoders.image.*test_pipeline.py:{line}"):
        bad().run()


# ---- running -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pad", [False, True])
def test_padded_epochs(folders, pad):
    pipe = Pipeline(4, 1, None)
    with pipe:
        shards = {"num_shards": 5, "shard_id": 1, "pad_last_batch": pad}
        pipe.set_outputs(*fn.readers.file(file_root=folders, name="Reader", **shards))
    meta = pipe.reader_meta("Reader")
    assert meta["epoch_size"] == 12 and meta["epoch_size_padded"] == (15 if pad else 12)
    assert pipe.epoch_size("Reader") == meta["epoch_size_padded"]


def test_training_pipeline_runs(folders):
    pipe = train(folders)
    outputs = pipe.run()
    images, labels, numbers = outputs
    assert isinstance(outputs, tuple) and outputs.positions == 4
    assert images.as_array().shape == (4, 3, 16, 16) and images.layout() == "CHW"
    assert images.as_array().std() > 0.1 and labels.dtype == types.INT32
    assert 0 <= float(numbers.at(0)) <= 1
    assert pipe.epoch_size() == {"Reader": 12} and pipe.epoch_size("Reader") == 12
    assert pipe.reader_meta("Reader")["number_of_shards"] == 1
    assert set(pipe.reader_meta()) == {"Reader"}
    with pytest.raises(RuntimeError, match="nobody"):
        pipe.reader_meta("nobody")
    assert pipe.stats()["iterations"] >= 1 and pipe.explain().startswith("Verdict")
    assert pipe.errors() == [] and "fused" in pipe.describe()
    assert images[0].source_info().endswith(".jpg")


def test_a_collage_names_all_its_sources(folders):
    """As in DALI: the sources of the regions, in their order, without those that have none."""

    @headrace.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def collage():
        images = fn.resize(fn.decoders.image(fn.readers.file(file_root=folders)[0]), size=[8, 8])
        blank = fn.external_source(source=lambda: np.zeros((3, 8, 8, 3), np.uint8), layout="HWC")
        ids = fn.external_source(source=[[np.array(n, np.int32) for n in ([2, 0, 2], [], [1])]])
        pasted = fn.multi_paste(images, in_ids=ids, output_size=[8, 8])
        return images, fn.multi_paste(images, blank, images), fn.multi_paste(blank), pasted

    images, pairs, blank, pasted = ([s.source_info() for s in b] for b in collage().run())
    assert len(set(images)) == 3 and all(images)
    assert pairs == [f"{name};{name}" for name in images]
    assert blank == [""] * 3
    assert pasted == [";".join(images[i] for i in (2, 0, 2)), "", images[1]]


def test_same_bytes_whatever_the_options(folders):
    expected = [arrays(train(folders).run()) for _ in range(1)]
    for kwargs in (
        {"num_threads": 1},
        {"num_threads": 8, "prefetch_queue_depth": 5},
        {"fuse": False},
        {"exec_pipelined": False},
    ):
        got = arrays(train(folders, **kwargs).run())
        for a, b in zip(expected[0], got, strict=True):
            np.testing.assert_array_equal(a, b)
    other = arrays(train(folders, seed=8).run())
    assert not np.array_equal(expected[0][0], other[0])


def test_an_epoch_has_every_file(folders):
    pipe = train(folders)
    seen = [s.source_info() for _ in range(3) for s in pipe.run()[0]]
    assert len(seen) == len(set(seen)) == 12
    again = [s.source_info() for _ in range(3) for s in pipe.run()[0]]
    assert set(again) == set(seen) and again != seen


def test_scheduled_api(folders):
    pipe, other = train(folders), train(folders)
    for _ in range(4):
        pipe.schedule_run()
        shared = arrays(pipe.share_outputs())
        pipe.release_outputs()
        for a, b in zip(shared, arrays(other.run()), strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(RuntimeError, match="Mixing"):
        pipe.run()
    pipe.enable_api_check(False)
    pipe.run()
    with pytest.raises(RuntimeError, match="Mixing"):
        other.schedule_run()


def test_outputs_and_empty():
    pipe = Pipeline(1, 1, None, prefetch_queue_depth=2)
    with pipe:
        source = fn.external_source(source=[[np.array([i])] for i in range(3)])
        pipe.set_outputs(source)
    assert pipe.empty()
    pipe.schedule_run()
    assert not pipe.empty()
    got = [pipe.outputs()[0].at(0)[0] for _ in range(2)]
    pipe.schedule_run()
    got.append(pipe.outputs()[0].at(0)[0])
    assert got == [0, 1, 2] and pipe.empty()
    with pytest.raises(StopIteration):
        pipe.outputs()


def test_a_failed_batch_does_not_end_the_pipeline():
    good = Image.fromarray(np.full((4, 4, 3), 9, np.uint8))
    import io

    file = io.BytesIO()
    good.save(file, "png")
    png = np.frombuffer(file.getvalue(), np.uint8)

    @pipeline_def(batch_size=2, num_threads=1)
    def decode(on_bad):
        data = fn.external_source(source=[[png, png], [png, png[:20]], [png, png]])
        return fn.decoders.image(data)

    pipe = decode("raise")
    pipe.run()
    with pytest.raises(RuntimeError):
        pipe.run()
    assert pipe.run()[0].at(1).mean() == 9
    with pytest.raises(StopIteration):
        pipe.run()


def test_preserve_and_sinks():
    pipe = Pipeline(2, 1, None)
    with pipe:
        kept = fn.cast(types.Constant([1.5], device="cpu"), dtype=types.INT32)
        pipe.add_sink(kept)
        pipe.set_outputs(types.Constant([2], device="cpu"))
    outputs = pipe.run()
    assert len(outputs) == 1 and outputs[0].at(0).tolist() == [2]
    assert "cast" in pipe.describe()


def test_closed_pipelines():
    pipe = simple()
    (out,) = pipe.run()
    pipe.close()
    pipe.close()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.run()
    assert out.at(0).tolist() == [1.0, 2.0]


def test_pipelines_go_when_they_are_dropped(folders):
    pipe = train(folders)
    held = pipe.run()
    watch = weakref.ref(pipe)
    threads = len(list(Path("/proc/self/task").iterdir()))
    gc.disable()  # references alone must be enough
    try:
        del pipe
        assert watch() is None and len(list(Path("/proc/self/task").iterdir())) < threads
    finally:
        gc.enable()
    assert held[0].at(0).shape == (3, 16, 16)


def test_memory_does_not_grow():
    resource = pytest.importorskip("resource")

    def source(info):
        return np.full((50, 60, 3), info.idx_in_batch, np.uint8)

    @pipeline_def(batch_size=8, num_threads=2)
    def define():
        data = fn.external_source(source=source, batch=False, layout="HWC")
        data = fn.resize(data, size=[20, 20])
        return data, data + 1, fn.random.uniform(range=[0, 1])

    pipe = define()

    def peak(count):
        for _ in range(count):
            for out in pipe.run():
                np.asarray(out[0])
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    start = peak(200)
    assert peak(1500) - start < 3000  # kB; one lost batch each time would be 250 MB


@pytest.mark.timing
def test_python_time_per_batch():
    pipe = simple()
    for _ in range(200):
        pipe.run()
    start = time.process_time()
    for _ in range(1000):
        pipe.run()
    # CPU time of all threads, including the executor's, for such a small batch
    assert (time.process_time() - start) / 1000 < 500e-6


# ---- checkpoints and serialization ---------------------------------------------------------------


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_checkpoints_continue_exactly(folders, after, tmp_path):
    pipe = train(folders, enable_checkpointing=True)
    for _ in range(after):
        pipe.run()
    state = pipe.checkpoint(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == state
    expected = [arrays(pipe.run()) for _ in range(4)]
    again = train(folders, enable_checkpointing=True, checkpoint=state, num_threads=1)
    for outputs in expected:
        for a, b in zip(outputs, arrays(again.run()), strict=True):
            np.testing.assert_array_equal(a, b)
    assert again.is_restored_from_checkpoint


def test_checkpoints_of_sources():
    @pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
    def counting():
        return fn.external_source(source=lambda i: np.full((2, 1), i)), fn.random.uniform()

    pipe = counting()
    for _ in range(3):
        pipe.run()
    state = pipe.checkpoint()
    expected = arrays(pipe.run())
    got = arrays(counting(checkpoint=state).run())
    assert expected[0][0, 0] == 3
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b)

    @pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
    def iterating():
        return fn.external_source(source=[np.zeros((2, 1))])

    with pytest.warns(Warning, match="cannot be|can be resumed"):
        iterating().build()
    with pytest.raises(RuntimeError, match="enable_checkpointing"):
        simple().checkpoint()


def test_serialization(folders, tmp_path):
    pipe = train(folders)
    text = pipe.serialize(filename=tmp_path / "pipe")
    expected = arrays(pipe.run())
    empty = Pipeline()
    empty.deserialize_and_build(text)
    with pytest.raises(RuntimeError, match="built"):
        empty.deserialize_and_build(text)
    for again in (
        Pipeline.deserialize(text),
        Pipeline.deserialize(filename=tmp_path / "pipe", num_threads=1),
        empty,
    ):
        assert again.epoch_size() == {"Reader": 12}
        for a, b in zip(expected, arrays(again.run()), strict=True):
            np.testing.assert_array_equal(a, b)
    for bad in (b"", b"{}", b"[]", text[:-30], text.replace(b"readers.file", b"readers.none")):
        with pytest.raises(RuntimeError, match="Not a serialized pipeline"):
            Pipeline.deserialize(bad)
    with pytest.raises(ValueError):
        Pipeline.deserialize()
    fed = Pipeline(2, 1, None)
    with fed:
        fed.set_outputs(fn.external_source(name="in") + 1)
    fed = Pipeline.deserialize(fed.serialize())
    fed.feed_input("in", np.array([[1], [2]], np.int32))
    assert fed.run()[0].as_array().tolist() == [[2], [3]]


def test_dot_file(folders, tmp_path):
    train(folders).save_graph_to_dot_file(tmp_path / "graph.dot", show_tensors=True)
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph") and "readers.file" in text and "->" in text


# ---- processes and signals -----------------------------------------------------------------------

SCRIPT = """
    import os, signal, sys, time
    import numpy as np
    from headrace import fn, pipeline_def, types

    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def define():
        data, labels = fn.readers.file(file_root=sys.argv[1] if len(sys.argv) > 1 else ROOT)
        return fn.decoders.image(data), labels
"""


def script(folders, code, **env):
    return python(f"ROOT = {folders!r}\n" + textwrap.dedent(SCRIPT) + textwrap.dedent(code), **env)


def test_exit_with_a_running_pipeline(folders):
    done = script(folders, "pipe = define(); pipe.run(); held = pipe.run(); print('end')")
    assert done.returncode == 0 and done.stdout == "end\n" and done.stderr == ""
    done = script(folders, "pipe = define(); pipe.build(); sys.exit(3)")
    assert done.returncode == 3 and done.stderr == ""


def test_fork(folders):
    code = """
        pipe = define()
        outputs = pipe.run()
        child = os.fork()
        if child == 0:
            for call in (pipe.run, pipe.stats, pipe.reader_meta, pipe.explain, pipe.checkpoint):
                try:
                    call()
                except (RuntimeError, ValueError):
                    continue
                os._exit(1)
            assert outputs[0].at(0).ndim == 3
            fresh = define()
            fresh.run()
            del pipe, outputs
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        pipe.run()
        print("fine")
    """
    done = script(folders, code)
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr


def test_threads_share_a_pipeline(folders):
    from concurrent.futures import ThreadPoolExecutor

    pipe = train(folders)
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: len(pipe.run()[0]), range(24)))
    assert counts == [4] * 24
    assert pipe.stats()["iterations"] >= 24


# ---- texts for users ----


def test_nodes_have_one_name(folders: Path, tmp_path: Path) -> None:
    """Statistics, verdict, DOT and errors name a node by its operator and the user's line."""
    pipe = Pipeline(batch_size=4, num_threads=1, device_id=None)
    with pipe:
        data, _ = fn.readers.file(file_root=folders, name="Mine")
        image = fn.decoders.image(data)
        pipe.set_outputs(fn.resize(image, size=8), fn.python_function(image, function=_fails))
    with pytest.raises(RuntimeError) as raised:
        pipe.run()
    pipe.save_graph_to_dot_file(tmp_path / "graph.dot")
    nodes = {op["operator"]: op["node"] for op in pipe.stats()["operators"]}
    for operator, name in (
        ("readers.file", " 'Mine'"), ("decoders.image", ""), ("resize", ""), ("python_function", "")
    ):
        assert re.fullmatch(
            re.escape(operator + name) + r" \((.*/)?test_pipeline\.py:\d+\)", nodes[operator]
        )
        assert nodes[operator] in (tmp_path / "graph.dot").read_text()
    assert nodes["python_function"] in str(raised.value)
    assert "__" not in pipe.explain()


def _fails(_):
    raise RuntimeError("on purpose")


@pytest.mark.timing
def test_a_slow_python_source_is_named() -> None:
    pause = 0.01

    def slow(_):
        time.sleep(pause)
        return [np.zeros(3)] * 4

    pipe = Pipeline(batch_size=4, num_threads=1, device_id=None)
    with pipe:
        pipe.set_outputs(fn.external_source(source=slow))
    for _ in range(10):
        pipe.run()
    stats = pipe.stats()
    assert "the Python source" in pipe.explain().splitlines()[0]
    assert stats["source_s"] > 0.05 > stats["consumer_busy_s"]
    pause = 0
    for _ in range(10):
        pipe.run()
        time.sleep(0.2)
    assert "the consumer" in pipe.explain().splitlines()[0]


def test_no_threads_are_advised_without_cpus_for_them(folders: Path) -> None:
    usable = len(os.sched_getaffinity(0))
    for threads in (1, usable, usable + 3):
        pipe = Pipeline(batch_size=4, num_threads=threads, device_id=None)
        with pipe:
            pipe.set_outputs(fn.decoders.image(fn.readers.file(file_root=folders)[0]))
        for _ in range(30):
            pipe.run()
        verdict = pipe.explain().splitlines()[0]
        if "decoding" in verdict:
            assert ("more threads" in verdict) == (threads < usable)

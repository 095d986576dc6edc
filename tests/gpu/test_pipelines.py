# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines on a GPU against the same ones on the CPU: the bytes are equal."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from photos import encoded
from PIL import Image

from headrace import Pipeline, StreamPolicy, _graph, cli, fn, ops, pipeline_def, types
from headrace._graph import schema
from headrace.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from waiting import until

pytestmark = pytest.mark.usefixtures("module")

ARRAY = np.arange(2 * 8 * 6 * 3, dtype=np.uint8).reshape(2, 8, 6, 3)


@pipeline_def(batch_size=5, num_threads=2, seed=3)
def training(root: Any, gpu: bool) -> Any:
    files, labels = fn.readers.file(file_root=str(root), random_shuffle=True, name="reader")
    images = fn.decoders.image_random_crop(files, device="mixed" if gpu else "cpu")
    images = fn.resize(images, size=(48, 40))
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT16,
        mirror=fn.random.coin_flip(),
        mean=[120.0, 115.0, 100.0],
        std=[60.0, 58.0, 57.0],
    )
    return images, labels.gpu() if gpu else labels


def arrays(batch: Any) -> list[np.ndarray]:
    return [np.array(sample) for sample in batch.as_cpu()]


def assert_equal(left: Any, right: Any) -> None:
    for a, b in zip(left, right, strict=True):
        assert a.layout() == b.layout() and a.shape() == b.shape()
        for x, y in zip(arrays(a), arrays(b), strict=True):
            np.testing.assert_array_equal(x, y)


PICTURES = """
import sys
import numpy as np
from headrace import Pipeline, fn

pipe = Pipeline(batch_size=5, num_threads=2, device_id=0, index_cache=sys.argv[2])
with pipe:
    files, _ = fn.readers.file(file_root=sys.argv[1])
    pipe.set_outputs(fn.decoders.image(files, device="mixed"))
print(sum((np.asarray(picture) == 0x80).all() for picture in pipe.run()[0].as_cpu()))
print(pipe.stats()["transcoded_hits"])
"""


def test_progressive_files(fake: Any, tmp_path: Path) -> None:
    """The device decodes them, or baseline files that stand for them."""
    root, cache = tmp_path / "root", tmp_path / "cache"
    (root / "class0").mkdir(parents=True)
    for i in range(5):
        exif = Image.Exif()
        exif[0x0112] = 1 + i
        data = encoded(i, size=(150, 120), progressive=True, subsampling=i % 3, exif=exif)
        (root / "class0" / f"{i}.jpg").write_bytes(data)

    def on_device() -> tuple[int, bool]:
        command = [sys.executable, "-c", PICTURES, str(root), str(cache)]
        env = {**os.environ, "HEADRACE_FAKE_JPEG": "grey"}  # what the device decodes is grey
        out = subprocess.run(command, env=env, capture_output=True, check=True).stdout.split()
        return int(out[0]), int(out[1]) > 0

    assert on_device() == (5, False)
    assert cli.main(["index", str(root), "--cache", str(cache), "--transcode", "--no-progress"]) == 0
    assert on_device() == (5, True)
    plain = training(root, False, index_memory_limit=0)
    pipe = training(root, True, index_cache=cache, device_id=0)  # the device reports damage
    for _ in range(3):
        assert_equal(plain.run(), pipe.run())
    assert pipe.stats()["transcoded_hits"] >= 15


@pipeline_def(batch_size=6, num_threads=2, seed=5)
def as_torchvision(root: Any, gpu: bool) -> Any:
    def step(name: str, image: Any, **args: Any) -> Any:
        op = schema.operators()[f"_torchvision.{name}"]
        return _graph.call(op, op.class_name, [image], args)

    files, _ = fn.readers.file(file_root=str(root))
    images = fn.decoders.image(files, device="mixed" if gpu else "cpu")
    small = step("crop", step("resize", images, size=[40], max_size=47), size=[50, 20], fill=[7.0])
    window = step("area_crop", images, scale=[0.2, 0.9])
    cubic = {"size": [31, 90], "interp_type": types.INTERP_CUBIC}
    large = step("resize", step("resize", window, first_pass=True, **cubic), **cubic)
    padded = step("crop", images, padding=[3, 1, 0, 2], size=[40, 40], random=True, fill=[1.0])
    nearest = step("resize", images, size=[33, 140], interp_type=types.INTERP_NN)
    return small, large, padded, nearest


def test_as_torchvision(photos: Path) -> None:
    assert_equal(as_torchvision(photos, False).run(), as_torchvision(photos, True, device_id=0).run())


def test_training(photos: Path) -> None:
    cpu, gpu = training(photos, False), training(photos, True, device_id=0)
    for _ in range(12):
        expected, got = cpu.run(), gpu.run()
        assert all(type(batch) is TensorListGPU for batch in got)
        assert got[0].is_dense_tensor() and got[0].device_id() == 0
        assert_equal(expected, got)
    assert gpu.device_id == 0 and "on the device" in gpu.describe()


@pytest.mark.parametrize(
    "options",
    [
        {"fuse": False},
        {"prefetch_queue_depth": 1},
        {"exec_async": False, "exec_pipelined": False},
        {"exec_dynamic": True, "stream_policy": StreamPolicy.PER_OPERATOR},
        {"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 2}},
        {"device_memory_limit": 1 << 28},
    ],
)
def test_options(photos: Path, options: dict[str, Any]) -> None:
    expected, gpu = training(photos, False), training(photos, True, **options)
    for _ in range(3):
        assert_equal(expected.run(), gpu.run())
    assert gpu.device_id == 0  # the current one


def test_there_and_back(photos: Path) -> None:
    @pipeline_def(batch_size=4, num_threads=2, device_id=0)
    def both() -> Any:
        files, labels = fn.readers.file(file_root=str(photos))
        images = fn.decoders.image(files, device="mixed")
        shapes = images.shape()
        small = fn.resize(images, size=(20, 30))
        turned = fn.rotate(small.cpu(), angle=30.0)
        return images, shapes, fn.crop(turned.gpu(), crop=(8, 8)), fn.crop(turned, crop=(8, 8))

    images, shapes, there, here = both().run()
    assert [type(batch) for batch in (images, shapes, there, here)] == [
        TensorListGPU,
        TensorListCPU,
        TensorListGPU,
        TensorListCPU,
    ]
    assert [tuple(shape) for shape in arrays(shapes)] == images.shape()
    assert_equal([there], [here])
    with pytest.raises(RuntimeError, match="differ in shape"):
        images.as_tensor()


def test_classes(photos: Path) -> None:
    class Both(Pipeline):
        def __init__(self, gpu: bool) -> None:
            super().__init__(4, 2, 0 if gpu else None, seed=5)
            device = "gpu" if gpu else "cpu"
            self.gpu = gpu
            self.input = ops.readers.File(file_root=str(photos), random_shuffle=True)
            self.decode = ops.decoders.Image(device="cpu")
            self.resize = ops.Resize(device=device, size=(24, 24))
            self.rotate = ops.Rotate(device=device, angle=20.0, keep_size=True, fill_value=9)
            self.crop = ops.CropMirrorNormalize(device=device, dtype=types.FLOAT, crop=(16, 16))

        def define_graph(self) -> Any:
            files, labels = self.input()
            images = self.decode(files)
            small = self.resize(images.gpu() if self.gpu else images)
            return self.crop(self.rotate(small)), labels

    cpu, gpu = Both(False), Both(True)
    for _ in range(3):
        assert_equal(cpu.run(), gpu.run())


def test_what_outlives_the_pipeline(photos: Path) -> None:
    pipe = training(photos, True)
    held = [pipe.run() for _ in range(3)]
    expected = training(photos, False)
    sample = held[2][0][1]
    del pipe
    for outputs in held:
        assert_equal(expected.run(), outputs)
    want = arrays(held[2][0])[1]
    del held, outputs
    np.testing.assert_array_equal(sample.as_cpu(), want)


def test_stored_graphs_keep_devices(photos: Path) -> None:
    text = training(photos, True).serialize()
    pipe = Pipeline.deserialize(text)
    assert_equal(training(photos, False).run(), pipe.run())
    source = Pipeline(2, 1, 0)
    with source:
        source.set_outputs(fn.external_source(name="in", device="gpu", layout="HWC"))
    again = Pipeline.deserialize(source.serialize(), prefetch_queue_depth=1)
    again.feed_input("in", ARRAY)
    (out,) = again.run()
    assert type(out) is TensorListGPU
    np.testing.assert_array_equal(out.as_tensor().as_cpu(), ARRAY)


def test_resumes(photos: Path) -> None:
    pipe = training(photos, True, enable_checkpointing=True)
    for _ in range(3):
        pipe.run()
    state = pipe.checkpoint()
    rest = [pipe.run() for _ in range(2)]
    again = training(photos, True, enable_checkpointing=True, checkpoint=state)
    for outputs in rest:
        assert_equal(outputs, again.run())


def test_outputs_on_the_host_are_pinned(fake: Any) -> None:
    """Large batches use pinned memory if the pipeline has a device; without pinned memory it still works."""
    large = np.zeros((2, 2 << 20), np.uint8)

    @pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=1)
    def pipe() -> Any:
        data = fn.external_source(source=lambda i: large + np.uint8(i))
        return fn.cast(data, dtype=types.INT16)

    for device, failing, pinned in ((None, "", 0), (0, "", 1), (0, "host_alloc:1+", 0)):
        before = fake.counts().pinned
        fake.fail(failing)
        (out,) = pipe(device_id=device).run()
        assert (fake.counts().pinned > before) == bool(pinned)
        assert not out.as_array().any()
        del out
        fake.fail(None)


def test_batches_do_not_wait_for_indices(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Index entries that the device noted are stored after their batch was published."""
    if module.fake is not None:
        pytest.skip("needs a GPU: the fake module notes no entries")
    noise = np.random.default_rng(1).integers(0, 256, (5, 160, 200, 3), np.uint8)
    (tmp_path / "class").mkdir()
    for i, pixels in enumerate(noise):
        Image.fromarray(pixels).save(tmp_path / f"class/{i}.jpg", quality=90)
    monkeypatch.setenv("HEADRACE_STALL", "index:1000000")  # 1 s per file
    pipe = training(tmp_path, True, device_id=0, prefetch_queue_depth=1)
    pipe.build()
    pipe.run()
    assert pipe.stats()["index_made"] < 5
    until(lambda: pipe.stats()["index_made"] >= 5, "all indices are made")
    assert pipe.stats()["index_made"] == 5


@pipeline_def(batch_size=24, num_threads=2, seed=7)
def upright(root: Path, gpu: bool, adjust: bool = True) -> Any:
    files, _ = fn.readers.file(file_root=str(root))
    device = "mixed" if gpu else "cpu"
    same = {"device": device, "adjust_orientation": adjust}
    images = fn.decoders.image(files, **same)
    window = fn.decoders.image_crop(files, crop=(20, 31), crop_pos_x=0.3, crop_pos_y=0.8, **same)
    part = fn.decoders.image_random_crop(files, output_type=types.GRAY, **same)
    small = fn.resize(fn.decoders.image(files, **same), size=(24, 30))
    norm = fn.crop_mirror_normalize(
        fn.decoders.image(files, **same), dtype=types.FLOAT, crop=(32, 17), mirror=1, mean=[9.0]
    )
    cut = fn.random_resized_crop(fn.decoders.image(files, **same), size=(16, 16))
    return images, window, part, small, norm, cut


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs in all orientations and samplings."""
    root = tmp_path_factory.mktemp("turned")
    (root / "class").mkdir()
    for i in range(24):
        exif = Image.Exif()
        exif[0x0112] = 1 + i % 8
        data = encoded(i, size=(61, 42), subsampling=i // 8, exif=exif)
        (root / f"class/{i:02}.jpg").write_bytes(data)
    return root


@pytest.mark.parametrize("adjust", [True, False])
def test_turned_photographs(turned: Path, adjust: bool) -> None:
    cpu, gpu = upright(turned, False, adjust).run(), upright(turned, True, adjust).run()
    assert (cpu[0].shape()[5] == (61, 42, 3)) == adjust
    assert_equal(cpu, gpu)


def test_turned_photographs_are_decoded_on_the_device(turned: Path, fake: Any) -> None:
    one = turned / "class/05.jpg"  # orientation 6

    @pipeline_def(batch_size=1, num_threads=1)
    def pipe() -> Any:
        files, _ = fn.readers.file(files=[str(one)])
        return fn.decoders.image(files, device="mixed")

    fake.fail("jpeg_decode:1")
    with pytest.raises(RuntimeError, match="jpeg_decode: an injected"):
        pipe().run()


@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
def test_bad_files(photos: Path, tmp_path: Path, policy: str) -> None:
    """The GPU decoder reports the same errors as the CPU decoder."""
    root = tmp_path / "root"
    shutil.copytree(photos, root)
    broken = root / "class1/00.jpg"
    broken.write_bytes(b"not a picture at all")
    cut = root / "class1/03.jpg"
    cut.write_bytes(cut.read_bytes()[:700])
    bare = root / "class1/05.jpg"  # ends after its scan header
    data = bare.read_bytes()
    scan = data.index(b"\xff\xda") + 2
    bare.write_bytes(data[: scan + int.from_bytes(data[scan : scan + 2], "big")])
    pipes = [training(root, gpu, on_error=policy) for gpu in (False, True)]
    failures = 0
    for _ in range(6):
        results: list[Any] = []
        for pipe in pipes:
            try:
                results.append(pipe.run())
            except RuntimeError as error:
                results.append(str(error))
        if isinstance(results[0], str):
            failures += 1
            assert results[0] == results[1]
        else:
            assert_equal(*results)
    assert (failures > 0) == (policy == "raise")
    seen = [{e["message"] for e in pipe.errors() if e["iteration"] < 6} for pipe in pipes]
    assert seen[0] and seen[0] <= seen[1]  # a failed batch may skip files
    assert policy == "raise" or seen[0] == seen[1]
    assert policy == "raise" or any("no entropy-coded data" in message for message in seen[1])


# ---- sources ----


class Interface:
    """A GPU array of another library."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


def on_gpu(array: Any) -> TensorGPU:
    return TensorCPU(np.ascontiguousarray(array))._as_gpu()


@pytest.mark.parametrize("no_copy", [False, True])
@pytest.mark.parametrize(
    "give",
    [
        on_gpu,
        lambda a: Interface(on_gpu(a)),
        lambda a: [on_gpu(a[0]), Interface(on_gpu(a[1]))],
        lambda a: TensorListGPU([on_gpu(a[0]), on_gpu(a[1])]),
    ],
)
def test_external_source(give: Any, no_copy: bool) -> None:
    @pipeline_def(batch_size=2, num_threads=2, device_id=0)
    def pipe() -> Any:
        data = fn.external_source(
            source=lambda i: give(ARRAY + np.uint8(i)), device="gpu", layout="HWC", no_copy=no_copy
        )
        return data, fn.crop(data, crop=(4, 4)), data.cpu(), data.shape()

    made = pipe()
    for i in range(5):
        data, cropped, back, shapes = made.run()
        expected = ARRAY + np.uint8(i)
        np.testing.assert_array_equal(data.as_cpu().as_array(), expected)
        np.testing.assert_array_equal(cropped.as_cpu().as_array(), expected[:, 2:6, 1:5])
        np.testing.assert_array_equal(back.as_array(), expected)
        assert shapes.as_array().tolist() == [[8, 6, 3]] * 2
        assert data.layout() == "HWC"


def test_fed_by_hand() -> None:
    pipe = Pipeline(2, 1, 0, prefetch_queue_depth=1)
    with pipe:
        node = fn.external_source(name="in")
        moved = node.gpu()
        there = fn.external_source(name="there", device="gpu")
        pipe.set_outputs(fn.crop(moved, crop=(2, 2)), there)
    pipe.feed_input(moved, ARRAY, layout="HWC")
    pipe.feed_input(there, on_gpu(ARRAY), layout="HWC", cuda_stream=0)
    cropped, same = pipe.run()
    np.testing.assert_array_equal(cropped.as_cpu().as_array(), ARRAY[:, 3:5, 2:4])
    np.testing.assert_array_equal(same.as_cpu().as_array(), ARRAY)
    assert same.layout() == "HWC"
    with pytest.raises(RuntimeError, match="GPU memory, expected host memory"):
        pipe.feed_input("in", on_gpu(ARRAY))
    with pytest.raises(RuntimeError, match="CUDA stream must be an integer"):
        pipe.feed_input("there", on_gpu(ARRAY), cuda_stream="here")


def test_made_without_inputs() -> None:
    @pipeline_def(batch_size=3, num_threads=1, device_id=0, seed=4)
    def pipe(device: str) -> Any:
        return (
            fn.random.uniform(range=[0.0, 1.0], device=device),
            types.Constant([1, 2], device=device),
        )

    cpu, gpu = pipe("cpu").run(), pipe("gpu").run()
    assert all(type(batch) is TensorListGPU for batch in gpu)
    assert_equal(cpu, gpu)


# ---- devices that fail, and several ----


@pytest.mark.parametrize("device", [99, -5])
def test_missing_device(device: int) -> None:
    with Pipeline(2, 1, device) as pipe:
        pipe.set_outputs(types.Constant([1], device="gpu"))
    with pytest.raises(RuntimeError, match=rf"test_pipelines.py:\d+.*device_id is {device}"):
        pipe.build()


def test_memory_limit(photos: Path) -> None:
    pipe = training(photos, True, device_memory_limit=1 << 16)
    with pytest.raises(MemoryError, match="device_memory_limit"):
        pipe.run()


def test_little_memory(photos: Path) -> None:
    """Batches that do not fit into memory together are made one after the other."""
    cpu, gpu = training(photos, False), training(photos, True, device_memory_limit=3 << 20)
    for _ in range(20):
        assert_equal(cpu.run(), gpu.run())


def test_held_outputs(photos: Path) -> None:
    """Batches in pinned memory count as host memory; releasing some lets the pipeline continue."""

    @pipeline_def(batch_size=4, num_threads=2, device_id=0, host_memory_limit=64 << 20)
    def pipe() -> Any:
        files, _ = fn.readers.file(file_root=str(photos))
        return fn.resize(fn.decoders.image(files, device="mixed"), size=(512, 512)).cpu()

    made, held = pipe(), []
    with pytest.raises(MemoryError, match="host_memory_limit"):
        for _ in range(40):
            held.append(made.run())
    assert len(held) > 5
    held.clear()
    assert made.run()[0].as_tensor().shape() == [4, 512, 512, 3]


def test_second_device(photos: Path, fake: Any) -> None:
    pipes = [training(photos, True, device_id=i) for i in range(2)]
    for _ in range(3):
        outputs = [pipe.run() for pipe in pipes]
        assert [batches[0].device_id() for batches in outputs] == [0, 1]
        assert_equal(*outputs)
    with Pipeline(2, 1, 1) as pipe:
        pipe.set_outputs(fn.external_source(name="in", device="gpu", no_copy=True))
    pipe.build()
    with pytest.raises(RuntimeError, match="data are on GPU 0, but the pipeline runs on GPU 1"):
        pipe.feed_input("in", on_gpu(ARRAY))


def test_threads(photos: Path) -> None:
    """Several pipelines on one device, each used by a thread of its own."""
    cpu = training(photos, False)
    expected = [cpu.run() for _ in range(12)]
    pipes = [training(photos, True) for _ in range(4)]

    def take(pipe: Any) -> list[Any]:
        return [pipe.run() for _ in expected]

    with ThreadPoolExecutor(len(pipes)) as pool:
        for results in pool.map(take, pipes):
            for left, right in zip(expected, results, strict=True):
                assert_equal(left, right)


def test_forked(photos: Path) -> None:
    """In a forked child, the pipeline and GPU memory raise; the parent continues."""
    pipe = training(photos, True)
    held = pipe.run()
    child = os.fork()
    if child == 0:
        refused = 0
        for use, text in ((pipe.run, "before the process forked"), (held[0].as_cpu, "before the fork")):
            try:
                use()
            except RuntimeError as error:
                refused += text in str(error)
        del use, held, pipe
        gc.collect()
        os._exit(0 if refused == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    expected = training(photos, False)
    assert_equal(expected.run(), held)
    assert_equal(expected.run(), pipe.run())


def test_interrupted(photos: Path) -> None:
    """After Ctrl-C in the middle of an epoch, the pipeline continues and ends normally."""
    pipe = training(photos, True)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    taken = 0
    with pytest.raises(KeyboardInterrupt):
        while True:
            pipe.run()
            taken += 1
    timer.join()
    assert taken
    pipe.run()


def test_other_devices_are_left_alone(photos: Path, module: Any) -> None:
    """A pipeline on the second GPU creates no context on the first one."""
    if module.fake or len(list(Path("/proc/driver/nvidia/gpus").glob("*"))) < 2:
        pytest.skip("there are no two GPUs")
    code = f"""
import ctypes, sys
sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}
from test_pipelines import training
pipe = training({str(photos)!r}, True, device_id=1)
outputs = [pipe.run() for _ in range(3)]
outputs[0][0].as_cpu()
del pipe, outputs
flags, active = ctypes.c_uint(), ctypes.c_int(-1)
assert ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active)) == 0
assert active.value == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "kind",
    "host_alloc alloc stream_create event_create event_record event_wait copy use jpeg_decode "
    "program_run".split(),
)
def test_calls_that_fail(photos: Path, fake: Any, kind: str) -> None:
    """A failing CUDA call ends the pipeline with an error; the next pipeline runs."""
    seen = 0
    for number in (1, 2, 5):
        fake.fail(f"{kind}:{number}+")
        try:
            pipe = training(photos, True)
            for _ in range(10):
                pipe.run()
        except (RuntimeError, MemoryError) as error:
            assert re.search(rf"\(\S+test_pipelines.py:\d+\).*{kind}: an injected", str(error))
            seen += 1
        fake.fail(None)
        del pipe
    assert seen
    assert_equal(training(photos, False).run(), training(photos, True).run())


@pipeline_def(batch_size=10, num_threads=2, seed=5, enable_conditionals=True)
def branches(root: Any, gpu: bool, kind: int) -> Any:
    files, _ = fn.readers.file(file_root=str(root), random_shuffle=True, name="reader")
    images = fn.decoders.image(files, device="mixed" if gpu else "cpu")
    if kind == 0:
        if fn.random.coin_flip():
            images = fn.flip(images)
    elif kind == 1:
        if fn.random.coin_flip():
            images = fn.flip(fn.resize(images, size=(30, 30)))
        else:
            images = fn.resize(images, size=(40, 30))
            if fn.random.coin_flip():
                images = fn.flip(images, vertical=1)
    elif kind == 2:
        if fn.random.coin_flip():
            images = fn.resize(images, size=(32, 32))
        else:
            images = fn.constant(
                idata=[7],
                shape=[32, 32, 3],
                dtype=types.UINT8,
                layout="HWC",
                device="gpu" if gpu else "cpu",
            )
    else:
        if fn.random.coin_flip():  # to the largest sample of the branch
            images = fn.pad(images, fill_value=9, axis_names="HW")
        else:
            images = fn.slice(
                images[:, :, ::-1], start=[-3, 2], shape=[30, 30], out_of_bounds_policy="pad"
            )
        images = fn.permute_batch(images, indices=list(range(9, -1, -1)))
    return fn.resize(images, size=(24, 24))


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("kind", range(4))
def test_branches(photos: Path, kind: int, fuse: bool) -> None:
    """Operators in a branch get the samples that take it."""
    cpu, gpu = branches(photos, False, kind), branches(photos, True, kind, device_id=0, fuse=fuse)
    for _ in range(4):
        expected, got = cpu.run(), gpu.run()
        assert type(got[0]) is TensorListGPU
        assert_equal(expected, got)
    assert gpu.describe().count(" if #") >= 1


def test_branches_of_two_devices() -> None:
    """Predicates must be on the CPU, and both branches must return data on the same device."""

    @pipeline_def(batch_size=2, num_threads=1, device_id=0, enable_conditionals=True)
    def on(gpu_predicate: bool) -> Any:
        x = fn.random.uniform(shape=[3], device="gpu")
        yes = fn.random.coin_flip(device="gpu" if gpu_predicate else "cpu")
        if yes:
            y = x
        else:
            y = x.cpu()
        return y

    with pytest.raises(ValueError, match=r"Invalid device \"gpu\" .*'predicate'.*use .cpu\(\)"):
        on(True).build()
    with pytest.raises(RuntimeError, match=r"merge.*test_pipelines.py.*incompatible device"):
        on(False).build()


def test_inputs_that_the_host_needs() -> None:
    """Matrices, anchors and shapes may be on the GPU, as in DALI."""
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 255, (20, 30, 3), np.uint8) for _ in range(3)]
    matrices = [np.float32([[1, 0.1 * i, i], [0, 1, 2]]) for i in range(3)]
    corners = [np.float32([0.1 * i, 0.2]) for i in range(3)]

    @pipeline_def(batch_size=3, num_threads=2, device_id=0)
    def on(device: str) -> Any:
        def fed(values: list[Any], layout: str = "") -> Any:
            return fn.external_source(lambda: values, layout=layout)

        def placed(node: Any) -> Any:
            return node.gpu() if device == "gpu" else node

        picture = fed(pictures, "HWC").gpu()
        matrix, corner, half = fed(matrices), fed(corners), fed([np.float32([0.5, 0.5])] * 3)
        warped = fn.warp_affine(picture, placed(matrix), size=(16, 16), fill_value=7)
        return warped, fn.slice(picture, placed(corner), placed(half))

    wanted, found = on("cpu").run(), on("gpu").run()
    for one, other in zip(wanted, found):
        for i in range(3):
            np.testing.assert_array_equal(np.array(one.as_cpu()[i]), np.array(other.as_cpu()[i]))
    assert not np.array_equal(np.array(found[0].as_cpu()[0]), np.array(found[0].as_cpu()[1]))


def test_outputs_of_a_branch() -> None:
    """Outputs inside a branch have only the samples that take the branch, on both devices; empty batches are allowed."""
    fed = iter([[1, 2, 3, 0], [], [0, 0], [5]])

    @pipeline_def(batch_size=4, num_threads=2, device_id=0, enable_conditionals=True)
    def define() -> Any:
        x = fn.external_source(lambda: [np.int32(v) for v in next(fed)])
        found = []
        if x > 1:
            y = x.gpu() + 1
            found += [y, y.cpu() * 2]
        else:
            y = x.gpu()
        return y, *found

    pipe = define()
    runs = [[[int(np.array(t)) for t in out.as_cpu()] for out in pipe.run()] for _ in range(4)]
    assert runs == [
        [[1, 3, 4, 0], [3, 4], [6, 8]],
        [[], [], []],
        [[0, 0], [], []],
        [[6], [6], [12]],
    ]


def test_pipelines_leak_nothing(photos: Path, module: Any) -> None:
    """Pipelines do not leak, on a GPU or with the fake module, whose fixture also checks for live objects.

    Resident memory says little, because malloc keeps what the fake module's threads free."""
    if not module.fake and int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
        pytest.skip("other processes of the tests use the memory of the GPU, too")
    used: list[int] = []
    heap: list[int] = []
    many = 100 if module.fake else 1000
    for i in range(many + 1):
        pipe = training(photos, True, device_id=0)
        pipe.run()
        del pipe
        if i in (many // 10, many):
            gc.collect()
            used.append(module.counts().bytes if module.fake else _device_memory())
            heap.append(_heap())
    assert used[1] <= used[0], used
    assert heap[1] <= heap[0] + (many << 11), heap  # mostly Python's


def test_trace_shows_the_gpu(photos: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    pipe = training(photos, True, device_id=0, trace=str(file))
    for _ in range(3):
        pipe.run()
    pipe.close()
    events = json.loads(file.read_text())["traceEvents"]
    lanes = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M"}
    assert {"worker 0", "GPU"} <= set(lanes) <= {"worker 0", "worker 1", "GPU"}
    spans = [e for e in events if e["ph"] == "X" and e["tid"] == lanes["GPU"]]
    assert len(spans) >= 3 and all(span["args"]["sample"] == -1 for span in spans)
    for span, following in zip(spans, spans[1:]):
        assert 0 < span["dur"] and span["ts"] + span["dur"] <= following["ts"] + 0.002
    first, _, last = spans[0]["name"].partition(" .. ")
    assert first.startswith("decoders.image_random_crop") and last.startswith("_to_gpu")


class _Mallinfo(ctypes.Structure):
    """struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def _heap() -> int:
    """Bytes allocated by malloc, in all of its arenas."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return 0
    library.mallinfo2.restype = _Mallinfo
    info = library.mallinfo2()
    return int(info.hblkhd + info.uordblks)  # mapped and in arenas


def _device_memory() -> int:
    """Allocated bytes of the GPU's memory."""
    torch = pytest.importorskip("torch")
    free, total = torch.cuda.mem_get_info()
    return int(total - free)

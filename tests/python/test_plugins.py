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
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
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
    assert dir(fn.example) == ["above", "invert", "scale"] and "example" in dir(fn)
    assert dir(ops.example) == ["Above", "Invert", "Scale"]
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
        assert 'Argument "treshold" is not defined for operator "Above"' in str(error)
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

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""DALI's modules: implemented ones under all their names, missing ones as stand-ins."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import headrace
import pytest
from headrace import plugin_manager, sysconfig
from headrace._base import dali_names as _dali_names

NEEDS_TORCH = {
    name
    for name in _dali_names.MODULES
    if name.startswith("plugin.pytorch") and importlib.util.find_spec("torch") is None
}
MISSING = sorted(_dali_names.MODULES.keys() - NEEDS_TORCH)


@pytest.mark.parametrize("path", MISSING)
def test_missing_modules_import_and_refuse_use(path):
    module = importlib.import_module(f"headrace.{path}")
    if getattr(module, "__file__", None):
        pytest.skip("it is no longer missing: take it out of the list")
    scope: dict[str, object] = {}
    exec(f"from headrace.{path} import *", scope)
    for name in _dali_names.MODULES[path]:
        if f"{path}.{name}" in _dali_names.MODULES:
            continue
        thing = scope[name]
        with pytest.raises(NotImplementedError, match=f"`{path}.{name}` of DALI is not part"):
            thing()
        with pytest.raises(NotImplementedError, match="not part of this version"):
            _ = thing.something
        with pytest.raises(NotImplementedError, match="not part of this version"):
            exec("class Derived(thing): pass", {"thing": thing})
        assert not isinstance(3, thing)
        assert name in repr(thing)
    with pytest.raises(AttributeError):
        _ = module.no_such_name
    with pytest.raises(ImportError):
        exec(f"from headrace.{path} import no_such_name")


def test_a_module_that_dali_does_not_have():
    with pytest.raises(ModuleNotFoundError, match="No module named 'headrace.auto_aug.nothing'"):
        importlib.import_module("headrace.auto_aug.nothing")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("headrace.nothing")
    assert importlib.util.find_spec("headrace.plugin.nothing") is None


@pytest.mark.live_dali
def test_names_are_those_of_dali():
    looked_at = 0
    for path, names in _dali_names.MODULES.items():
        try:
            module = importlib.import_module(f"nvidia.dali.{path}")
        except ImportError:
            continue  # DALI's module requires a framework that is not installed
        assert [n for n in names if not hasattr(module, n)] == [], path
        looked_at += len(names)
    assert looked_at > 0


@pytest.mark.live_dali
def test_top_level_modules():
    # In a fresh process: importing a module makes it an attribute of the package.
    code = "import nvidia.dali; print(*dir(nvidia.dali))"
    names = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    internal = {"internal", "reducers", "python_function_plugin"}
    ours = set(dir(headrace))
    for name in names:
        if name.startswith("_") or name in internal:
            continue
        assert hasattr(headrace, name) and name in ours, name


def test_backend_impl_is_backend():
    import headrace.backend_impl as again
    from headrace import backend, backend_impl
    from headrace.backend_impl import TensorListCPU, types

    assert again is backend is backend_impl is sys.modules["headrace.backend_impl"]
    assert TensorListCPU is headrace.tensors.TensorListCPU and types is headrace.types


def test_modules_that_scripts_import_by_their_names_in_dali():
    import headrace.experimental.dynamic as ndd
    from headrace.auto_aug import augmentations
    from headrace.auto_aug.core._utils import get_translations
    from headrace.experimental.dynamic._batch import Batch
    from headrace.experimental.dynamic._tensor import Tensor

    assert Batch is ndd.Batch and Tensor is ndd.Tensor
    x, y = get_translations(True, 250, 1.0)
    assert x.op is augmentations.translate_x.op and y.op is augmentations.translate_y.op


def test_experimental_pipeline_def():
    import headrace.pipeline.experimental as experimental
    from headrace.pipeline.experimental import pipeline_def

    assert pipeline_def is experimental.pipeline_def is headrace.pipeline.experimental.pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe():
        return headrace.types.Constant([3], device="cpu")

    assert pipe().run()[0].at(0).tolist() == [3]


def test_plugin_manager(tmp_path: Path):
    with pytest.raises(RuntimeError, match="Failed to load library"):
        plugin_manager.load_library("no_such_library.so")
    library = tmp_path / "x" / "libdali_x.so"
    library.parent.mkdir()
    library.write_bytes(b"text")
    with pytest.raises(RuntimeError, match="Failed to load library: .*libdali_x.so"):
        plugin_manager.load_library(str(library))
    with pytest.raises(RuntimeError, match="libdali_x.so"):
        plugin_manager.load_directory(str(tmp_path))
    plugin_manager.load_directory(str(tmp_path / "x"))  # no libraries in a subfolder


def test_sysconfig(installed: None):
    package = Path(headrace.__file__).parent
    assert Path(sysconfig.get_lib_dir()) == package.resolve()
    assert sysconfig.get_include_flags() == [f"-I{sysconfig.get_include_dir()}"]
    assert sysconfig.get_include_flags()[0] in sysconfig.get_compile_flags()
    assert sysconfig.get_link_flags() == []
    assert (Path(sysconfig.get_include_dir()) / "headrace" / "plugin.h").is_file()
    assert (Path(sysconfig.get_cmake_dir()) / "headrace-config.cmake").is_file()


def test_dlpack_capsules_are_recognized():
    import numpy as np
    from headrace.backend import CheckDLPackCapsule
    from headrace.tensors import TensorListCPU

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for capsule in (array.__dlpack__(), array.__dlpack__(max_version=(1, 0))):
        assert CheckDLPackCapsule(capsule) == (True, False)
        np.testing.assert_array_equal(TensorListCPU(capsule).as_array(), array)
        assert CheckDLPackCapsule(capsule) == (False, False), "it has been consumed"
    for other in (None, array, 7):
        assert CheckDLPackCapsule(other) == (False, False)


def test_devices_of_dlpack():
    import numpy as np
    from headrace import backend

    tensor = backend.TensorCPU(np.zeros(3))
    assert tensor.__dlpack_device__() == (backend.DLDeviceType.kDLCPU, 0)
    assert np.zeros(3).__dlpack_device__()[0] == backend.DLDeviceType.kDLCPU


def test_names_that_scripts_ask_for():
    from headrace import backend, ops
    from headrace.data_node import DataNode

    assert ops._DataNode is DataNode
    assert 12000 <= backend.__cuda_version__ < 99000  # as 1000 * major + 10 * minor


def test_a_device_that_is_missing_is_named(child):
    """Scripts fall back to the CPU on this message."""
    output = child(
        """
        from headrace import Pipeline, fn
        pipe = Pipeline(batch_size=1, num_threads=1, device_id=0)
        with pipe:
            pipe.set_outputs(fn.constant(idata=[1]).gpu())
        try:
            pipe.build()
        except RuntimeError as error:
            print(error)
        from headrace import backend
        print("devices:", backend.GetCUDADeviceCount())
        """,
        HEADRACE_CUDA_MODULE="/no/such/module",
    )
    assert "devices: 0" in output
    assert 'device="gpu": the pipeline requires a CUDA-capable GPU but none can be used: ' in output


@pytest.mark.parametrize("under", [False, True])
def test_renamed_operators_are_named_as_the_script_does(child, under):
    output = child(
        f"""
        import warnings
        if {under}:
            import headrace.as_dali
            headrace.as_dali.install()
            from nvidia.dali import Pipeline, fn
        else:
            from headrace import Pipeline, fn
        with Pipeline(batch_size=1, num_threads=1, device_id=None), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fn.coin_flip()
        print(*[w.message for w in caught])
        """
    )
    package = "nvidia.dali" if under else "headrace"
    assert (
        f"`{package}.fn.coin_flip` is now deprecated. Use `{package}.fn.random.coin_flip`" in output
    )


def test_dir_lists_public_names() -> None:
    names = dir(headrace)
    assert {"Pipeline", "fn", "ops", "types", "pipeline_def", "plugin_manager"} <= set(names)
    assert [name for name in names if name.startswith("_")] == ["__version__"]
    assert all(hasattr(headrace, name) for name in names)

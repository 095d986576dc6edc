# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`python -m headrace.as_dali`: scripts for nvidia.dali run unchanged, and so do their child processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest
from pictures import make_folders
from waiting import HANG_S

SCRIPT = """
import os, subprocess, sys
import nvidia.dali as dali
import nvidia.dali.fn as fn
from nvidia.dali import Pipeline, pipeline_def, types
from nvidia.dali.pipeline import Pipeline as Again
import nvidia.dali.types as types_again

@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def pipe():
    return fn.random.uniform(values=[1.0], shape=[2])

def in_child(queue):
    import nvidia.dali
    queue.put((nvidia.dali.__version__, nvidia.dali.fn.__name__))

if __name__ == "__main__":
    import headrace
    import multiprocessing
    assert Pipeline is Again is headrace.Pipeline and types is types_again is headrace.types
    assert fn is headrace.fn and fn.__spec__.name == "headrace.fn"
    assert dali.__version__ == "2.4.0" and headrace.__version__ != "2.4.0"
    (out,) = pipe().run()
    assert out.at(0).tolist() == [1.0, 1.0]
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=HANG_S) == ("2.4.0", "headrace.fn")
    child.join()
    code = "import nvidia.dali as d; print(d.__version__, d.fn.__name__)"
    text = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout
    assert text == "2.4.0 headrace.fn\\n", text
    print("done", sys.argv[1:], os.path.basename(__file__))
    sys.exit(3)
""".replace("HANG_S", str(HANG_S))


def run(
    *args: str, cwd: Path, python: str = sys.executable, alone: bool = False, **env: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program under `headrace.as_dali`. `alone`: of the packages that are installed, it sees only this one
    and NumPy, because DALI itself may be among them."""
    import headrace
    import numpy as np

    packages = Path(headrace.__file__).parent.parent
    command = [python, *(["-S"] if alone else []), "-m", "headrace.as_dali", *args]
    paths = [p for p in (env.pop("PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")) if p]
    if alone:
        paths, packages = paths[:1], cwd / "packages"
        packages.mkdir()
        numpy = Path(np.__file__).parent
        for package in (Path(headrace.__file__).parent, numpy, numpy.with_name("numpy.libs")):
            if package.exists():
                (packages / package.name).symlink_to(package)
    # The package under test comes first, wherever it is imported from.
    paths.insert(0, str(packages))
    full = {**os.environ, **env, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        command, cwd=cwd, env=full, capture_output=True, text=True, timeout=HANG_S
    )


def test_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("script.py", "a", "--b", cwd=tmp_path)
    assert done.stdout.splitlines()[-1:] == ["done ['a', '--b'] script.py"], done.stderr
    assert done.returncode == 3


def test_module(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("-m", "script", "x", cwd=tmp_path)
    assert "done ['x'] script.py" in done.stdout, done.stderr


def test_module_tree(tmp_path: Path) -> None:
    code = """
    import importlib
    names = "fn ops types pipeline backend math tensors data_node plugin.pytorch"
    names += " plugin.base_iterator fn.readers fn.decoders fn.random ops.readers"
    for name in names.split():
        module = importlib.import_module("nvidia.dali." + name)
        assert module is importlib.import_module("headrace." + name), name
    import nvidia.dali.fn.readers
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
    """
    done = run("-c", textwrap.dedent(code), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("statement", "use"),
    [
        ("import nvidia.dali.plugin.triton as m", "m.autoserialize()"),
    ],
)
def test_missing_modules_say_so_on_use(tmp_path: Path, statement: str, use: str) -> None:
    code = f"{statement}\nprint('imported')\ntry:\n    {use}.x\nexcept NotImplementedError as e:\n    print(e)"
    done = run("-c", code, cwd=tmp_path)
    assert done.stdout.startswith("imported\n"), done.stderr
    assert "is not part of this version of Headrace" in done.stdout, done.stdout + done.stderr


def test_names_that_dali_has_for_modules(tmp_path: Path) -> None:
    code = """
    import nvidia.dali.backend_impl as b
    import nvidia.dali.plugin_manager, nvidia.dali.sysconfig
    import nvidia.dali.pipeline.experimental
    import nvidia.dali as dali
    from nvidia.dali.backend_impl import TensorCPU
    from nvidia.dali.pipeline.experimental import pipeline_def
    assert b is dali.backend is dali.backend_impl
    assert pipeline_def is dali.pipeline.experimental.pipeline_def
    """
    done = run("-c", textwrap.dedent(code), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


# virtualenv before 21 and uv before 0.13 add a finder to the meta path of every process, through a .pth file. Its
# class happens to be called `_Finder`, too.
FOREIGN_FINDER = """
import sys

class _Finder:
    def find_spec(self, fullname, path, target=None):
        return None

class _Dali(type(sys)):
    pass

sys.meta_path.insert(0, _Finder())
"""


@pytest.fixture(scope="module")
def foreign_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment that has such a finder."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "_virtualenv.py").write_text(FOREIGN_FINDER)
    (packages / "_virtualenv.pth").write_text("import _virtualenv\n")
    return str(folder / "bin" / "python")


@pytest.mark.parametrize("spelling", ["module", "script", "child", "call"])
def test_beside_a_finder_of_the_same_name(
    tmp_path: Path, foreign_python: str, spelling: str
) -> None:
    check = """
import sys
names = [type(f).__name__ for f in sys.meta_path]
assert names.count("_Finder") == 2, names
import nvidia.dali as d
print(d.__version__, d.fn.__name__)
"""
    (tmp_path / "check.py").write_text(check)
    spawn = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {check!r}], check=True)"
    arguments = {
        "module": ["-m", "check"],
        "script": ["check.py"],
        "child": ["-c", spawn],
        "call": ["-c", "import headrace.as_dali as a; a.install(); a.install()\n" + check],
    }[spelling]
    done = run(*arguments, cwd=tmp_path, python=foreign_python)
    assert done.stdout == "2.4.0 headrace.fn\n", done.stderr


def test_install_with_foreign_names_around() -> None:
    """In a process that `as_dali` did not start: the marker is checked, not the name."""
    code = FOREIGN_FINDER + (
        "import headrace.as_dali as a\n"
        "assert not any(map(a._is_ours, sys.meta_path))\n"
        "sys.modules['nvidia.dali'] = _Dali('nvidia.dali')\n"
        "try:\n    a.install()\nexcept RuntimeError as e:\n    print(e)\n"
        "del sys.modules['nvidia.dali']\n"
        "a.install(); a.install()\n"
        "assert sum(map(a._is_ours, sys.meta_path)) == 1\n"
        "import nvidia.dali; a.install(); print(nvidia.dali.__version__)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.stdout.splitlines() == [
        "nvidia.dali is imported already: call headrace.as_dali.install() before",
        "2.4.0",
    ], done.stderr


@pytest.mark.parametrize("kind", ["namespace", "regular"])
@pytest.mark.parametrize("first", ["nvidia.other", "nvidia.dali"])
def test_beside_installed_dali(tmp_path: Path, kind: str, first: str) -> None:
    """`nvidia` is on disk with other packages and with DALI itself, which must not be changed."""
    nvidia = tmp_path / "site" / "nvidia"
    for name in ("other", "dali", "dali/fn", "dali/ops"):
        (nvidia / name).mkdir(parents=True, exist_ok=True)
        (nvidia / name / "__init__.py").write_text("x = 5\n" if name == "other" else "1 / 0\n")
    (nvidia / "dali" / "only_there.py").write_text("1 / 0\n")
    if kind == "regular":
        (nvidia / "__init__.py").write_text("")
    code = f"""
    import {first}
    import nvidia.other, nvidia.dali.fn, nvidia.dali.ops
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    try:
        import nvidia.dali.only_there
    except ModuleNotFoundError:
        print(nvidia.other.x, nvidia.dali.__version__, nvidia.dali.fn.__name__)
    """
    site = str(tmp_path / "site")
    done = run("-c", textwrap.dedent(code), cwd=tmp_path, alone=True, PYTHONPATH=site)
    assert done.stdout == "5 2.4.0 headrace.fn\n", done.stderr


def test_other_nvidia_packages_stay(tmp_path: Path) -> None:
    package = tmp_path / "site" / "nvidia" / "other"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("x = 5\n")
    code = "import nvidia.dali, nvidia.other; print(nvidia.other.x, nvidia.dali.__version__)"
    done = run("-c", code, cwd=tmp_path, alone=True, PYTHONPATH=str(tmp_path / "site"))
    assert done.stdout == "5 2.4.0\n", done.stderr


def test_a_sitecustomize_that_is_there_still_runs(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import builtins; builtins.customized = True\n")
    inner = "import nvidia.dali; print(customized, nvidia.dali.__version__)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    done = run("-c", code, cwd=tmp_path, PYTHONPATH=str(site))
    assert done.stdout == "True 2.4.0\n", done.stderr


def test_no_such_script(tmp_path: Path) -> None:
    done = run("nothing.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "headrace.as_dali: no such file: nothing.py\n"


def test_torch_distributed_children(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "rank.py").write_text(
        "import os, nvidia.dali as d\n"
        "open('rank' + os.environ['RANK'], 'w').write(d.__version__ + d.fn.__name__)\n"
    )
    run(
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        "rank.py",
        cwd=tmp_path,
    )
    assert [(tmp_path / f"rank{i}").read_text() for i in range(2)] == ["2.4.0headrace.fn"] * 2


@pytest.mark.parametrize(
    "example", ["python/training_pipeline", "python/class_api", "pytorch/train_cpu"]
)
def test_examples_written_for_dali(tmp_path: Path, example: str) -> None:
    pytest.importorskip("torch")
    folder = make_folders(tmp_path / "set", 3)
    text = (Path(__file__).resolve().parents[2] / "examples" / f"{example}.py").read_text()
    assert "from headrace" in text
    (tmp_path / "script.py").write_text(text.replace("from headrace", "from nvidia.dali"))
    done = run("script.py", str(folder), cwd=tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("module", [False, True])
def test_tracebacks_begin_at_the_script(tmp_path: Path, module: bool) -> None:
    (tmp_path / "broken.py").write_text("def f():\n    raise ValueError('mine')\n\nf()\n")
    name = ["-m", "broken"] if module else ["broken.py"]
    done = run(*name, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.rstrip().endswith("ValueError: mine")
    assert "runpy" not in done.stderr and "as_dali" not in done.stderr.replace(str(tmp_path), "")
    assert done.stderr.count("File ") == 2


@pytest.mark.parametrize(
    "framework, plugin",
    [("jax", "jax"), ("tensorflow", "tf"), ("paddle", "paddle"), ("numba", "numba")],
)
def test_plugins_name_the_framework_that_is_not_installed(
    tmp_path: Path, framework: str, plugin: str
) -> None:
    code = f"import sys; sys.modules[{framework!r}] = None; import nvidia.dali.plugin.{plugin}"
    done = run("-c", code, cwd=tmp_path)
    assert f"ModuleNotFoundError: import of {framework}" in done.stderr, done.stderr

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The code in README.md and CONTRIBUTING.md works as printed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def snippets(document: str, language: str) -> list[str]:
    """The fenced blocks of `language` in a document of the repository."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def make_classes(root: Path, classes: int, each: int) -> None:
    """Class folders of JPEG gradients."""
    from PIL import Image

    for label in range(classes):
        folder = root / f"class{label}"
        folder.mkdir(parents=True)
        for i in range(each):
            size = (240 + 16 * i, 200 + 8 * label)
            Image.linear_gradient("L").resize(size).convert("RGB").save(folder / f"{i}.jpg")


def test_readme_pipeline(tmp_path: Path) -> None:
    """The training loop of the README delivers every image of every class once per epoch."""
    torch = pytest.importorskip("torch")
    make_classes(tmp_path / "imagenet" / "train", classes=3, each=30)
    source = snippets("README.md", "python")[0]
    source = source.replace("imagenet/train", str(tmp_path / "imagenet" / "train"))
    assert "for images, labels in Loader(" in source
    source += "    seen.append((images, labels))\n"
    seen: list[tuple[object, object]] = []
    exec(compile(source, "README.md", "exec"), {"seen": seen})
    images = [image for image, _ in seen]
    labels = torch.cat([label for _, label in seen])
    assert [tuple(image.shape) for image in images] == [(64, 3, 224, 224), (26, 3, 224, 224)]
    assert all(image.dtype == torch.float32 and image.std() > 0.1 for image in images)
    assert torch.bincount(labels).tolist() == [30, 30, 30]


def test_contributing_operator(tmp_path: Path) -> None:
    """The operator of CONTRIBUTING.md compiles without warnings and is found by the registry."""
    compiler, plus = shutil.which("cc"), shutil.which("c++")
    if not compiler or not plus:
        pytest.skip("no compilers for C and C++")
    header = tmp_path / "ops" / "math" / "above.h"
    header.parent.mkdir(parents=True)
    source, kernel = tmp_path / "above.c", tmp_path / "above.cu"
    texts = [*snippets("CONTRIBUTING.md", "c")[:2], *snippets("CONTRIBUTING.md", "cpp")]
    for path, text in zip((header, source, kernel), texts, strict=True):
        path.write_text(text)
    common = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    common += [f"-I{folder}" for folder in (tmp_path, ROOT / "include", ROOT / "src")]
    for command in (
        [compiler, "-std=c11", "-Wpedantic", "-Wshadow", str(source)],
        [plus, "-std=c++17", "-x", "c++", str(kernel)],
    ):
        subprocess.run([*command, *common, "-c", "-o", str(tmp_path / "above.o")], check=True)
    cmake = shutil.which("cmake")
    if not cmake:
        pytest.skip("no CMake")
    registry = tmp_path / "registry.c"
    subprocess.run(
        [cmake, f"-DOPS={source}", "-DCODECS=", f"-DOUT={registry}", "-P",
         str(ROOT / "tools" / "registry.cmake")],
        check=True,
    )  # fmt: skip
    assert "&hr_op_above," in registry.read_text()


def test_statistics_are_documented() -> None:
    """docs/statistics.md has every counter of pipe.stats(), and no other."""
    from headrace import fn, pipeline_def

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        return fn.random.uniform()

    pipe = define()
    pipe.build()
    pipe.run()
    text = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    documented = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(documented) == sorted(pipe.stats())

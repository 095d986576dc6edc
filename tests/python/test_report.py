# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline.show`, `Pipeline.report` and their commands: the steps' data, escaping, a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from headrace import Pipeline, cli, fn, types
from photos import photo
from waiting import HANG_S

HOSTILE = "<script>alert(1)<b>&'\"=.png"
READER = "R</script><script>alert(2)</script>"
PARTS = ["verdict", "graph", "operators", "timeline", "steps", "bad", "machine"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pictures, one with a hostile name, and a broken one with another."""
    root = tmp_path_factory.mktemp("report") / "set"
    (root / "a").mkdir(parents=True)
    for i, name in enumerate((HOSTILE, "b.png", "c.png", "d.png")):
        photo(i).save(root / "a" / name)
    (root / "a" / "<img src=x onerror=alert(3)>.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    return root


def pipeline(folder: Path) -> Pipeline:
    """Files of a folder, decoded, resized, mirrored at random."""
    pipe = Pipeline(batch_size=5, num_threads=2, seed=3, on_error="replace")
    with pipe:
        files, labels = fn.readers.file(file_root=str(folder), name=READER)
        images = fn.resize(fn.decoders.image(files), size=[32, 48])
        out = fn.crop_mirror_normalize(
            images, mirror=fn.random.coin_flip(), dtype=types.FLOAT, mean=[99.0], std=[50.0]
        )
        pipe.set_outputs(out, labels)
    return pipe


class Page(HTMLParser):
    """The tags of a page, and the addresses that it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each start tag."""
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href"):
                self.loads.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
            if name == "id" and tag == "section":
                self.ids.append(value or "")


@pytest.fixture(scope="module")
def report(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a pipeline that has run."""
    pipe = pipeline(folder)
    for _ in range(3):
        pipe.run()
    path = tmp_path_factory.mktemp("page") / "report.html"
    pipe.report(path, batches=4, samples=5)
    assert pipe.stats()["iterations"] == 3
    return path


def test_show_keeps_what_the_operators_make(folder: Path) -> None:
    pipe = pipeline(folder)
    steps = pipe.show(5)
    made = {step.operator: step.batches for step in steps.steps}
    expected = pipe.run()[0].as_array()
    np.testing.assert_array_equal(made["crop_mirror_normalize"][0].as_array(), expected)
    assert {batch.shape()[0] for batch in made["decoders.image"]} == {(90, 120, 3)}
    images, flip = made["resize"][0].as_array(), made["random.coin_flip"][0].as_array()
    assert 0 < flip.sum() < 5
    for i in range(5):
        image = images[i][:, ::-1] if flip[i] else images[i]
        want = (image.astype(np.float32) - 99) / 50
        np.testing.assert_allclose(expected[i], want.transpose(2, 0, 1), rtol=1e-4, atol=1e-4)


def test_show_refuses_what_cannot_run_twice() -> None:
    pipe = Pipeline(batch_size=1, num_threads=1)
    with pipe:
        pipe.set_outputs(fn.external_source(source=lambda: [np.zeros(3)], name="x"))
    with pytest.raises(RuntimeError, match="external source"):
        pipe.show()
    with pytest.raises(ValueError, match="samples must be at least 1"):
        pipe.show(0)


def test_report_of_external_source(tmp_path: Path) -> None:
    pipe = Pipeline(batch_size=1, num_threads=1)
    with pipe:
        pipe.set_outputs(fn.external_source(source=lambda: [np.zeros(3)], name="x"))
    pipe.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert Page(text).ids == PARTS
    assert text.count("Not available: A pipeline with an external source") == 2


def test_report_loads_nothing_and_escapes(report: Path) -> None:
    text = report.read_text()
    page = Page(text)
    assert page.ids == PARTS
    assert page.tags.count("script") == 2 and page.handlers == [] and "b" not in page.tags
    assert page.loads and all(load.startswith("data:image/png;base64,") for load in page.loads)
    assert text.count("<script>alert") == 0 and "&lt;script&gt;alert(1)" in text
    assert "&lt;img src=x onerror=alert(3)&gt;.png" in text  # among the bad samples
    assert "3 iterations" in text


def test_timeline_holds_the_trace(report: Path) -> None:
    found = re.search(r'id="trace">(.*?)</script>', report.read_text())
    assert found
    data = json.loads(found[1])
    assert any(name.startswith(f"readers.file '{READER}'") for name in data["names"])
    assert {box[4] for box in data["boxes"]} >= {0, 1, 2, 3}


def browse(browser: str, page: Path, profile: Path) -> subprocess.CompletedProcess[str]:
    """The page's document after its scripts have run; messages of its console are in stderr."""
    options = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --dump-dom".split()
    options += ["--enable-logging=stderr", "--virtual-time-budget=1000"]
    return subprocess.run(
        [browser, *options, f"--user-data-dir={profile}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )


def test_browser_shows_the_report(report: Path, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("Chromium is not installed: tools/setup.sh chromium")
    probe = tmp_path / "probe.html"
    probe.write_text("<script>throw Error('probe')</script>")
    first = browse(browser, probe, tmp_path / "profile")
    if first.returncode != 0:
        pytest.skip(f"Chromium does not start: {first.stderr[-200:]}")
    assert "CONSOLE" in first.stderr and "probe" in first.stderr
    shown = browse(browser, report, tmp_path / "profile")
    assert shown.returncode == 0 and "CONSOLE" not in shown.stderr, shown.stderr
    page = Page(shown.stdout)
    assert page.ids == PARTS and page.handlers == []
    assert re.search(r'<canvas id="lanes"[^>]* data-span="[1-9]', shown.stdout)


def test_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "from headrace import fn, pipeline_def\n"
        "@pipeline_def(batch_size=5)\n"
        "def train():\n"
        f"    files, labels = fn.readers.file(file_root={str(folder)!r})\n"
        "    return fn.resize(fn.decoders.image(files), size=[8, 8]), labels\n"
        "number = 3\n"
    )
    page = tmp_path / "out.html"
    assert cli.main(["show", f"{script}:train", "--count", "5", "-o", str(page)]) == 2
    assert "onerror" in capsys.readouterr().err  # the broken picture is an error without on_error
    assert cli.main(["report", f"{script}:train", "-o", str(page), "--batches", "4"]) == 0
    assert page.read_text().count("onerror") >= 1  # and listed in the report
    for name in folder.glob("a/*onerror*"):
        name.unlink()
    for command in ("report", "show"):
        assert cli.main([command, f"{script}:train", "-o", str(page)]) == 0
        assert "decoders.image" in page.read_text()
    for target, words in (
        (f"{script}:trian", 'Did you mean "train"?'),
        (f"{script}:number", "not a pipeline but a int"),
        ("no_such_module:x", "no module named"),
        (f"{tmp_path}/none.py:x", "no such file"),
        ("train", "not of the form"),
    ):
        assert cli.main(["report", target]) == 2
        assert words in capsys.readouterr().err

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.nemo_asr: manifests and sounds written here, compared with slices in NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import sounds  # noqa: E402
from headrace import Pipeline, fn, types  # noqa: E402

RATE = 1000
STEREO = sounds.noise(50_000, 2) >> 16
MONO = sounds.noise(800, 1, 2) >> 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    root = tmp_path_factory.mktemp("sounds")
    (root / "long.wav").write_bytes(sounds.wav(STEREO, rate=RATE))
    (root / "reversed.wav").write_bytes(sounds.wav(STEREO, rate=RATE, reverse=True))
    (root / "mono.wav").write_bytes(sounds.wav(MONO, rate=RATE))
    (root / "bad.wav").write_bytes(b"not a sound")
    return root


def read(folder: Path, lines: list[Any], batches: int = 1, **arguments: Any) -> list[list[Any]]:
    """The outputs of the batches, one list of arrays per sample."""
    text = [x if isinstance(x, str) else json.dumps(x) for x in lines]
    manifest = folder / "manifest.json"
    manifest.write_text("\n".join(text), encoding="utf-8")
    on_error = arguments.pop("on_error", "raise")
    pipe = Pipeline(arguments.pop("batch_size", len(lines)), 2, None, on_error=on_error)
    arguments = {"downmix": False, "dtype": types.INT16, **arguments}
    with pipe:
        out = fn.readers.nemo_asr(manifest_filepaths=[str(manifest)], **arguments)
        pipe.set_outputs(*(out if isinstance(out, (list, tuple)) else [out]))
    found = []
    for _ in range(batches):
        columns = [[np.array(x) for x in batch] for batch in pipe.run()]
        found += [list(row) for row in zip(*columns, strict=True)]
    return found


def entry(folder: Path, name: str, **more: Any) -> dict[str, Any]:
    return {"audio_filepath": str(folder / name), **more}


def test_outputs(folder: Path) -> None:
    lines = [entry(folder, "mono.wav", text="grüße"), entry(folder, "long.wav", text="")]
    rows = read(folder, lines, read_idxs=True)
    for i, (row, samples, text) in enumerate(zip(rows, [MONO, STEREO], ["grüße", ""], strict=True)):
        audio, rate, letters, index = row
        np.testing.assert_array_equal(audio, samples)
        assert (rate.dtype, rate.shape, float(rate)) == (np.float32, (), RATE)
        assert (letters.dtype, letters.tobytes().decode()) == (np.uint8, text)
        assert (index.dtype, index.tolist()) == (np.int64, [i])
    (audio,) = read(folder, lines[:1], read_text=False, read_sample_rate=False, downmix=True)[0]
    np.testing.assert_array_equal(audio, MONO[:, 0])


@pytest.mark.parametrize("name", ["long.wav", "reversed.wav"])
def test_parts(folder: Path, name: str) -> None:
    """`offset` and `duration` in seconds, cut to what the file has."""
    parts = [(0.25, 0.5), (49.9995, 5), (20.0009, 1.0009), (None, 0.3), (0, 3), (30, None)]
    parts += [(-1, 0.2), (None, -3), (None, 0)]
    lines = []
    for offset, duration in parts:
        given = {"offset": offset, "duration": duration}
        lines.append(entry(folder, name, **{k: v for k, v in given.items() if v is not None}))
    rows = read(folder, lines, read_text=False, read_sample_rate=False)
    for (audio,), (offset, duration) in zip(rows, parts, strict=True):
        start = int(max(offset or 0, 0) * RATE)
        end = None if duration is None or duration < 0 else start + int(duration * RATE)
        np.testing.assert_array_equal(audio, STEREO[start:end])
    with pytest.raises(RuntimeError, match=r"offset of 60 s is beyond the end .* 50000 frames"):
        read(folder, [entry(folder, name, offset=60)])


@pytest.mark.parametrize("name", ["flac", "vorbis", "opus", "mp3"])
def test_parts_of_coded_files(folder: Path, name: str) -> None:
    """A part has the same samples as the whole."""
    path = Path(__file__).parents[1] / "fuzz/corpus/audio_coded" / name
    parts = [{}, {"offset": 0.1, "duration": 0.05}, {"offset": 0.2}, {"duration": 0.11}]
    lines = [entry(folder, str(path), **part) for part in parts]
    whole, *rows = read(folder, lines, read_text=False, read_sample_rate=False, dtype=types.FLOAT)
    for (audio,), (start, end) in zip(rows, [(1600, 2400), (3200, None), (0, 1760)], strict=True):
        np.testing.assert_allclose(audio, whole[0][start:end], atol=1e-6)
    with pytest.raises(RuntimeError, match="offset of 60 s is beyond the end"):
        read(folder, [entry(folder, str(path), offset=60)])


def test_only_the_part_is_read(folder: Path) -> None:
    """What lies behind the part may be missing."""
    whole = (folder / "long.wav").read_bytes()
    size = (64 << 10) + 44
    cut = folder / "sparse.wav"
    with cut.open("wb") as file:
        file.write(whole[:size])
        file.truncate(1 << 36)
    (audio, *_), _ = read(folder, [entry(folder, cut.name, offset=2, duration=3)] * 2)
    np.testing.assert_array_equal(audio, STEREO[2000:5000])


def test_durations_and_bad_lines(folder: Path) -> None:
    lines: list[Any] = [entry(folder, "mono.wav", text=str(d), duration=d) for d in (0.1, 0.2, 0.3)]
    lines += ["", "no JSON", '{"audio_filepath":', {"text": "no path"}, [1], 7]
    lines += [entry(folder, "mono.wav", text="none")]

    def texts(count: int, **arguments: Any) -> list[str]:
        rows = read(folder, lines, batch_size=count, read_sample_rate=False, **arguments)
        return [row[1].tobytes().decode() for row in rows]

    assert texts(4) == ["0.1", "0.2", "0.3", "none"]
    assert texts(2, min_duration=0.15) == ["0.2", "0.3"]
    assert texts(3, max_duration=0.25) == ["0.1", "0.2", "none"]
    with pytest.raises(RuntimeError, match="no entries found .* 6 lines are not JSON"):
        read(folder, lines, min_duration=9.0)
    with pytest.raises(RuntimeError, match="manifest '/nothing'"):
        pipe = Pipeline(1, 1, None)
        with pipe:
            pipe.set_outputs(*fn.readers.nemo_asr(manifest_filepaths="/nothing"))
        pipe.build()


def test_shuffled_shards(folder: Path) -> None:
    lines = [entry(folder, "mono.wav", duration=i / RATE) for i in range(20)]
    seen: list[int] = []
    for shard in (0, 1):
        sharded = {"shard_id": shard, "num_shards": 2, "batch_size": 5, "batches": 2}
        rows = read(folder, lines, random_shuffle=True, seed=3, read_idxs=True, **sharded)
        assert all(len(row[0]) == row[3][0] for row in rows)
        seen += [int(row[3][0]) for row in rows]
    assert sorted(seen) == list(range(20)) and seen != sorted(seen)


def test_types_and_errors(folder: Path) -> None:
    lines = [entry(folder, "mono.wav")]
    ((audio, *_),) = read(folder, lines, dtype=types.FLOAT, sample_rate=float(RATE), quality=20.0)
    np.testing.assert_array_equal(audio, (MONO / 2**15).astype(np.float32))
    ((audio, rate, _),) = read(folder, lines, dtype=types.FLOAT, sample_rate=500.0)
    assert audio.shape == (400, 1) and float(rate) == RATE
    np.testing.assert_allclose(audio, MONO[::2] / 2**15, atol=1e-5)
    with pytest.raises(RuntimeError, match="must be INT16, INT32 or FLOAT"):
        read(folder, lines, dtype=types.UINT8)
    broken = [*lines, entry(folder, "bad.wav"), entry(folder, "nothing.wav", offset=1), *lines]
    with pytest.raises(RuntimeError, match=r"bad\.wav: .*not a sound file"):
        read(folder, broken)
    for row in read(folder, broken, on_error="skip"):
        np.testing.assert_array_equal(row[0], MONO)


def test_paths_relative_to_the_manifest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same relative path in two manifests stands for two files, and the working folder does not matter."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "mono.wav").write_bytes(sounds.wav(STEREO[:50, :1], rate=RATE))
    lines = [{"audio_filepath": "mono.wav"}, {"audio_filepath": str(folder / "long.wav")}]
    lines.append({"audio_filepath": "mono.wav", "offset": 0.02, "duration": 0.01})
    for place in (folder, other):
        (place / "list.json").write_text("\n".join(json.dumps(line) for line in lines))
    manifests = [str(folder / "list.json"), str(other / "list.json")]

    def run(**arguments: Any) -> list[Any]:
        pipe = Pipeline(6, 2, None)
        with pipe:
            audio, _ = fn.readers.nemo_asr(
                manifest_filepaths=manifests, read_text=False, dtype=types.INT16, **arguments
            )
            pipe.set_outputs(audio)
        return [np.array(x) for x in pipe.run()[0]]

    want = [MONO[:, 0], STEREO[:50, 0]]
    monkeypatch.chdir(tmp_path)
    found = run(relative_to_list=True)
    for i, samples in enumerate(want):
        np.testing.assert_array_equal(found[3 * i], samples)
        assert len(found[3 * i + 1]) == len(STEREO)
        np.testing.assert_array_equal(found[3 * i + 2], samples[20:30])
    with pytest.raises(RuntimeError, match="mono.wav"):
        run()
    monkeypatch.chdir(folder)
    np.testing.assert_array_equal(run()[3], want[0])  # as in DALI
    np.testing.assert_array_equal(run(relative_to_list=True)[3], want[1])
    manifests[:] = ["list.json", "list.json"]
    np.testing.assert_array_equal(run(relative_to_list=True)[3], want[0])

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches of a run again, steps that are left out, and the commands that show and compare batches."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jobs
import numpy as np
import pytest
from headrace import Pipeline, cli, fn, types
from jobs import close, digest, make, run, world


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jobs.fill(tmp_path_factory.mktemp("replay"))


# ---- a batch again -------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", jobs.CONTAINERS)
def test_any_step(reader: str, root: Path) -> None:
    pipe = make(root, reader, 10)
    expected = run([pipe], 60)
    steps = random.Random(1).sample(range(60), 12)
    assert [digest([pipe.batch(step)]) for step in steps] == [expected[step] for step in steps]
    assert digest([pipe.batch(steps[0])]) == expected[steps[0]]  # as often as one likes
    fresh = make(root, reader, 10)  # which was never built
    assert digest([fresh.batch(41)]) == expected[41]
    assert run([fresh], 2) == expected[:2]  # and has not advanced
    assert digest([fresh.batch(np.int64(7))]) == expected[7]


def test_a_run_that_was_restored(root: Path) -> None:
    pipe = make(root, "files", 10)
    expected = run([pipe], 8)
    resumed = make(root, "files", 10, pipe.checkpoint())
    for step in (3, 7, 0):
        assert digest([resumed.batch(step)]) == expected[step]
    expected += run([resumed], 2)
    assert digest([pipe.batch(9)]) == digest([resumed.batch(9)]) == expected[9]


def test_steps_of_a_job(root: Path) -> None:
    whole = make(root, "files", 20)
    expected = run([whole], 9)
    ranks = world(root, "files", 3, 20)
    run(ranks, 2)
    for step in (8, 0, 5):
        assert digest([pipe.batch(step) for pipe in ranks]) == expected[step]
    assert run(ranks, 2) == expected[2:4]
    close(ranks)


def test_after_the_number_of_shards_has_changed(root: Path) -> None:
    first = make(root, "files", 10, num_shards=2)
    run([first], 3)
    second = make(root, "files", 10, first.checkpoint(), num_shards=3, shard_id=1)
    expected = run([second], 4)
    for step in (6, 3, 5):
        assert digest([second.batch(step)]) == expected[step - 3]
    with pytest.raises(ValueError, match="iteration 2 was run before the number of shards changed"):
        second.batch(2)
    again = make(root, "files", 10, second.checkpoint(), num_shards=3, shard_id=1)
    assert digest([again.batch(4)]) == expected[1]


def test_on_the_cpu(root: Path) -> None:
    """A pipeline for a GPU, which need not be there, gives the bytes of the same one for the CPU."""

    def made(device: str) -> Pipeline:
        pipe = Pipeline(4, 1, 0 if device == "gpu" else None, seed=3, on_error="replace")
        with pipe:
            data = jobs.files(root, random_shuffle=True)
            place = "mixed" if device == "gpu" else "cpu"
            image = fn.decoders.image(data, device=place, output_type=types.RGB)
            angle = fn.random.uniform(range=(-40.0, 40.0))
            turned = fn.rotate(image, angle=angle, fill_value=0)
            label = fn.cast(angle, dtype=types.FLOAT)
            if device == "gpu":
                label = label.gpu()
            pipe.set_outputs(turned, label * 2)
        return pipe

    reference = made("cpu")
    expected = run([reference], 6)
    there = made("gpu")
    for step in (5, 0, 3):
        assert digest([there.batch(step, device="cpu")]) == expected[step]
    shown = there.show(2, step=4)
    assert shown.samples == 2 and len(shown._names()) == 2


def test_what_cannot_be_made_again(root: Path) -> None:
    pipe = make(root, "files", 4)
    for wrong, error in ((-1, ValueError), (2**62, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error):
            pipe.batch(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="device must be 'cpu' or None"):
        pipe.batch(1, device="tpu")
    without = Pipeline(4, 1, None)
    with without:
        without.set_outputs(jobs.files(root))
    with pytest.raises(RuntimeError, match="has no seed"):
        without.batch(0)
    first = [bytes(np.array(x)) for x in without.run()[0]]
    assert [bytes(np.array(x)) for x in without.batch(0)[0]] == first
    fed = Pipeline(4, 1, None, seed=1)
    with fed:
        fed.set_outputs(fn.external_source(lambda: [np.zeros(1)] * 4))
    with pytest.raises(NotImplementedError, match="only goes forward"):
        fed.batch(2)
    with pytest.raises(NotImplementedError, match="only goes forward"):
        fed.skip(range(2))


# ---- steps that are left out ---------------------------------------------------------------------


def test_skip(root: Path) -> None:
    expected = run([make(root, "files", 10)], 30)
    pipe = make(root, "files", 10)
    pipe.skip([4, 2, 3, 9, *range(20, 26)])
    left = [step for step in range(30) if step not in (2, 3, 4, 9, *range(20, 26))]
    assert run([pipe], 6) == [expected[step] for step in left[:6]]
    state = pipe.checkpoint()
    assert json.loads(state)["engine"]["left_out"] == [[2, 5], [9, 10], [20, 26]]
    assert run([pipe], len(left) - 6) == [expected[step] for step in left[6:]]
    resumed = make(root, "files", 10, state)
    assert run([resumed], len(left) - 6) == [expected[step] for step in left[6:]]
    assert digest([resumed.batch(21)]) == expected[21]  # it can be looked at all the same
    assert "left_out" not in json.loads(make(root, "files", 10).checkpoint())["engine"]


def test_skip_what_is_in_flight(root: Path) -> None:
    """Steps are left out that were prepared already, and those that were taken are not touched."""
    expected = run([make(root, "files", 5)], 12)
    for at in range(4):
        pipe = make(root, "files", 5)
        found = run([pipe], at)
        pipe.skip(range(6))
        assert found + run([pipe], 6) == expected[:at] + expected[6:12]


def test_skip_with_bad_samples(root: Path) -> None:
    """Positions are those of the batches left out, and of batches whose samples were all bad."""
    pipe = make(root, "files in order", 1)
    assert len(jobs.BAD) > 1 and jobs.BAD[0] == 5
    pipe.skip([4])
    taken = [pipe.run() for _ in range(6)]
    assert [out.positions for out in taken] == [1, 1, 1, 1, 3, 1]


def test_what_is_left_out_is_not_bad(root: Path) -> None:
    """However many steps are left out before a bad sample."""
    pipe = make(root, "files in order", 1)
    pipe.skip(range(1, 5 + 4 * len(list(root.glob("**/*")))))
    before = pipe.run()
    for _ in range(20):
        before = pipe.run()
    assert len(before[0]) == 1


@pytest.mark.parametrize("ranks", [1, 3])
def test_skip_in_a_job(ranks: int, root: Path) -> None:
    expected = run([make(root, "files", 20)], 12)
    pipes = world(root, "files", ranks, 20)
    for pipe in pipes:
        pipe.skip(range(3, 8))
    assert run(pipes, 4) == [*expected[:3], expected[8]]
    others = world(root, "files", 4, 20, pipes[0].checkpoint())
    assert run(others, 3) == expected[9:12]
    close(pipes)
    close(others)


def test_a_damaged_list(root: Path) -> None:
    document = json.loads(make(root, "files", 10).checkpoint())
    for wrong in ([[1]], [[3, 2]], [[-1, 2]], [["a", 2]], 3, [[0, 2**63]]):
        document["engine"]["left_out"] = wrong
        with pytest.raises(ValueError, match="left_out"):
            make(root, "files", 10, json.dumps(document).encode()).build()
    pipe = make(root, "files", 10)
    with pytest.raises(RuntimeError, match="too many to be left out"):
        pipe.build()
        pipe._core.leave_out(0, 2**40)
    for step in range(0, 2050, 2):
        if step < 2048:
            pipe.skip([step])
        else:
            with pytest.raises(RuntimeError, match="in 1024 places"):
                pipe.skip([step])


def values(batch: Any) -> list[float]:
    return batch[0]["u"].flatten().tolist()  # type: ignore[no-any-return]


def iterator(root: Path, policy: str, pad: bool, job: bool, state: Any = None) -> Any:
    pytorch = pytest.importorskip("headrace.plugin.pytorch")
    pipe = Pipeline(10, 1, None, seed=2, enable_checkpointing=True, checkpoint=state)
    with pipe:
        more = {"global_batch": 10} if job else {}
        data = fn.readers.file(
            file_root=str(root / "files"), random_shuffle=True, pad_last_batch=pad, name="Q", **more
        )[0]
        pipe.set_outputs(fn.slice(data, [0], [4], axes=[0]), fn.random.uniform(range=(0.0, 1.0)))
    return pytorch.DALIGenericIterator(
        pipe,
        ["x", "u"],
        reader_name="Q",
        last_batch_policy=pytorch.LastBatchPolicy[policy],
        auto_reset=True,
        prepare_first_batch=False,
    )


@pytest.mark.parametrize("policy", ["FILL", "DROP", "PARTIAL"])
@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("job", [True, False])
def test_epochs_with_steps_left_out(policy: str, pad: bool, job: bool, root: Path) -> None:
    """The epochs of an iterator lack these batches and are the same otherwise."""
    one = iterator(root, policy, pad, job)
    whole = [[values(batch) for batch in one] for _ in range(6)]
    # The batch of an epoch that DROP runs and leaves out is a step, too.
    steps = [[*epoch, None] if policy == "DROP" else epoch for epoch in whole]
    numbers = iter(range(100))
    numbered = [[(next(numbers), batch) for batch in epoch] for epoch in steps]
    for out in ([1], [0, 1, 2], [5, 6], [8, 9, 10], [*range(7, 24)], [9], [30, 31], [*range(8, 11)]):
        left = [[b for step, b in epoch if step not in out and b] for epoch in numbered]
        expected = [epoch for epoch in left if epoch]  # one that is left out has no loop
        few = iterator(root, policy, pad, job)
        few._pipes[0].skip(out)
        assert [[values(batch) for batch in few] for _ in expected] == expected, out


def test_loader(root: Path) -> None:
    torch = pytest.importorskip("headrace.torch")

    def loader() -> Any:
        pipe = Pipeline(10, 1, None, seed=2)
        with pipe:
            data = jobs.files(root, random_shuffle=True, pad_last_batch=True)
            pipe.set_outputs(fn.slice(data, [0], [4], axes=[0]), fn.random.uniform(range=(0.0, 1.0)))
        return torch.Loader(pipe, drop_last=True)

    def draws(batches: Any) -> list[list[float]]:
        return [batch[1].flatten().tolist() for batch in batches]

    one = loader()
    expected = [draws(one) for _ in range(3)]
    assert [len(epoch) for epoch in expected] == [9, 9, 9]
    few = loader()
    few.skip(steps=range(7, 13))  # of ten steps per epoch, the last of which is dropped
    assert draws(few) == expected[0][:7]
    assert draws(few) == expected[1][3:]
    few.skip(steps=[22])
    begun = iter(few)
    assert draws([next(begun), next(begun)]) == expected[2][:2]
    state = few.state_dict()
    rest = draws(begun)
    assert rest == expected[2][3:]
    resumed = loader()
    resumed.load_state_dict(state)
    assert draws(resumed) == rest


# ---- commands ------------------------------------------------------------------------------------


PROGRAM = """
from headrace import fn, pipeline_def, types

@pipeline_def(device_id=None, seed=4, num_threads=1, on_error="skip")
def job():
    data, label = fn.readers.file(
        file_root={root!r}, random_shuffle=True, name="R", global_batch=16)
    angle = fn.random.uniform(range=(-40.0, 40.0))
    return fn.rotate(fn.decoders.image(data), angle=angle, fill_value=0), label

@pipeline_def(device_id=None, on_error="skip")
def plain():
    data, label = fn.readers.file(file_root={root!r}, random_shuffle=True, name="R")
    return fn.decoders.image(data), label

@pipeline_def(device_id=None, seed=4, on_error="skip")
def function():
    data, label = fn.readers.file(file_root={root!r}, name="R", global_batch=16)
    import numpy, itertools
    count = itertools.count()
    return fn.python_function(label, function=lambda x: numpy.int64(next(count)))
"""


@pytest.fixture(scope="module")
def program(root: Path) -> str:
    path = root / "train_job.py"
    path.write_text(PROGRAM.format(root=str(root / "files")))
    return str(path)


def test_hash(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["hash", f"{program}:job", "--steps", "9", "--world", "1,3,8", "--threads", "2"]
    assert cli.main(args) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["world 1", "world 3", "world 8"]
    assert len({line.split("  ")[-1] for line in lines}) == 1
    assert "steps 0 to 8" in lines[0]
    assert cli.main([*args, "--each", "--first", "2"]) == 0
    each = capsys.readouterr().out.splitlines()
    assert len(each) == 30 and len({line.split("  ")[-1] for line in each}) == 10
    assert cli.main([*args, "--each", "--cpu"]) == 0
    again = capsys.readouterr().out.splitlines()
    assert again[2].split("  ")[-1] == each[0].split("  ")[-1]  # step 2
    assert again[9].split("  ")[-1] == lines[0].split("  ")[-1]


def test_hash_finds_a_difference(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A function that counts its calls gives other values in other processes."""
    args = ["hash", f"{program}:function", "--steps", "2", "--world", "1,2"]
    assert cli.main(args) == 1
    assert "world 2 differs from 1 at step 0" in capsys.readouterr().out


def test_hash_of_a_part(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["hash", f"{program}:plain", "--steps", "3", "--batch-size", "8"]
    outputs = []
    for seed in ("1", "1", "2"):
        assert cli.main([*args, "--seed", seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0].startswith("own part") and outputs[0] == outputs[1] != outputs[2]
    assert cli.main([*args, "--world", "1,2"]) == 2
    assert "no reader has global_batch" in capsys.readouterr().err


def test_replay(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from headrace.cli._target import load

    out, state = tmp_path / "spike.html", tmp_path / "state"
    pipe = load(f"{program}:job", 64, 1, 0)
    pipe._config.enable_checkpointing = True
    batches = [pipe.run() for _ in range(4)]
    state.write_bytes(pipe.checkpoint())
    args = ["replay", f"{program}:job", "--step", "2", "-o", str(out)]
    for more in ([], ["--state", str(state)]):
        assert cli.main([*args, *more]) == 0
        capsys.readouterr()
        page = out.read_text()
        assert "Step 2 of a run" in page and "random.uniform" in page
        names = [Path(image.source_info()).name for image in batches[2][0]]
        assert len(names) > 8 and all(name in page for name in names)
        assert Path(batches[3][0][0].source_info()).name not in page
    torch = pytest.importorskip("torch")
    torch.save({"model": {}, "data": {"pipeline": state.read_bytes()}}, state)
    assert cli.main([*args, "--state", str(state)]) == 0
    assert out.read_text() == page
    torch.save({"model": {}}, state)
    assert cli.main([*args, "--state", str(state)]) == 2
    assert "contains no checkpoint" in capsys.readouterr().err
    assert cli.main([*args, "--state", str(tmp_path / "none")]) == 2
    assert cli.main([*args[:2], "--step", "-1"]) == 2

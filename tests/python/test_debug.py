# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Debug mode: the same results as without it, access to data, errors at the line of the call, and restrictions."""

import gc
import traceback
import weakref

import headrace
import numpy as np
import pytest
from headrace import Pipeline, fn, math, types
from headrace.pipeline import experimental
from headrace.tensors import TensorListCPU
from test_conditionals import PROGRAMS, VALUES, plainly
from twice import dali, normal

X = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5, 1)


def made(function, debug=True, **kwargs):
    arguments = {"batch_size": 3, "num_threads": 2, "device_id": None, "seed": 5, **kwargs}
    return experimental.pipeline_def(function, **arguments)(debug=debug)


def source():
    return fn.external_source(source=lambda: X, layout="HWC")


# ---- the same results as without debug mode ------------------------------------------------------


def arithmetic():
    x = source()
    at = fn.cast(x[0, 0] % 4, dtype=types.INT32)
    return x + 1, math.sqrt(x), x[1, ::2], x[at]


def random_numbers():
    x = source()
    flipped = fn.flip(fn.copy(x), horizontal=fn.random.coin_flip())
    return x * fn.random.uniform(range=[0.0, 1.0]), fn.random.coin_flip(shape=[4]), flipped


def constants():
    x = source()
    return (
        fn.cat(x, np.ones((1, 5, 1), np.uint8)),
        x + np.uint8([[1], [2], [3], [4], [5]]),
        7,
        types.Constant([1.5, 2.5], device="cpu") * 2,
        np.ones(3),
    )


def input_sets():
    x, y = fn.external_source(source=lambda: (X, X[:, 0]), num_outputs=2)
    return (*fn.copy([x, y]), *fn.cast([y, x], dtype=types.FLOAT))


@pytest.mark.parametrize("function", [arithmetic, random_numbers, constants, input_sets])
def test_same_as_without(function):
    plain, debug = made(function, debug=False), made(function)
    for _ in range(3):
        assert normal(tuple(debug.run())) == normal(tuple(plain.run()))


def test_readers_and_decoders(photos_root):
    def function():
        files, labels = fn.readers.file(file_root=photos_root, name="R", pad_last_batch=True)
        images = fn.decoders.image(files)
        return fn.crop_mirror_normalize(fn.resize(images, size=[8, 8]), mirror=1), labels

    plain, debug = made(function, debug=False), made(function)
    assert debug.reader_meta() == plain.reader_meta() and debug.epoch_size("R") == 24
    assert debug.num_outputs == 2
    for _ in range(10):
        assert normal(tuple(debug.run())) == normal(tuple(plain.run()))
    with pytest.raises(RuntimeError, match="not found"):
        debug.epoch_size("other")


def test_iterator(photos_root):
    torch_plugin = pytest.importorskip("headrace.plugin.pytorch")

    def function():
        files, labels = fn.readers.file(file_root=photos_root, name="R")
        return fn.resize(fn.decoders.image(files), size=[8, 8]), labels

    iterator = torch_plugin.DALIGenericIterator(made(function), ["x", "y"], reader_name="R")
    batches = list(iterator)
    assert len(batches) == 8 and batches[0][0]["x"].shape == (3, 8, 8, 3)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_conditionals(program):
    def function():
        return program(fn.external_source(lambda: [np.int32(v) for v in VALUES]))

    pipe = made(function, batch_size=len(VALUES), enable_conditionals=True)
    for _ in range(2):
        got = [[int(np.array(t)) for t in batch] for batch in pipe.run()]
        assert got == plainly(program)


def test_nodes_in_branches_hold_what_takes_the_branch():
    seen = []

    def function():
        x = fn.external_source(lambda: np.arange(4, dtype=np.int32))
        if x >= 1:
            y = x * 10
            seen.append(np.array(y).tolist())
            drawn = fn.random.uniform(range=[5.0, 6.0], shape=[2])
            if x >= 7:
                y = x + 1
                seen.append(y.shape())
        else:
            y = -x
            drawn = types.Constant([0.0, 0.0], device="cpu")
        return y, drawn

    pipe = made(function, batch_size=4, enable_conditionals=True)
    for _ in range(2):
        y, drawn = pipe.run()
        assert y.as_array().tolist() == [0, 10, 20, 30]
        assert (drawn.as_array().min(axis=1) >= 5).tolist() == [False, True, True, True]
    assert seen == [[10, 20, 30], []] * 2


# ---- access to data ------------------------------------------------------------------------------


def test_nodes_hold_data():
    seen = []

    def function():
        x = source()
        y = x + 1
        seen.append((type(y.get()), y.shape(), np.array(y), str(y), y.get().layout()))
        for sample in y.get():
            assert np.array(sample).shape == (4, 5, 1)
        return y

    pipe = made(function)
    assert not seen  # nothing runs before it is needed
    (out,) = pipe.run()
    kind, shape, array, text, layout = seen[0]
    assert kind is TensorListCPU and shape == [(4, 5, 1)] * 3 and layout == "HWC"
    np.testing.assert_array_equal(array, X.astype(int) + 1)
    assert text.startswith('DataNodeDebug(\n    name="__Arithmetic_') and "[60]]]" in text
    np.testing.assert_array_equal(out.as_array(), array)


def test_data_may_go_through_numpy():
    def function():
        x = source()
        array = x.get().as_array().astype(np.float32) * 0.5
        listed = [np.array(sample)[:1] for sample in x.get()]
        flipped = fn.flip(x, horizontal=TensorListCPU(np.int32([0, 1, 1])))
        return fn.copy(array), fn.copy(listed), fn.copy(TensorListCPU(X)), x.get(), flipped

    pipe = made(function)
    for _ in range(2):
        half, first, copied, same, flipped = pipe.run()
        expected = [X[0], X[1, :, ::-1], X[2, :, ::-1]]
        np.testing.assert_array_equal(flipped.as_array(), np.stack(expected))
        np.testing.assert_array_equal(half.as_array(), X * np.float32(0.5))
        np.testing.assert_array_equal(first.as_array(), X[:, :1])
        np.testing.assert_array_equal(copied.as_array(), X)
        np.testing.assert_array_equal(same.as_array(), X)


def test_python_decides_by_data():
    def function():
        x = source()
        return x + (1 if x.get().as_array().max() > 10 else 100)

    assert made(function).run()[0].as_array().min() == 1


def test_a_branch_that_no_sample_takes_at_first():
    rounds = iter([[0, 0, 0], [0, 1, 0], [1, 0, 1]])

    def function():
        taken = fn.external_source(source=lambda: [np.array(bool(v)) for v in now])
        if taken:
            x = fn.flip(source(), horizontal=1)
        else:
            x = source()
        return x

    pipe = made(function, enable_conditionals=True)
    for now in rounds:  # noqa: B007  the source's
        (out,) = pipe.run()
        expected = [X[i, :, ::-1] if now[i] else X[i] for i in range(3)]
        np.testing.assert_array_equal(out.as_array(), np.stack(expected))


def test_nodes_from_outside():
    outside = types.Constant([1, 2], device="cpu") + 1

    def function():
        return source() * 1, outside * 2, outside

    pipe = made(function)
    for _ in range(2):
        _, twice, once = pipe.run()
        assert (
            twice.as_array().tolist() == [[4, 6]] * 3 and once.as_array().tolist() == [[2, 3]] * 3
        )


# ---- errors --------------------------------------------------------------------------------------


def test_errors_are_at_the_line():
    reached = []

    def function():
        x = fn.external_source(source=lambda: np.zeros((3, 7), np.uint8))
        reached.append(1)
        image = fn.decoders.image(x)  # this line
        reached.append(2)
        return image

    pipe = made(function)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"decoders\.image.*test_debug\.py:\d+") as caught:
            pipe.run()
        lines = [frame.line for frame in traceback.extract_tb(caught.tb)]
        assert "image = fn.decoders.image(x)  # this line" in lines
    assert reached == [1, 1]


def test_calls_must_stay_the_same():
    def changing(*variants):
        calls = iter(variants)

        def function():
            return next(calls)(source())

        return made(function)

    def run_twice(*variants):
        pipe = changing(*variants)
        pipe.run()
        pipe.run()

    one, two = (lambda x: fn.copy(x)), (lambda x: x + 1)
    with pytest.raises(RuntimeError, match="order of operators"):
        run_twice(one, two)
    with pytest.raises(RuntimeError, match="order of operators"):
        run_twice(lambda x: x, lambda x: fn.copy(x))
    amounts = iter([1, 2])
    change = lambda x: x + next(amounts)  # noqa: E731
    with pytest.raises(RuntimeError, match="changed value from '1' to '2'"):
        run_twice(change, change)
    several = iter([1, 2])
    many = lambda x: fn.resize(x, size=[next(several), 2])  # noqa: E731
    with pytest.raises(RuntimeError, match="'size'.*changed value"):
        run_twice(many, many)


CHANGES = {
    "more inputs": (([X],), ([X], [X]), "different number of inputs than when it was built."),
    "fewer inputs": (([X], [X]), ([X],), "different number of inputs than when it was built."),
    "a batch": ((X[0],), ([X],), "Input 0 for operator 'cat' is a batch but was a constant"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_call_takes_must_stay_the_same(name):
    *variants, message = CHANGES[name]
    calls = iter(variants)

    def function():
        return fn.cat(*(list(x[0]) if isinstance(x, list) else x for x in next(calls)), axis=0)

    pipe = made(function)
    pipe.run()
    with pytest.raises(RuntimeError, match=message):
        pipe.run()


def test_arguments_must_stay_the_same():
    def changing(*variants):
        calls = iter(variants)
        pipe = made(lambda: fn.random.coin_flip(**next(calls)))
        pipe.run()
        pipe.run()

    batch = [np.float32(0.5)] * 3
    with pytest.raises(RuntimeError, match="Argument 'probability' .* is a batch but was a const"):
        changing({"probability": 0.5}, {"probability": batch})
    with pytest.raises(RuntimeError, match="different number of keyword arguments than when it"):
        changing({"probability": 0.5}, {})
    changing({"probability": batch}, {"probability": batch[::-1]})


def test_batches_are_not_taken_in_branches():
    def function():
        x = fn.external_source(source=lambda: [np.int32(k) for k in range(3)])
        if x > 1:
            y = fn.copy(x.get())
        else:
            y = x + 10
        return y

    pipe = made(function, enable_conditionals=True)
    with pytest.raises(ValueError, match=r"via `\.get\(\)` as inputs.*got `TensorListCPU` at input 0"):
        pipe.run()


def test_batch_sizes():
    sizes = iter([2, 3, 1])

    def function():
        x = fn.external_source(source=lambda: np.zeros((next(sizes), 2), np.float32))
        return x, fn.random.uniform(), types.Constant([1], device="cpu")

    pipe = made(function)
    for size in (2, 3, 1):
        assert [len(out) for out in pipe.run()] == [size] * 3

    def disagreeing():
        y = fn.random.uniform()
        return fn.external_source(source=lambda: np.zeros((2, 2), np.float32)), y

    with pytest.raises(RuntimeError, match="uniform across an iteration"):
        made(disagreeing).run()


def test_feeding_and_epochs():
    def function():
        return fn.external_source(name="X") * 2

    pipe = made(function)
    pipe.feed_input("X", X)
    pipe.feed_input("X", X + 1)
    assert pipe.run()[0].as_array()[0, 0, 1, 0] == 2
    assert pipe.run()[0].as_array()[0, 0, 1, 0] == 4
    with pytest.raises(IndexError):
        pipe.run()
    assert pipe.run(X=X + 2)[0].as_array()[0, 0, 1, 0] == 6
    with pytest.raises(KeyError):
        pipe.feed_input("Y", X)

    def ending():
        return fn.external_source(source=[X, X], cycle="raise")

    pipe = made(ending)
    for _ in range(2):
        for _ in range(2):
            pipe.run()
        for _ in range(2):
            with pytest.raises(StopIteration):
                pipe.run()
        pipe.reset()


IGNORED = [{"foo": 123, "bar": "BAR"}, {"parallel": True}, {"prefetch_queue_depth": 2}, {"seed": 1}]


def with_arguments(package, kwargs):
    def function():
        return package.fn.external_source(lambda: X, **kwargs)

    arguments = {"batch_size": 3, "num_threads": 1, "device_id": None, "debug": True}
    definition = package.pipeline.experimental.pipeline_def(**arguments)
    return normal(definition(function)().run())


@pytest.mark.filterwarnings("ignore:The argument")
@pytest.mark.parametrize("kwargs", IGNORED, ids=str)
def test_arguments_without_effect(kwargs):
    """Arguments of parallel sources, and those that only debug mode accepts."""
    assert with_arguments(headrace, kwargs) == with_arguments(headrace, {})


@pytest.mark.live_dali
@pytest.mark.parametrize("kwargs", IGNORED, ids=str)
def test_arguments_without_effect_in_dali(kwargs):
    assert with_arguments(dali(), kwargs) == with_arguments(headrace, {})


def test_unknown_arguments_are_reported():
    with pytest.warns(UserWarning, match='"foo" of external_source is unknown'):
        with_arguments(headrace, {"foo": 123})
    with pytest.raises(ValueError, match='unexpected argument "foo"'):
        made(lambda: fn.external_source(lambda: X, foo=123), debug=False)


def test_outputs():
    assert made(lambda: None).run() == ()
    with pytest.raises(TypeError, match="nested"):
        made(lambda: [source()]).run()
    with pytest.raises(
        RuntimeError,
        match="dimensions in the output_idx=0 does not match. Expected: 4. Received: 3",
    ):
        made(source, output_ndim=4).run()
    (out,) = made(source, output_ndim=3, output_dtype=types.UINT8, output_layout="HWC").run()
    assert len(out) == 3


@pytest.mark.parametrize(
    "use",
    [
        lambda p: p.__enter__(),
        lambda p: p.schedule_run(),
        lambda p: p.serialize(),
        lambda p: p.stats(),
        lambda p: p.describe(),
        lambda p: made(source, enable_checkpointing=True).checkpoint(),
    ],
)
def test_what_there_is_not(use):
    with pytest.raises(RuntimeError, match="debug mode"):
        use(made(source))


def test_dropped_pipelines_end():
    import threading

    before = threading.active_count()  # other tests of this process have left some
    pipe = made(arithmetic)
    pipe.run()
    gone = weakref.ref(pipe)
    del pipe
    gc.collect()
    assert gone() is None and threading.active_count() < before + 50
    pipe = made(arithmetic)
    pipe.run()
    pipe.close()


@pytest.mark.live_dali
def test_same_kinds_of_pipelines_as_dali():
    theirs = dali().pipeline.experimental.pipeline_def(
        lambda: 1, batch_size=2, num_threads=1, device_id=None
    )(debug=True)
    ours = made(lambda: 1)
    assert isinstance(ours, Pipeline) and isinstance(theirs, dali().Pipeline)
    for pipe in (ours, theirs):
        with pytest.raises(RuntimeError, match="pipeline_def"):
            pipe.__enter__()

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""external_source and feed_input: sources, epochs, checks; the tables of the docs against live DALI."""

import gc
import weakref

import numpy as np
import pytest
from headrace import Pipeline, fn, ops, pipeline_def, types
from headrace.tensors import TensorListCPU


def pipe_of(batch_size=2, depth=2, **kwargs):
    pipe = Pipeline(batch_size, 1, None, prefetch_queue_depth=depth)
    with pipe:
        out = fn.external_source(**kwargs)
        pipe.set_outputs(*(out if isinstance(out, list) else [out]))
    return pipe


def firsts(pipe, count):
    """First element of each of `count` runs, or "S" for StopIteration."""
    got = []
    for _ in range(count):
        try:
            got.append(pipe.run()[0].at(0).flat[0].item())
        except StopIteration:
            got.append("S")
    return got


def batch(value, n=2):
    return [np.full(3, value, np.int32)] * n


def test_callable_without_argument():
    calls = iter(range(100))
    pipe = pipe_of(source=lambda: batch(next(calls)))
    assert firsts(pipe, 5) == [0, 1, 2, 3, 4]


def test_callable_with_the_iteration():
    pipe = pipe_of(source=lambda i: batch(i))
    assert firsts(pipe, 4) == [0, 1, 2, 3]


def test_what_iterates_is_not_called():
    class Source:
        def __call__(self, i):
            raise AssertionError

        def __iter__(self):
            return iter([batch(3), batch(4)])

    assert firsts(pipe_of(source=Source(), cycle="raise"), 3) == [3, 4, "S"]


def test_batch_info_and_epochs():
    seen = []

    def source(info):
        seen.append((info.iteration, info.epoch_idx))
        if info.iteration == 2:
            raise StopIteration
        return batch(info.iteration)

    pipe = pipe_of(source=source, batch_info=True)
    assert firsts(pipe, 4) == [0, 1, "S", "S"]
    pipe.reset()
    assert firsts(pipe, 3) == [0, 1, "S"]
    assert seen == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]


def test_sample_info():
    seen = []

    def source(info):
        if info.idx_in_epoch >= 6:
            raise StopIteration
        seen.append((info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx))
        return np.array([info.idx_in_epoch])

    pipe = pipe_of(batch_size=3, source=source, batch=False)
    first, second = pipe.run()[0].as_array(), pipe.run()[0].as_array()
    assert first.ravel().tolist() == [0, 1, 2] and second.ravel().tolist() == [3, 4, 5]
    with pytest.raises(StopIteration):
        pipe.run()
    pipe.reset()
    pipe.run()
    assert seen[:4] == [(0, 0, 0, 0), (1, 1, 0, 0), (2, 2, 0, 0), (3, 0, 1, 0)]
    assert seen[6] == (0, 0, 0, 1)


@pytest.mark.parametrize(
    "cycle, expected",
    [
        (None, [1, 2, "S", "S"]),
        (False, [1, 2, "S", "S"]),
        ("no", [1, 2, "S", "S"]),
        (True, [1, 2, 1, 2]),
        ("quiet", [1, 2, 1, 2]),
        ("raise", [1, 2, "S", "S"]),
    ],
)
@pytest.mark.parametrize("kind", ["iterable", "generator function"])
def test_cycle(cycle, expected, kind):
    def generate():
        yield batch(1)
        yield batch(2)

    source = generate if kind == "generator function" else [batch(1), batch(2)]
    pipe = pipe_of(source=source, cycle=cycle)
    assert firsts(pipe, 4) == expected
    pipe.reset()
    after = {"raise": [1, 2, "S"], True: [1, 2, 1], "quiet": [1, 2, 1]}.get(cycle, ["S"] * 3)
    assert firsts(pipe, 3) == after


def test_wrong_cycles_and_sources():
    def generate():
        yield batch(1)

    with pytest.raises(ValueError):
        fn.external_source(source=lambda: batch(1), cycle=True)
    with pytest.raises(ValueError):
        fn.external_source(source=[batch(1)], cycle="sometimes")
    with pytest.raises(TypeError, match="generator"):
        fn.external_source(source=generate(), cycle=True)
    with pytest.raises(ValueError):
        fn.external_source(cycle=True)
    with pytest.raises(TypeError):
        fn.external_source(source=lambda a, b: batch(1))
    with pytest.raises(TypeError):
        fn.external_source(source=3)
    with pytest.raises(ValueError):
        fn.external_source(num_outputs=2)
    with pytest.raises(RuntimeError):
        fn.external_source(source=lambda: 0, num_outputs=2, name="x")
    with pytest.raises(TypeError, match="parallel"):
        fn.external_source(source=lambda: batch(0), parallel=True)
    with pytest.raises(ValueError, match="tpu"):
        fn.external_source(device="tpu")
    with pytest.raises(ValueError, match='unexpected argument "foo"'):
        ops.ExternalSource(foo=1)
    pipe = pipe_of(source=generate())
    assert firsts(pipe, 2) == [1, "S"]


def test_several_outputs():
    def source(i):
        return batch(i), np.full((2, 1), i + 10, np.float32)

    pipe = pipe_of(source=source, num_outputs=2, layout=["X", "Y"], dtype=[types.INT32, None])
    a, b = pipe.run()
    assert a.at(0).tolist() == [0, 0, 0] and b.as_array().tolist() == [[10.0], [10.0]]
    assert a.layout() == "X" and b.layout() == "Y"
    one = fn.external_source(source=lambda: (batch(1),), num_outputs=1)
    assert isinstance(one, list) and len(one) == 1


def test_several_outputs_sample_by_sample():
    def source(info):
        return np.array([info.idx_in_epoch]), np.array([[info.idx_in_epoch * 2.0]])

    a, b = pipe_of(batch_size=3, source=source, num_outputs=2, batch=False).run()
    assert a.as_array().ravel().tolist() == [0, 1, 2]
    assert b.as_array().ravel().tolist() == [0, 2, 4] and b.shape() == [(1, 1)] * 3


@pytest.mark.parametrize(
    "data, shapes",
    [
        (np.zeros((2, 3, 4)), [(3, 4)] * 2),
        ([np.zeros(3), np.zeros(5)], [(3,), (5,)]),
        ((np.zeros(3), np.zeros(5)), [(3,), (5,)]),
        (TensorListCPU(np.zeros((2, 3), np.float16), "X"), [(3,)] * 2),
        ([np.float32(1), np.float32(2)], [(), ()]),
        ([memoryview(b"ab"), bytearray(b"abc")], [(2,), (3,)]),
    ],
)
def test_forms_of_a_batch(data, shapes):
    (out,) = pipe_of(source=[data]).run()
    assert out.shape() == shapes


def test_torch_data():
    torch = pytest.importorskip("torch")
    (out,) = pipe_of(source=[[torch.arange(3), torch.arange(3) * 2]]).run()
    assert out.as_array().tolist() == [[0, 1, 2], [0, 2, 4]]


@pytest.mark.parametrize(
    "data",
    [
        [1, 2],
        3,
        None,
        "text",
        [[1, 2], [3]],
        [np.zeros(2)] * 3,
        [np.zeros(2), np.zeros(2, np.int8)],
        [np.zeros(2), np.zeros((2, 2))],
        np.float32(3),
        [object()],
    ],
)
def test_what_is_no_batch(data):
    pipe = pipe_of(source=lambda: data)
    with pytest.raises(RuntimeError, match="external_source"):
        pipe.run()


@pytest.mark.parametrize("empty", [[], np.zeros((0, 2), np.uint8)], ids=["list", "array"])
@pytest.mark.parametrize("depth", [1, 2])
def test_empty_batches(empty, depth):
    """All outputs of the iteration are empty, and the next iteration is normal (in DALI it fails)."""
    batches = iter([empty, batch(1), empty, empty, batch(2, 1)])
    pipe = Pipeline(2, 2, None, prefetch_queue_depth=depth)
    with pipe:
        x = fn.external_source(lambda: next(batches), dtype=types.INT32)
        y = fn.permute_batch(x, indices=fn.batch_permutation())
        pipe.set_outputs(x, x + 1, fn.random.uniform(range=[0, 1]), y)
    assert [[len(out) for out in pipe.run()] for _ in range(5)] == [
        [n] * 4 for n in (0, 2, 0, 0, 1)
    ]
    with pytest.raises(StopIteration):
        pipe.run()


@pytest.mark.parametrize(
    "declared", [{"dtype": types.UINT8}, {"ndim": 2}, {"layout": "HW"}, {"layout": "HWC"}]
)
def test_declarations_are_checked(declared):
    with pytest.raises(
        RuntimeError, match=r"does not match the ndim argument[^:]*:\n ndim = 2,\n layout: "
    ):
        pipe_of(source=lambda: batch(1), layout="HWC", ndim=2)
    pipe = pipe_of(source=lambda: batch(1), **declared)
    with pytest.raises(RuntimeError):
        pipe.run()


def test_batches_may_be_smaller():
    sizes = [1, 4, 2]
    pipe = Pipeline(4, 1, None)
    with pipe:
        data = fn.external_source(source=[batch(n, n) for n in sizes])
        pipe.set_outputs(data + 1, 7, fn.random.coin_flip())
    for n in sizes:
        assert [len(out) for out in pipe.run()] == [n] * 3


def test_exceptions_pass_through():
    class Mine(Exception):
        pass

    def source(i):
        if i == 1:
            raise Mine("here")
        return batch(i)

    pipe = pipe_of(source=source, depth=1)
    assert firsts(pipe, 1) == [0]
    with pytest.raises(Mine, match="here"):
        pipe.run()


def test_feeding_by_hand():
    pipe = pipe_of(name="in", layout="X")
    with pytest.raises(KeyError, match="other"):
        pipe.feed_input("other", batch(1))
    with pytest.raises(IndexError):
        pipe.run()
    assert pipe.input_feed_count("in") == 2
    for i in range(6):  # more than the queue can hold
        pipe.feed_input("in", batch(i))
    assert firsts(pipe, 6) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(IndexError):
        pipe.run()
    pipe.feed_input("in", np.full((1, 2), 9, np.int32))
    (out,) = pipe.run()
    assert out.as_array().tolist() == [[9, 9]] and out.layout() == "X"


def test_feeding_a_node_and_layouts():
    pipe = Pipeline(2, 1, None)
    with pipe:
        node = fn.external_source()
        pipe.set_outputs(node)
    pipe.feed_input(node, np.zeros((2, 3, 4)), layout="HW")
    assert pipe.run()[0].layout() == "HW"
    with pytest.raises(RuntimeError):
        pipe.feed_input(node, np.zeros((2, 3, 4)), layout="HWC")
    with pytest.raises(RuntimeError, match="source"):
        other = pipe_of(source=lambda: batch(1), name="s")
        other.feed_input("s", batch(1))


def test_inputs_of_run():
    pipe = pipe_of(depth=1, name="in")
    assert pipe.run(**{"in": batch(3)})[0].at(0)[0] == 3
    with pytest.raises(KeyError):
        pipe.run(nothing=batch(3))
    with pytest.raises(RuntimeError, match="prefetch_queue_depth"):
        pipe_of(depth=2, name="in").run(**{"in": batch(3)})


def test_repeat_last():
    pipe = pipe_of(name="in", repeat_last=True)
    pipe.feed_input("in", batch(1))
    assert firsts(pipe, 3) == [1, 1, 1]
    pipe.feed_input("in", batch(2))
    got = firsts(pipe, 4)
    assert got[-1] == 2 and sorted(got) == got


def test_no_copy_holds_the_users_memory():
    data = np.zeros((2, 4), np.float32)
    watch = weakref.ref(data)
    pipe = pipe_of(source=[data], no_copy=True)
    (out,) = pipe.run()
    data[1, 2] = 5
    assert out.at(1)[2] == 5
    copied = np.zeros((2, 4), np.float32)
    (kept,) = pipe_of(source=[copied]).run()
    copied[:] = 5
    assert not kept.as_array().any()
    del data, pipe
    gc.collect()
    assert watch() is not None and out.at(1)[2] == 5
    del out
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("dense", [False, True])
def test_copies_are_in_memory_that_is_used_again(dense):
    """Memory is not reused while it is referenced, whether or not the pipeline still exists."""
    data = np.zeros((2, 3000), np.int32)
    pipe = pipe_of(depth=1, source=lambda: data if dense else list(data))
    places = set()
    held = pipe.run()[0]
    for i in range(1, 5):
        data[:] = i
        out = pipe.run()[0]
        assert out.as_array().tolist() == data.tolist()
        places.add(out.data_ptr())
        del out
    assert len(places) < 4 and held.data_ptr() not in places
    del pipe
    gc.collect()
    assert not held.as_array().any()


def test_several_nodes_without_source():
    pipe = Pipeline(2, 1, None)
    with pipe:
        nodes = ops.ExternalSource(num_outputs=3, dtype="float32")()
        pipe.set_outputs(nodes[2], nodes[0])  # the one in between needs no data
    assert len({node.name for node in nodes}) == 3
    pipe.feed_input(nodes[0], [a.astype("float32") for a in batch(1)])
    pipe.feed_input(nodes[2], [a.astype("float32") for a in batch(2)])
    assert [out.at(0).flat[0] for out in pipe.run()] == [2, 1]
    with pytest.raises(RuntimeError, match="between 1 and 64"):
        ops.ExternalSource(num_outputs=65)()


def test_unused_outputs_warn():
    def computing_two():
        return batch(1), batch(2)

    with pytest.warns(Warning, match="'.*computing_two.*' produces 2 .* index 1 is not used"):
        pipe = Pipeline(2, 1, None)
        with pipe:
            a, _ = fn.external_source(source=computing_two, num_outputs=2)
            pipe.set_outputs(a)
        assert pipe.run()[0].at(0)[0] == 1


def test_unused_sources_are_not_called():
    def source():
        raise AssertionError("called")

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe():
        fn.external_source(source=source)
        return types.Constant([1], device="cpu")

    assert pipe().run()[0].at(0).tolist() == [1]


@pytest.mark.parametrize("cycle", [None, True, "raise"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_epochs_as_in_dali(cycle, depth, live_dali):
    dali = live_dali

    def sequence(package):
        pipe = package.Pipeline(2, 1, None, prefetch_queue_depth=depth)
        with pipe:
            node = package.fn.external_source(source=[batch(i) for i in range(4)], cycle=cycle)
            pipe.set_outputs(node)
        got = firsts(pipe, 6)
        pipe.reset()
        return got + firsts(pipe, 6)

    import headrace

    assert sequence(headrace) == sequence(dali)


@pytest.mark.parametrize(
    "declared, message",
    [
        ({"dtype": types.UINT8}, "expected data of type uint8 and got: float"),
        ({"ndim": 3}, "expected data with 3 dimensions and got 1 dimensions"),
    ],
)
def test_data_that_were_declared_differently(declared: dict, message: str) -> None:
    pipe = Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(fn.external_source(lambda: [np.zeros(2, np.float32)], **declared))
    with pytest.raises(RuntimeError, match=message):
        pipe.run()


def test_fed_data_have_the_declared_layout() -> None:
    pipe = Pipeline(1, 1, None, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="input", layout="H"))
    with pytest.raises(RuntimeError, match='Expected data with layout: "H" and got: "W"'):
        pipe.feed_input("input", [np.zeros(1)], layout="W")
        pipe.run()
    pipe.feed_input("input", [np.zeros(1)], layout="H")
    assert pipe.run()[0].layout() == "H"


def test_sources_without_a_state_are_named_when_checkpoints_are_on() -> None:
    pipe = Pipeline(1, 1, None, enable_checkpointing=True)
    with pipe:
        pipe.set_outputs(fn.external_source([[np.zeros(2)]]))
    with pytest.warns(UserWarning, match="Headrace doesn't capture state of such 'source'"):
        pipe.build()


def test_parallel_sources_need_workers() -> None:
    pipe = Pipeline(1, 1, None, py_num_workers=None)
    with pipe:
        pipe.set_outputs(fn.external_source(lambda i: [np.zeros(2)], parallel=True))
    with pytest.raises(RuntimeError, match="parallel mode without Python workers pool"):
        pipe.build()

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Methods of Pipeline: the same program in Headrace and in live DALI."""

import functools
import operator

import numpy as np
import pytest
from headrace import Pipeline, fn, pipeline_def, types
from twice import attempts, evaluate, normal, pipeline, quietly, same, same_error

X = np.arange(6, dtype=np.int32).reshape(3, 2)


def counting(d, define=None, last=None, **kwargs):
    """A pipeline whose source gives 1, 2, ... (StopIteration after `last`)."""
    calls = iter(range(1, 10**6 if last is None else last + 1))
    pipe = d.Pipeline(**{"batch_size": 3, "num_threads": 1, "device_id": None, **kwargs})
    with pipe:
        node = d.fn.external_source(source=lambda: np.full((3, 2), next(calls), np.int32), name="X")
        outputs = define(d, node) if define else node
        pipe.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    return pipe


# ---- the ways to run -----------------------------------------------------------------------------


@same
def test_run(d):
    return [tuple(counting(d).run()) for _ in range(2)]


@same
def test_schedule_share_release(d):
    pipe = counting(d)
    pipe.schedule_run()
    first = [np.array(t) for t in pipe.share_outputs()[0]]
    pipe.release_outputs()
    pipe.schedule_run()
    return first, tuple(pipe.outputs())


@same
def test_outputs_of_two_scheduled_runs(d):
    pipe = counting(d)
    pipe.schedule_run()
    pipe.schedule_run()
    return [np.array(pipe.outputs()[0][0]) for _ in range(2)]


@same_error(RuntimeError)
def test_run_then_schedule(d):
    pipe = counting(d)
    pipe.run()
    pipe.schedule_run()


@same_error(RuntimeError)
def test_schedule_then_run(d):
    pipe = counting(d)
    pipe.schedule_run()
    pipe.run()


@same
def test_api_check_can_be_off(d):
    pipe = counting(d)
    pipe.enable_api_check(False)
    pipe.run()
    pipe.schedule_run()
    return tuple(pipe.outputs())


@same
def test_end_of_data(d):
    pipe = counting(d, last=2)
    results = attempts(*[lambda: tuple(pipe.run())] * 4)
    pipe.reset()
    return results + attempts(pipe.run)


@same
def test_end_of_data_scheduled(d):
    pipe = counting(d, last=2)

    def step():
        pipe.schedule_run()
        return tuple(pipe.outputs())

    return attempts(*[step] * 4)


@same
def test_reset_before_the_end(d):
    pipe = counting(d)
    pipe.run()
    pipe.reset()
    return tuple(pipe.run())


@same
def test_empty(d):
    pipe = counting(d)
    before = pipe.empty()
    pipe.run()
    return before, pipe.empty()


@same
def test_iter_setup_ends_epochs(d):
    class Setup(d.Pipeline):
        n = 0

        def define_graph(self):
            return d.types.Constant([3], device="cpu")

        def iter_setup(self):
            self.n += 1
            if self.n > 3:
                raise StopIteration

    pipe = Setup(2, 1, None)

    def step():
        pipe.run()
        return pipe.n

    first = attempts(*[step] * 5)
    pipe.reset()
    pipe.n = 0
    return first + attempts(*[step] * 5)


@same
def test_batch_size_varies(d):
    sizes = iter([3, 1, 4, 2])
    pipe = d.Pipeline(4, 1, None)
    with pipe:
        x = d.fn.external_source(source=lambda: np.zeros((next(sizes), 2), np.float32))
        fixed = d.types.Constant([1, 2], device="cpu")
        pipe.set_outputs(x + 1, d.fn.random.uniform(range=[0.0, 1.0]), fixed, fixed + x)
    return [[len(out) for out in pipe.run()] for _ in range(4)]


@pytest.mark.parametrize("sizes", [(5, 5), (3, 2)])
def test_batch_sizes_that_are_errors(sizes):
    @same_error(RuntimeError)
    def program(d):
        pipe = d.Pipeline(4, 1, None)
        with pipe:
            x = d.fn.external_source(source=lambda: np.zeros((sizes[0], 2)))
            y = d.fn.external_source(source=lambda: np.zeros((sizes[1], 2)))
            pipe.set_outputs(x, y)
        pipe.run()

    program()


# ---- feeding -------------------------------------------------------------------------------------


@same
def test_feeding_that_is_an_error(d):
    def run_with(name, **kwargs):
        return lambda: counting(d, **kwargs).run(**{name: [np.zeros(2)]})

    return attempts(
        run_with("Y"),
        run_with("Y", prefetch_queue_depth=1),
        run_with("X", prefetch_queue_depth=1),
        lambda: counting(d).feed_input("Y", [np.zeros(2)]),
        lambda: counting(d).feed_input("X", [np.zeros(2)]),
        lambda: counting(d).feed_input(3, [np.zeros(2)]),
        lambda: counting(d).input_feed_count("Y"),
    )


@same
def test_input_feed_count(d):
    depths = (1, 2, 5, {"cpu_size": 3, "gpu_size": 2})
    return [counting(d, prefetch_queue_depth=depth).input_feed_count("X") for depth in depths]


def test_feed_input_as_often_as_asked():
    pipe = Pipeline(2, 1, None, prefetch_queue_depth=3)
    with pipe:
        node = fn.external_source(name="X")
        pipe.set_outputs(node * 2)
    for i in range(pipe.input_feed_count("X")):
        pipe.feed_input(node if i % 2 else "X", np.full((2, 1), i, np.int32))
    got = [pipe.run()[0].as_array()[0, 0] for _ in range(3)]
    assert got == [0, 2, 4]
    with pytest.raises(IndexError):
        pipe.run()


def test_inputs_of_run():
    pipe = Pipeline(2, 1, None, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="a") + fn.external_source(name="b"))
    for i in range(3):
        (out,) = pipe.run(a=np.full((2, 1), i, np.int32), b=[np.int32([1]), np.int32([2])])
        assert out.as_array().tolist() == [[i + 1], [i + 2]]


# ---- definition ----------------------------------------------------------------------------------


@same
def test_executors_that_do_not_fit(d):
    separated = {"cpu_size": 2, "gpu_size": 2}
    return attempts(
        lambda: tuple(counting(d, exec_dynamic=True, prefetch_queue_depth=separated).run()),
        lambda: tuple(counting(d, exec_dynamic=False, prefetch_queue_depth=separated).run()),
        lambda: tuple(counting(d, exec_dynamic=True, exec_async=False).run()),
        lambda: tuple(counting(d, exec_async=False, exec_pipelined=False).run()),
    )


@same
def test_outputs_that_are_no_nodes(d):
    pipe = d.Pipeline(2, 1, None)
    pipe.set_outputs(1, 2.5, True, np.zeros(2), [1, 2], np.int64(3), np.uint8(2), (1.0, 2.0))
    return tuple(pipe.run())


@same
def test_outputs_that_are_errors(d):
    def given(*outputs):
        pipe = d.Pipeline(2, 1, None)
        pipe.set_outputs(*outputs)
        return pipe.run

    nested = counting(d, lambda d, x: ([x, x],)), counting(d, lambda d, x: ((x,),))
    return attempts(
        *[given(value) for value in ("a", None, {"a": 1}, 1j)], given(), *[p.run for p in nested]
    )


@same
def test_one_node_as_two_outputs(d):
    return tuple(counting(d, lambda d, x: (x, x + 1, x)).run())


@same_error(RuntimeError)
def test_two_nodes_of_one_name(d):
    counting(d, lambda d, x: (d.fn.copy(x, name="a"), d.fn.copy(x, name="a"))).run()


@same
def test_set_outputs_again(d):
    pipe = counting(d)
    pipe.set_outputs(7)
    return tuple(pipe.run())


@same
def test_define_graph(d):
    class Defined(d.Pipeline):
        def __init__(self, several):
            super().__init__(2, 1, None)
            self.constant = d.ops.Constant(idata=[3])
            self.several = several

        def define_graph(self):
            return [self.constant(), self.constant()] if self.several else self.constant()

    return [tuple(Defined(several).run()) for several in (False, True)]


@same
def test_current_pipeline(d):
    a, b = d.Pipeline(2, 1, None), d.Pipeline(3, 1, None)
    seen = [d.Pipeline.current() is None]
    with a as entered:
        seen += [entered is a, d.Pipeline.current() is a]
        with b:
            seen.append(d.Pipeline.current() is b)
        seen.append(d.Pipeline.current() is a)
        seen += [d.Pipeline.push_current(b) is a, d.Pipeline.current() is b]
        d.Pipeline.pop_current()
        seen.append(d.Pipeline.current() is a)
    try:
        with a:
            raise KeyError
    except KeyError:
        seen.append(d.Pipeline.current() is None)
    return seen


@same
def test_operators_outside_a_pipeline(d):
    made = d.fn.copy(d.types.Constant([1, 2], device="cpu")) + 1
    pipe = d.Pipeline(2, 1, None)
    pipe.set_outputs(made)
    return tuple(pipe.run())


def test_sinks_and_preserved_nodes_run():
    calls = []

    def source():
        calls.append(1)
        return np.zeros((2, 1), np.float32)

    for keep in ("sink", "preserve", "neither"):
        calls.clear()
        pipe = Pipeline(2, 1, None)
        with pipe:
            copied = fn.copy(fn.external_source(source=source), preserve=keep == "preserve")
            if keep == "sink":
                pipe.add_sink(copied)
            pipe.set_outputs(1)
        assert len(pipe.run()) == 1
        assert bool(calls) == (keep != "neither"), keep


@same
def test_preserve(d):
    def define(d, x):
        d.fn.copy(x, preserve=True)
        return 1

    return tuple(evaluate(d, define, X))


@same
def test_multiple_input_sets(d):
    def define(d, x, y):
        made = d.fn.copy([x, y])
        assert isinstance(made, list)
        cast = d.fn.cast([x, y], dtype=d.types.FLOAT)
        return (*made, *d.ops.Copy()([y, x]), d.fn.copy([x]), *cast)

    return tuple(evaluate(d, define, X, X + 1))


@same
def test_multiple_input_sets_of_several_inputs(d):
    def define(d, x, y):
        return (*d.fn.cat([x, y], [y, x], axis=0), *d.fn.cat([x, y], x, axis=0))

    return tuple(evaluate(d, define, X, X[::-1].copy()))


@same_error(ValueError)
def test_multiple_input_sets_of_different_lengths(d):
    evaluate(d, lambda d, x, y: tuple(d.fn.cat([x, y], [x], axis=0)), X, X)


# ---- declared properties of outputs --------------------------------------------------------------


@same
def test_declared_outputs(d):
    twice = {"define": lambda d, x: (x, x)}
    t = d.types

    def declared(**kwargs):
        return lambda: tuple(counting(d, **kwargs).run())

    return attempts(
        declared(**twice, output_dtype=t.INT32, output_ndim=1),
        declared(**twice, output_dtype=[None, t.FLOAT]),
        declared(**twice, output_dtype=[None]),
        declared(output_dtype=t.NO_TYPE),
        declared(output_dtype=2),
        declared(output_ndim=-1),
        declared(output_ndim=3),
        declared(output_ndim=np.int32(1)),
        declared(output_layout="AB"),
        declared(output_layout=""),
        declared(output_layout=3),
        lambda: counting(d).output_dtype() + counting(d).output_ndim(),
        lambda: counting(d, output_ndim=1, output_dtype=t.INT32).output_ndim(),
    )


# ---- information ---------------------------------------------------------------------------------


@same
def test_properties(d):
    pipe = counting(d, seed=4, num_threads=2, prefetch_queue_depth=3)
    names = """max_batch_size batch_size num_threads device_id seed exec_pipelined exec_async exec_dynamic
        exec_separated set_affinity max_streams prefetch_queue_depth cpu_queue_size gpu_queue_size
        default_cuda_stream_priority enable_memory_stats py_num_workers py_start_method num_outputs
        is_restored_from_checkpoint stream_policy concurrency"""
    return [getattr(pipe, name) for name in names.split()]


@same_error(AttributeError)
def test_properties_are_not_set(d):
    counting(d).num_threads = 3


@same
def test_readers_that_are_none(d):
    pipe = counting(d)
    return attempts(
        pipe.reader_meta,
        pipe.epoch_size,
        lambda: pipe.reader_meta("a"),
        lambda: pipe.epoch_size("a"),
    )


@same
def test_statistics_are_off_by_default(d):
    pipe = counting(d, exec_dynamic=False)
    pipe.run()
    return pipe.executor_statistics()


def test_statistics():
    pipe = counting(
        __import__("headrace"), lambda d, x: (x, d.fn.copy(x, name="c")), enable_memory_stats=True
    )
    pipe.run()
    sizes = {"real_memory_size": [24], "max_real_memory_size": [8]}
    sizes |= {"reserved_memory_size": [24], "max_reserved_memory_size": [8]}
    assert pipe.executor_statistics() == {"CPU_X": sizes, "CPU_c": sizes}


@same
def test_shared_memory_statistics(d):
    pipe = counting(d)
    pipe.build()
    return pipe.external_source_shm_statistics()


# ---- bytes and files -----------------------------------------------------------------------------


def defined(d, **kwargs):
    return pipeline(d, lambda d: d.fn.copy(d.types.Constant([1, 2], device="cpu")) + 1, **kwargs)


@same
def test_serialize(d):
    text = defined(d, batch_size=3, seed=3).serialize()
    results = []
    for kwargs in ({}, {"batch_size": 5, "num_threads": 2, "prefetch_queue_depth": 3, "seed": 8}):
        pipe = d.Pipeline.deserialize(text, **kwargs)
        results += [tuple(pipe.run()), pipe.max_batch_size, pipe.num_threads, pipe.seed]
    given = d.Pipeline(4, 2, None)
    given.deserialize_and_build(text)
    return isinstance(text, bytes), results, tuple(given.run()), given.num_threads


@same
def test_serialize_to_a_file(d):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/pipe"
        text = defined(d).serialize(filename=file)
        equal = Path(file).read_bytes() == text
        return equal, tuple(d.Pipeline.deserialize(filename=file).run())


@same
def test_serialize_another_definition(d):
    pipe = d.Pipeline(3, 1, None)
    text = pipe.serialize(define_graph=lambda: d.types.Constant([1], device="cpu"))
    return tuple(d.Pipeline.deserialize(text).run())


@same
def test_serialization_that_is_an_error(d):
    read = d.Pipeline.deserialize
    return attempts(
        read,
        lambda: read(b"x", filename="y"),
        lambda: read(b"xyz"),
        lambda: read("xyz"),
        lambda: read(5),
        lambda: d.Pipeline(2, 1, None).serialize(define_graph=3),
        lambda: counting(d).serialize(define_graph=lambda: 3),
        lambda: d.Pipeline(2, 1, None).build(),
    )


@same
def test_dot_file(d):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/graph.dot"
        returned = defined(d).save_graph_to_dot_file(file)
        defined(d).save_graph_to_dot_file(file, show_tensors=True, use_colors=True)
        return returned, Path(file).read_text().splitlines()[0]


# ---- checkpoints ---------------------------------------------------------------------------------


@same
def test_checkpoint_of_random_operators(d):
    def make(checkpoint=None):
        def define(d):
            return d.fn.random.uniform(range=[0.0, 1.0]), d.fn.random.coin_flip()

        return pipeline(d, define, seed=5, enable_checkpointing=True, checkpoint=checkpoint)

    pipe = make()
    for _ in range(2):
        pipe.run()
    state = pipe.checkpoint()
    expected = [tuple(pipe.run()) for _ in range(3)]
    again = make(state)
    got = [tuple(again.run()) for _ in range(3)]
    return (
        isinstance(state, bytes),
        quietly(lambda d: got == expected, d)
        or [str(a) == str(b) for a, b in zip(got, expected, strict=True)],
        again.is_restored_from_checkpoint,
    )


@same_error(RuntimeError)
def test_checkpoint_without_checkpointing(d):
    counting(d).checkpoint()


@same_error(RuntimeError)
def test_checkpoint_that_is_none(d):
    pipeline(d, lambda d: 1, enable_checkpointing=True, checkpoint=b"abc").run()


PICTURE = np.arange(5 * 6 * 3, dtype=np.uint8).reshape(5, 6, 3)
PPM = np.frombuffer(b"P6 6 5 255\n" + PICTURE.tobytes(), np.uint8)
GIVEN = {
    "random_bbox_crop": {"scaling": [0.3, 1.0], "allow_no_crop": False},
    "random_resized_crop": {"size": [3, 3]},
    "roi_random_crop": {"crop_shape": [2, 2], "roi_start": [0, 0], "roi_shape": [50, 50]},
}
BOXES = np.array([[0.1, 0.1, 0.5, 0.6], [0.3, 0.2, 0.9, 0.8]], np.float32)
INPUTS = {
    "decoders.image_random_crop": [PPM],
    "random.choice": [np.arange(50, dtype=np.int32)],
    "random_bbox_crop": [BOXES],
    "random_crop_generator": [np.array([100, 80], np.int32)],
    "ssd_random_crop": [PICTURE, BOXES, np.array([1, 2], np.int32)],
}


def random_calls():
    """Calls of all random operators: name, inputs, arguments."""
    from headrace._graph import schema as _schema

    for op in _schema.operators().values():
        if "random" in op.flags and "hidden" not in op.flags and not op.is_reader:
            inputs = INPUTS.get(op.name, [PICTURE] * op.in_min)
            yield op.name, inputs, GIVEN.get(op.name, {})


@pytest.mark.parametrize("call", list(random_calls()), ids=lambda call: call[0])
def test_checkpoint_of_every_random_operator(call):
    """Every random operator continues at the saved position."""
    name, inputs, arguments = call
    function = operator.attrgetter(name)(fn)

    def make(checkpoint=None):
        pipe = Pipeline(3, 1, None, seed=5, enable_checkpointing=True, checkpoint=checkpoint)
        with pipe:
            nodes = [types.Constant(x, layout="HWC" if x.ndim == 3 else None) for x in inputs]
            results = function(*nodes, **arguments)
            pipe.set_outputs(*(results if isinstance(results, list) else [results]))
        return pipe

    def take(pipe):
        return normal(tuple(pipe.run()))

    pipe = make()
    batches = [take(pipe) for _ in range(2)]
    state = pipe.checkpoint()
    batches += [take(pipe) for _ in range(3)]
    again = make(state)
    assert [take(again) for _ in range(3)] == batches[2:]
    assert any(batch != batches[0] for batch in batches[1:])


def test_a_wrapped_constructor(monkeypatch):
    """Tools wrap `Pipeline.__init__` to change defaults; pipeline_def still knows its arguments."""
    original = Pipeline.__init__

    @functools.wraps(original)
    def without_device(self, *args, **kwargs):
        original(self, *args, **{**kwargs, "device_id": None})

    monkeypatch.setattr(Pipeline, "__init__", without_device)

    @pipeline_def
    def define(value):
        return types.Constant(value)

    pipe = define(7, batch_size=2, num_threads=1, device_id=0)
    assert (pipe.max_batch_size, pipe.device_id) == (2, None)
    assert pipe.run()[0].at(0) == 7

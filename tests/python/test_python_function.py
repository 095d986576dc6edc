# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""python_function and its variants: the same programs with Headrace and with live DALI, and effects of threads."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import Pipeline, fn, ops
from waiting import HANG_S, until

BATCH = 3


def build(package: Any, function: Any, options: Any = None, inputs: int = 1, **kwargs: Any) -> Any:
    pipe = package.Pipeline(BATCH, 2, None, **(options or {}))

    def source(i: int) -> list[np.ndarray]:
        return [np.full((2, j + 1), 10 * i + j, np.int32) for j in range(BATCH)]

    with pipe:
        nodes = [package.fn.external_source(source, layout="HW") for _ in range(inputs)]
        out = package.fn.python_function(*nodes, function=function, **kwargs)
        pipe.set_outputs(*(out if isinstance(out, (list, tuple)) else [out]))
    return pipe


def outcome(package: Any, *args: Any, **kwargs: Any) -> Any:
    """The results of three iterations, or the type of the exception."""
    try:
        pipe = build(package, *args, **kwargs)
        return [
            [
                (out.layout(), str(out.dtype), [np.array(sample).tolist() for sample in out])
                for out in pipe.run()
            ]
            for _ in range(3)
        ]
    except Exception as error:
        return type(error)


def fails(_: Any) -> Any:
    raise ValueError("on purpose")


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (lambda a: a + 1, {}),
    "not pipelined": (
        lambda a: a * 2,
        {"options": {"exec_pipelined": False, "exec_async": False}},
    ),
    "two inputs": (lambda a, b: a + 3 * b, {"inputs": 2}),
    "two outputs": (lambda a: (a + 1, a.astype(np.float32)), {"num_outputs": 2}),
    "list for two outputs": (lambda a: [a, a], {"num_outputs": 2}),
    "one too few": (lambda a: (a,), {"num_outputs": 2}),
    "tuple of one": (lambda a: (a + 1,), {}),
    "tuple of two": (lambda a: (a + 1, a), {}),
    "nothing": (lambda a: None, {}),
    "a list": (lambda a: [1, 2], {}),
    "a number": (lambda a: 5, {}),
    "text": (lambda a: np.array("abc"), {}),
    "scalar array": (lambda a: np.array(a.sum()), {}),
    "transposed": (lambda a: a.T, {}),
    "backwards": (lambda a: a[::-1, ::-1], {}),
    "in place": (lambda a: a.__imul__(2), {}),
    "itself": (lambda a: a, {}),
    "empty": (lambda a: np.zeros((0, 3), np.uint8), {}),
    "bool": (lambda a: a > 0, {}),
    "half": (lambda a: a.astype(np.float16), {}),
    "types differ": (lambda a: a.astype(np.int32 if a.shape[1] == 1 else np.float32), {}),
    "ndims differ": (lambda a: a if a.shape[1] == 1 else a[0], {}),
    "layout of all": (lambda a: (a, a), {"num_outputs": 2, "output_layouts": "AB"}),
    "layouts": (lambda a: (a, a), {"num_outputs": 2, "output_layouts": ["AB", "CD"]}),
    "fewer layouts": (lambda a: (a, a), {"num_outputs": 2, "output_layouts": ["AB"]}),
    "more layouts": (lambda a: a, {"output_layouts": ["AB", "CD"]}),
    "wrong layout": (lambda a: a, {"output_layouts": "ABC"}),
    "fails": (fails, {}),
    "batch": (lambda a: [x + 1 for x in a], {"batch_processing": True}),
    "batch, two": (
        lambda a: ([x + 1 for x in a], [x[0] for x in a]),
        {"batch_processing": True, "num_outputs": 2},
    ),
    "batch, too small": (lambda a: a[:2], {"batch_processing": True}),
    "batch, fails": (fails, {"batch_processing": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_dali(name: str, live_dali: Any) -> None:
    function, kwargs = CASES[name]
    assert outcome(headrace, function, **kwargs) == outcome(live_dali, function, **kwargs)


def test_what_the_function_sees(live_dali: Any) -> None:
    def look(package: Any) -> Any:
        seen: list[Any] = []

        def function(a: np.ndarray) -> np.ndarray:
            seen.append((type(a), a.flags.writeable, a.flags.owndata, a.dtype, a.shape))
            return a

        build(package, function).run()
        return seen[:BATCH]

    assert look(headrace) == look(live_dali)


def test_no_inputs_no_outputs_and_unused(live_dali: Any) -> None:
    def look(package: Any) -> Any:
        seen: list[Any] = []
        numbers = iter(range(100))
        pipe = package.Pipeline(2, 1, None, prefetch_queue_depth=1, exec_async=False)
        with pipe:
            made = package.fn.python_function(function=lambda: np.array(next(numbers)))
            assert package.fn.python_function(
                made, function=lambda a: seen.append(a.item()), num_outputs=0
            ) in ([], None, ())
            package.fn.python_function(made, function=lambda a: seen.append(-a.item()) or a)
            pipe.set_outputs(made)
        got = [np.array(pipe.run()[0].as_array()).tolist() for _ in range(2)]
        return got, sorted(seen[:8])

    assert look(headrace) == look(live_dali)


def test_capsules(live_dali: Any) -> None:
    def look(package: Any, batch: bool) -> Any:
        seen = []

        def function(value: Any) -> Any:
            seen.append(type(value[0] if batch else value).__name__)
            return value

        pipe = package.Pipeline(2, 1, None)
        with pipe:
            node = package.fn.external_source(lambda i: [np.full(2, i, np.int32)] * 2)
            pipe.set_outputs(
                package.fn.dl_tensor_python_function(
                    node, function=function, batch_processing=batch
                )
            )
        return [pipe.run()[0].as_array().tolist() for _ in range(3)], set(seen)

    assert look(headrace, True) == look(live_dali, True)
    assert look(headrace, False) == look(live_dali, False)


def test_classes(live_dali: Any) -> None:
    def look(package: Any) -> Any:
        pipe = package.Pipeline(2, 1, None)
        op = package.ops.PythonFunction(lambda a, b: (a + b, a - b), 2)
        capsules = package.ops.DLTensorPythonFunction(function=lambda a: a)
        with pipe:
            node = package.fn.external_source(lambda i: [np.full(2, i, np.int32)] * 2)
            a, b = op(node, node)
            pipe.set_outputs(a, b, capsules(a))
        return [out.as_array().tolist() for out in pipe.run()], op.num_outputs, op.device

    assert look(headrace) == look(live_dali)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda p: p.fn.python_function(p.types.Constant(1)), TypeError),
        (lambda p: p.fn.python_function([p.types.Constant(1)] * 2, function=min), TypeError),
        (lambda p: p.fn.python_function(function=min, nonsense=1), (KeyError, TypeError)),
    ],
)
def test_wrong_calls(call: Any, error: Any, live_dali: Any) -> None:
    for package in (headrace, live_dali):
        pipe = package.Pipeline(1, 1, None)
        with pytest.raises(error), pipe:
            call(package)


def test_outside_of_a_pipeline(live_dali: Any) -> None:
    for package in (headrace, live_dali):
        with pytest.raises(RuntimeError, match="Current Pipeline not set"):
            package.fn.python_function(package.types.Constant(1), function=min)
    with Pipeline(1, 1, None), pytest.raises(TypeError, match="callable"):
        fn.python_function(function=3)


def test_serialize(live_dali: Any) -> None:
    for package in (headrace, live_dali):
        with pytest.raises(RuntimeError, match="python_function"):
            build(package, lambda a: a).serialize()


def test_one_array_for_all_samples() -> None:
    """Results are copied when they are returned, so the function may reuse its memory."""
    kept = np.zeros(2, np.int32)

    def function(a: np.ndarray) -> np.ndarray:
        kept[:] = a.flat[0]
        return kept

    (out,) = build(headrace, function).run()
    assert [out.at(i).tolist() for i in range(BATCH)] == [[0, 0], [1, 1], [2, 2]]


def test_inputs_live_as_long_as_they_are_held() -> None:
    kept = []
    pipe = build(headrace, lambda a: (kept.append(a), a + 1)[1])
    for _ in range(5):
        pipe.run()
    del pipe
    gc.collect()
    assert [a.flat[0] for a in kept[: 5 * BATCH]] == [10 * (i // 3) + i % 3 for i in range(15)]


def test_errors_name_the_lines_and_carry_the_exception() -> None:
    with pytest.raises(RuntimeError, match="ValueError: on purpose") as caught:
        build(headrace, fails).run()
    assert "test_python_function.py" in str(caught.value) and "fails" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_the_next_batch_comes_after_a_failure() -> None:
    calls = iter(range(100))

    def function(a: np.ndarray) -> np.ndarray:
        if next(calls) == 0:
            raise ValueError("once")
        return a

    pipe = build(headrace, function)
    with pytest.raises(RuntimeError, match="once"):
        pipe.run()
    assert pipe.run()[0].at(0).flat[0] == 10


def test_batches_in_order_with_slow_calls() -> None:
    seen = []

    def function(a: np.ndarray) -> np.ndarray:
        time.sleep(0.001)  # no luck: the function is meant to be slow
        seen.append(int(a.flat[0]))
        return a

    pipe = build(headrace, function, {"prefetch_queue_depth": 4})
    for _ in range(6):
        pipe.run()
    assert seen == sorted(seen)


def test_behind_and_before_other_operators() -> None:
    pipe = Pipeline(2, 3, None)
    with pipe:
        node = fn.external_source(lambda i: [np.full((4, 4, 3), i, np.uint8)] * 2, layout="HWC")
        made = fn.python_function(fn.cast(node, dtype=headrace.types.FLOAT), function=np.copy)
        pipe.set_outputs(made + 1, made, ops.PythonFunction(lambda a: a.sum())(made))
    for i in range(4):
        plus, same, total = pipe.run()
        assert same.at(1).max() == i and plus.at(0).max() == i + 1
        assert total.at(0) == i * 48 and same._dense() is not None


def test_the_consumer_does_not_wait_with_the_gil() -> None:
    """The function waits for another Python thread, which can run only while nobody holds the GIL."""
    beat = threading.Event()
    done = threading.Event()

    def beating() -> None:
        while not done.wait(0.001):
            beat.set()

    def function(a: np.ndarray) -> np.ndarray:
        beat.clear()
        assert done.is_set() or beat.wait(HANG_S)
        return a

    thread = threading.Thread(target=beating)
    thread.start()
    try:
        pipe = build(headrace, function)
        for _ in range(10):
            pipe.run()
    finally:
        done.set()
        thread.join()
        beat.set()  # for iterations that run ahead


def test_dropped_in_mid_flight() -> None:
    entered = threading.Event()

    def function(a: np.ndarray) -> np.ndarray:
        entered.set()
        # no luck: meanwhile the pipeline is dropped, usually; both orders are right
        time.sleep(0.05)
        return a

    pipe = build(headrace, function)
    threading.Thread(target=pipe.schedule_run).start()
    assert entered.wait(HANG_S)
    watch = weakref.ref(pipe)
    del pipe
    until(lambda: gc.collect() >= 0 and watch() is None, "the pipeline is gone")


def test_a_function_that_holds_its_pipeline_is_collected() -> None:
    box: list[Any] = []

    def make() -> Any:
        pipe = Pipeline(1, 1, None)
        with pipe:
            pipe.set_outputs(fn.python_function(function=lambda: np.array(id(pipe) > 0)))
        pipe.run()
        return weakref.ref(pipe)

    watch = make()
    gc.collect()
    assert watch() is None and not box


def test_the_last_reference_goes_in_the_function(child: Any) -> None:
    output = child(
        """
        import gc, threading, weakref
        import numpy as np
        from headrace import Pipeline, fn
        from waiting import until

        go = threading.Event()
        box = []

        def function():
            go.wait()
            box.clear()
            gc.collect()
            return np.zeros(3)

        pipe = Pipeline(2, 1, None)
        with pipe:
            pipe.set_outputs(fn.python_function(function=function))
        box.append(pipe)
        pipe.build()
        pipe.schedule_run()
        watch = weakref.ref(pipe)
        del pipe
        go.set()
        until(lambda: watch() is None, "the pipeline is gone")
        print("alive", box)
        """
    )
    assert "alive []" in output


@pytest.mark.parametrize("how", ["end", "exit", "raise"])
def test_the_interpreter_ends_while_functions_run(child: Any, how: str) -> None:
    child(
        """
        import sys, time
        import numpy as np
        from headrace import Pipeline, fn

        def function():
            time.sleep(0.01)  # no luck: the function is meant to be slow
            return np.zeros(3)

        pipe = Pipeline(2, 2, None, prefetch_queue_depth=3)
        with pipe:
            pipe.set_outputs(fn.python_function(function=function))
        pipe.run()
        if sys.argv[1] == "exit":
            sys.exit(0)
        if sys.argv[1] == "raise":
            raise ValueError
        """,
        how,
        code=1 if how == "raise" else 0,
    )


def test_names_and_documentation() -> None:
    assert {"python_function", "dl_tensor_python_function"} <= set(dir(fn))
    assert {"PythonFunction", "DLTensorPythonFunction"} <= set(dir(ops))
    assert "function" in (fn.python_function.__doc__ or "")


def test_arrays_and_capsules() -> None:
    """What functions of `DLTensorPythonFunction` convert with."""
    from headrace import ops

    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    shared = ops._dlpack_to_array(ops._dlpack_from_array(array))
    np.testing.assert_array_equal(shared, array)

    def mirrored(samples: Any) -> Any:
        arrays = [ops._dlpack_to_array(sample) for sample in samples]
        return [ops._dlpack_from_array(np.ascontiguousarray(a[:, ::-1])) for a in arrays]

    pipe = Pipeline(2, 1, None)
    with pipe:
        given = fn.external_source(source=[[array, array + 9]])
        pipe.set_outputs(ops.DLTensorPythonFunction(mirrored, batch_processing=True)(given))
    (out,) = pipe.run()
    np.testing.assert_array_equal(out.as_array(), np.stack([array, array + 9])[:, :, ::-1])


def numbers(function: Any, tmp_path: Any, **options: Any) -> Pipeline:
    """The files 0 to 5, in batches of three, and what the function returns for each."""
    files = [str(tmp_path / f"{i}.bin") for i in range(6)]
    for i, file in enumerate(files):
        with open(file, "wb") as out:
            out.write(bytes([i]))
    pipe = Pipeline(BATCH, 2, None, **options)
    with pipe:
        data, _ = fn.readers.file(files=files)
        pipe.set_outputs(data, fn.python_function(data, function=function))
    return pipe


def picky(array: np.ndarray) -> np.ndarray:
    """Fails for two of the samples, for the second one because of its type."""
    if array[0] == 1:
        raise ValueError("does not like 1")
    return array + 10 if array[0] != 5 else array.astype(np.float32)


def test_only_the_sample_that_fails_is_bad(tmp_path: Any) -> None:
    quarantine = tmp_path / "bad.txt"
    pipe = numbers(picky, tmp_path, on_error="skip", quarantine=str(quarantine))
    for good in ([0, 2], [3, 4]):
        data, result = pipe.run()
        assert data.as_array().ravel().tolist() == good
        assert result.as_array().ravel().tolist() == [10 + i for i in good]
    bad = [error for error in pipe.errors() if error["epoch"] == 0]
    assert [error["source"].rpartition("/")[2] for error in bad] == ["1.bin", "5.bin"]
    assert "ValueError: does not like 1" in bad[0]["message"]
    pipe.close()
    assert "0.bin" not in quarantine.read_text() and "1.bin" in quarantine.read_text()


def test_the_error_names_the_file(tmp_path: Any) -> None:
    pipe = numbers(picky, tmp_path)
    with pytest.raises(RuntimeError, match=r"1\.bin: ValueError: does not like 1") as caught:
        pipe.run()
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(RuntimeError, match=r"5\.bin: RuntimeError: output 0: "):
        pipe.run()


def test_the_first_of_many_failures_is_the_cause(tmp_path: Any) -> None:
    def fail(array: np.ndarray) -> np.ndarray:
        raise ValueError(f"number {int(array[0])}")

    pipe = Pipeline(64, 2, None)
    with pipe:
        data = fn.external_source(lambda: [np.array([i], np.uint8) for i in range(64)])
        pipe.set_outputs(fn.python_function(data, function=fail))
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match="sample 0 of the batch: ValueError: number 0"
        ) as caught:
            pipe.run()
        assert str(caught.value.__cause__) == "number 0"

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Serializes pipelines to bytes (JSON that contains the engine's text of the graph) and to text for Graphviz."""

from __future__ import annotations

import json
from typing import Any

from headrace import _core, _graph
from headrace._pipeline.config import OperatorConcurrency, PipelineConfig, StreamPolicy
from headrace.data_node import DataNode

_FORMAT = 1


def to_bytes(pipeline: Any) -> bytes:
    """Serializes the graph and the arguments of a pipeline. Its graph must be complete."""
    return json.dumps(
        {
            "headrace": _FORMAT,
            "params": _parameters(pipeline._config),
            "readers": pipeline._readers,
            "inputs": {name: source.node for name, source in pipeline._inputs.items()},
            "gpu_inputs": [n for n, source in pipeline._inputs.items() if source.device == "gpu"],
            "outputs": pipeline._output_count,
            "sinks": len(pipeline._sinks),
            "graph": pipeline._graph.core.serialize().decode("utf-8", "surrogateescape"),
        },
        default=lambda value: value.item(),  # NumPy scalars
    ).encode()


_ARGUMENTS = """num_threads device_id seed exec_pipelined exec_async prefetch_queue_depth set_affinity
    enable_checkpointing""".split()
_PATHS = ("quarantine", "trace", "index_cache")


def _parameters(config: PipelineConfig) -> dict[str, Any]:
    return {
        "batch_size": config.max_batch_size,
        **{name: getattr(config, name) for name in _ARGUMENTS},
        "stream_policy": _name(config.stream_policy),
        "concurrency": _name(config.concurrency),
        **{name: value for name, value in config.options.items() if name not in _PATHS},
    }


def _name(member: Any) -> str | None:
    return None if member is None else str(member.name)


_ENUMS = {"stream_policy": StreamPolicy, "concurrency": OperatorConcurrency}


class Definition:
    """A pipeline definition that `to_bytes` stored. The input is not trusted: any bytes give a definition or an error.

    Raises:
        TypeError: `text` is neither bytes nor a string.
        RuntimeError: `text` is not a serialized pipeline.
    """

    def __init__(self, text: Any) -> None:
        if not isinstance(text, (bytes, bytearray, str)):
            raise TypeError(f"A serialized pipeline must be bytes, not {type(text).__name__}.")
        try:
            stored = json.loads(text)
            if stored["headrace"] != _FORMAT:
                raise ValueError("unknown version")
            self.params = dict(stored["params"])
            for key, kind in _ENUMS.items():
                if self.params.get(key) is not None:
                    self.params[key] = kind[self.params[key]]
            self._graph = _core.Graph.parse(stored["graph"].encode("utf-8", "surrogateescape"))
            self._readers = {str(name): int(node) for name, node in stored["readers"].items()}
            self._inputs = {str(name): int(node) for name, node in stored["inputs"].items()}
            self._on_gpu = {str(name) for name in stored.get("gpu_inputs", ())}
            self._outputs, self._sinks = int(stored["outputs"]), int(stored["sinks"])
        except (
            KeyError,
            TypeError,
            AttributeError,
            ValueError,
            RecursionError,
            RuntimeError,
        ) as error:
            raise RuntimeError(f"Not a serialized pipeline: {error}") from error
        if self._outputs < 1 or not 0 <= self._sinks <= 1024:
            raise RuntimeError("Not a serialized pipeline: it has no outputs.")

    def give_to(self, pipeline: Any) -> None:
        """Replaces the graph of a pipeline that is not built yet."""
        pipeline._graph = _graph.Graph(self._graph)
        pipeline._output_count = self._outputs
        pipeline._nodes = []
        pipeline._sinks = [DataNode("sink")] * self._sinks
        pipeline._readers = self._readers
        for name, node in self._inputs.items():
            _add_input(pipeline, name, node, "gpu" if name in self._on_gpu else "cpu")


def _add_input(pipeline: Any, name: str, node: int, device: str) -> None:
    from headrace._external.feeding import Source

    outputs = pipeline._graph.core.node_outputs(node)
    if outputs < 1:
        raise RuntimeError(f"Not a serialized pipeline: node {node} does not exist.")
    source = Source(
        source=None,
        cycle=None,
        several=outputs > 1,
        outputs=outputs,
        batch=True,
        batch_info=False,
        layout=None,
        dtype=None,
        ndim=None,
        no_copy=False,
        repeat_last=False,
        device=device,
    )
    source.node = node
    pipeline._sources.append(source)
    pipeline._inputs[name] = source


def _label(instance: Any) -> str:
    """The label of a node: the operator, the name that the user gave, and the line."""
    name = "" if instance.name.startswith("__") else f" '{instance.name}'"
    origin = f" ({instance.origin})" if instance.origin else ""
    return f"{instance.op}{name}{origin}".replace("\\", "\\\\").replace('"', '\\"')


def to_dot(pipeline: Any, show_tensors: bool, use_colors: bool) -> str:
    """The graph in Graphviz's DOT language.

    Args:
        show_tensors: label the edges with node names.
        use_colors: fill the nodes.
    """
    colour = ', style=filled, fillcolor="lightblue"' if use_colors else ""
    lines = ["digraph graphname {"]
    for instance, number in pipeline._graph.numbers.items():
        lines.append(f'  n{number} [label="{_label(instance)}"{colour}];')
        for node in (*instance.inputs, *instance.arg_nodes.values()):
            label = f' [label="{node.name}"]' if show_tensors else ""
            lines.append(f"  n{pipeline._graph.numbers[node.source]} -> n{number}{label};")
    return "\n".join([*lines, "}", ""])

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Serializes pipelines to bytes (JSON that contains the engine's text of the graph) and to text for Graphviz."""

from __future__ import annotations

import json
from typing import Any

from headrace import _core, _graph
from headrace._external.feeding import Source
from headrace._pipeline.config import OperatorConcurrency, PipelineConfig, StreamPolicy
from headrace._pipeline.definition import Definition

_FORMAT = 1


def to_bytes(config: PipelineConfig, definition: Definition) -> bytes:
    """Serializes the arguments and the graph of a pipeline."""
    return json.dumps(
        {
            "headrace": _FORMAT,
            "params": _parameters(config, definition.in_job),
            "in_job": definition.in_job,
            "readers": definition.readers,
            "inputs": {name: source.node for name, source in definition.sources.items()},
            "gpu_inputs": [n for n, source in definition.sources.items() if source.device == "gpu"],
            "outputs": definition.output_count,
            "sinks": definition.sink_count,
            "graph": definition.graph.core.serialize().decode("utf-8", "surrogateescape"),
        },
        default=lambda value: value.item(),  # NumPy scalars
    ).encode()


_ARGUMENTS = """num_threads device_id seed exec_pipelined exec_async prefetch_queue_depth set_affinity
    enable_checkpointing""".split()
_PATHS = ("quarantine", "trace", "index_cache")


def _parameters(config: PipelineConfig, in_job: bool) -> dict[str, Any]:
    return {
        "batch_size": None if in_job else config.max_batch_size,
        **{name: getattr(config, name) for name in _ARGUMENTS},
        "stream_policy": _name(config.stream_policy),
        "concurrency": _name(config.concurrency),
        **{name: value for name, value in config.options.items() if name not in _PATHS},
    }


def _name(member: Any) -> str | None:
    return None if member is None else str(member.name)


_ENUMS = {"stream_policy": StreamPolicy, "concurrency": OperatorConcurrency}


def from_bytes(text: Any) -> tuple[dict[str, Any], Definition]:
    """The arguments and the graph that `to_bytes` stored.

    The text is not trusted: any bytes give a definition or an error.

    Raises:
        TypeError: `text` is neither bytes nor a string.
        RuntimeError: `text` is not a serialized pipeline.
    """
    if not isinstance(text, (bytes, bytearray, str)):
        raise TypeError(f"A serialized pipeline must be bytes, not {type(text).__name__}.")
    try:
        stored = json.loads(text)
        if stored["headrace"] != _FORMAT:
            raise ValueError("unknown version")
        arguments = dict(stored["params"])
        for key, kind in _ENUMS.items():
            if arguments.get(key) is not None:
                arguments[key] = kind[arguments[key]]
        core = _core.Graph.parse(stored["graph"].encode("utf-8", "surrogateescape"))
        counts = _number(stored["outputs"]), _number(stored["sinks"])
        made = Definition(_graph.Graph(core), *counts)
        made.readers = {str(name): _number(node) for name, node in stored["readers"].items()}
        made.in_job = bool(stored.get("in_job"))
        on_gpu = {str(name) for name in stored.get("gpu_inputs", ())}
        for name, node in stored["inputs"].items():
            device = "gpu" if name in on_gpu else "cpu"
            made.sources[str(name)] = _source(core, _number(node), device)
    except (
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        RecursionError,
        RuntimeError,
    ) as error:
        raise RuntimeError(f"Not a serialized pipeline: {error}") from error
    if made.output_count < 1 or not 0 <= made.sink_count <= 1024:
        raise RuntimeError("Not a serialized pipeline: it has no outputs.")
    return arguments, made


def from_bytes_or_file(text: Any, filename: Any) -> tuple[dict[str, Any], Definition]:
    """As `from_bytes`; reads the file if there is no text. Exactly one of the two must be given."""
    if (text is None) == (filename is None):
        raise ValueError(
            "serialized_pipeline and filename arguments are mutually exclusive. Precisely one of them "
            "should be defined."
        )
    if text is None:
        with open(filename, "rb") as file:
            text = file.read()
    return from_bytes(text)


def _number(value: Any) -> int:
    """A number of a node, or of nodes."""
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{value!r} is not the number of a node.")
    return value


def _source(core: Any, node: int, device: str) -> Source:
    """A source that is fed with `feed_input`."""
    outputs = core.node_outputs(node)
    if outputs < 1:
        raise ValueError(f"node {node} does not exist.")
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
    return source


def _label(instance: Any) -> str:
    """The label of a node: the operator, the name that the user gave, and the line."""
    name = "" if instance.name.startswith("__") else f" '{instance.name}'"
    origin = f" ({instance.origin})" if instance.origin else ""
    return f"{instance.op}{name}{origin}".replace("\\", "\\\\").replace('"', '\\"')


def to_dot(graph: _graph.Graph, show_tensors: bool, use_colors: bool) -> str:
    """The graph in Graphviz's DOT language.

    Args:
        show_tensors: label the edges with node names.
        use_colors: fill the nodes.
    """
    colour = ', style=filled, fillcolor="lightblue"' if use_colors else ""
    lines = ["digraph graphname {"]
    for instance, number in graph.numbers.items():
        lines.append(f'  n{number} [label="{_label(instance)}"{colour}];')
        for node in (*instance.inputs, *instance.arg_nodes.values()):
            label = f' [label="{node.name}"]' if show_tensors else ""
            lines.append(f"  n{graph.numbers[node.source]} -> n{number}{label};")
    return "\n".join([*lines, "}", ""])

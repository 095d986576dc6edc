# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Video readers with resized or FLOAT frames. On a GPU, such a reader becomes a reader of UINT8 frames, decoded there,
and an operator that resizes or converts them.
"""

from __future__ import annotations

from typing import Any

from headrace._base import types
from headrace._graph.graph import Instance
from headrace._graph.schema import COMMON, Operator, operators


def changed_on_gpu(
    op: Operator, constants: dict[str, Any], nodes: dict[str, Any], name: str | None, preserve: bool
) -> list[Any] | None:
    """The outputs of such a reader, on the GPU. None for other operators, and for types that the reader refuses."""
    resized = op.name == "readers.video_resize"
    if not resized and op.name != "readers.video":
        return None
    dtype = constants.get("dtype", types.UINT8)
    is_float = dtype == types.FLOAT
    if not is_float and not (resized and dtype == types.UINT8):
        return None
    own = {*operators()["readers.video"].args, *COMMON} - {"dtype"}
    of_reader = {key: value for key, value in constants.items() if key in own}
    normalized = of_reader.pop("normalized", False)
    reader = Instance("readers.video", [], of_reader, {}, name, preserve, op.class_name)
    frames, *others = [node.gpu() for node in reader.nodes()]
    args = {key: value for key, value in constants.items() if key not in own}
    changed = Instance("resize" if resized else "cast", [frames], args, nodes, device="gpu")
    (frames,) = changed.nodes()
    return [frames / 255.0 if is_float and normalized else frames, *others]

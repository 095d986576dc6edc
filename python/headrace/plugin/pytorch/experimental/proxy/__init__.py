# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs one pipeline, in the main process, on what the workers of a `DataLoader` read.

The workers read samples and call `DALIServer.proxy`, which returns references to outputs that do not
exist yet. The collate function passes the inputs of a batch to the `DALIServer` in the main process,
which runs the pipeline. `DataLoader`, or `DALIServer.produce_data`, replaces the references by the
outputs.
"""

from headrace.plugin.pytorch.experimental.proxy._loader import DataLoader
from headrace.plugin.pytorch.experimental.proxy._proxy import _collate_dali_output_sample_ref_fn
from headrace.plugin.pytorch.experimental.proxy._refs import (
    DALIOutputBatchRef,
    DALIOutputSampleRef,
    DALIPipelineRunRef,
)
from headrace.plugin.pytorch.experimental.proxy._server import DALIServer

__all__ = [
    "DALIOutputBatchRef",
    "DALIOutputSampleRef",
    "DALIPipelineRunRef",
    "DALIServer",
    "DataLoader",
    "_collate_dali_output_sample_ref_fn",
]

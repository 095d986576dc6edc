# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""One pipeline behind the worker processes of a `torch.utils.data.DataLoader`.

The workers read samples and call `DALIServer.proxy`, which returns references in place of data. The
collate function passes the inputs of a batch to the `DALIServer` in the main process, which runs
the pipeline. `DataLoader`, or `DALIServer.produce_data`, puts the outputs in place of references.
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

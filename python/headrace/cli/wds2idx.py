# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`wds2idx ARCHIVE [INDEX]`: makes an index file for `fn.readers.webdataset(index_paths=...)`."""

from __future__ import annotations

import tarfile

from headrace._pack.tar_index import lines
from headrace.cli import _index_file

DESCRIPTION = (
    "Lists the samples of a WebDataset archive in an index file for fn.readers.webdataset. Without\n"
    "one, the reader scans the archive when the pipeline is built."
)


def _beside(archive: str) -> str:
    folder, slash, base = archive.rpartition("/")
    return folder + slash + base.partition(".")[0] + ".idx"


_COMMAND = _index_file.Command(
    "wds2idx", "archive", DESCRIPTION, lines, _beside, (OSError, ValueError, tarfile.TarError)
)
write_index = _COMMAND.write_index
main = _COMMAND.main

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`wds2idx ARCHIVE [INDEX]`: makes an index file for `fn.readers.webdataset(index_paths=...)`."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from itertools import groupby

from headrace.cli import _index_file

DESCRIPTION = (
    "Lists the samples of a WebDataset archive in an index file for fn.readers.webdataset. Without\n"
    "one, the reader scans the archive when the pipeline is built."
)
_Part = tuple[str, str, int, int]  # key, extension, offset, size, of the member that it is


def _parts(archive: str) -> Iterator[tuple[_Part, str]]:
    """The components in an archive, with their names. Hidden files and names without a dot are none."""
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            folder, slash, base = member.name.rpartition("/")
            stem, dot, extension = base.partition(".")
            if member.isdir() or not (stem and dot and extension):
                continue
            if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE) or member.issparse():
                raise ValueError(
                    f"{archive}: the member {member.name!r} is not a regular file but a link, a sparse"
                    " file or the like, which an index cannot describe: write the archive with"
                    " --dereference --hard-dereference, and without --sparse"
                )
            yield (
                (folder + slash + stem, extension, member.offset_data, member.size),
                member.name,
            )


def lines(archive: str) -> list[str]:
    """The lines of an index: its version, and one line per sample.

    Raises:
        ValueError: a name cannot be written to an index, or the archive contains no samples.
        tarfile.TarError: it is not a tar archive, or a damaged one.
        OSError: it cannot be read.
    """
    out = []
    for _, parts in groupby(_parts(archive), key=lambda part: part[0][0]):
        words = []
        for (_, extension, offset, size), name in parts:
            if name.split() != [name]:
                raise ValueError(
                    f"{archive}: the name {name!r} contains blanks, which an index cannot"
                )
            words.append(f"{extension} {offset} {size} {name}")
        out.append(" ".join(words))
    if not out:
        raise ValueError(f"{archive}: there are no samples in it")
    return [f"v1.2 {len(out)}", *out]


def _beside(archive: str) -> str:
    folder, slash, base = archive.rpartition("/")
    return folder + slash + base.partition(".")[0] + ".idx"


_COMMAND = _index_file.Command(
    "wds2idx", "archive", DESCRIPTION, lines, _beside, (OSError, ValueError, tarfile.TarError)
)
write_index = _COMMAND.write_index
main = _COMMAND.main

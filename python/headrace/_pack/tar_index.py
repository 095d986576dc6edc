# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Index files of WebDataset archives, which `fn.readers.webdataset` takes as `index_paths`."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from itertools import groupby

_Part = tuple[str, str, int, int]  # key, extension, offset, size, of the member that it is


def _parts(archive: str) -> Iterator[tuple[_Part, str]]:
    """The components in an archive, with their names. Hidden files and names without a dot are none."""
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            folder, slash, base = member.name.rpartition("/")
            stem, dot, extension = base.partition(".")
            if member.isdir() or not (stem and dot and extension):
                continue
            if (
                member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
                or member.issparse()
            ):
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
        raise ValueError(f"{archive}: the archive contains no samples")
    return [f"v1.2 {len(out)}", *out]


def write(archive: str, index: str) -> None:
    """Writes the index of an archive.

    Raises:
        ValueError, tarfile.TarError: as `lines`.
        OSError: the archive cannot be read, or the index cannot be written.
    """
    with open(index, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(line + "\n" for line in lines(archive))

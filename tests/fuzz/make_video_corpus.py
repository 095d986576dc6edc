# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes the seeds of the fuzz targets `video_...`: corpus/<target>/<name>. Needs PyAV.

Seeds that exist stay as they are.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "python")]
import numpy as np  # noqa: E402
import rare_videos  # noqa: E402
import test_video_table  # noqa: E402
import videos  # noqa: E402

PYRAMID = {"options": videos.B_PYRAMID}
VFR = {"times": videos.VFR, "frames": 9, **PYRAMID}
MAKE: dict[str, dict[str, dict[str, Any]]] = {
    "video_mp4": {
        "vfr.mp4": VFR,
        "vp9.mp4": {"codec": "vp9"},
        "mpeg4.mp4": {"codec": "mpeg4"},
        "hevc.mov": {"codec": "hevc"},
        "av1.mp4": {"codec": "av1"},
        "cmaf.mp4": {**PYRAMID, "container": {"movflags": "cmaf+frag_every_frame"}},
        "fragments.mp4": {**VFR, "container": {"movflags": "frag_keyframe+empty_moov"}},
    },
    "video_matroska": {
        "vfr.mkv": VFR,
        "vp8.webm": {"codec": "vp8"},
        "live.mkv": {"codec": "mpeg4", "container": {"live": "1", "cluster_time_limit": "100"}},
    },
    "video_avi": {
        "pyramid.avi": PYRAMID,
        "mpeg4.avi": {"codec": "mpeg4", "options": {"bf": "2"}},
        "mjpeg.avi": {"codec": "mjpeg"},
        "vp8.avi": {"codec": "vp8"},
    },
    "video_annexb": {
        "pyramid.h264": PYRAMID,
        "open.h264": {"options": videos.OPEN_GOP, "frames": 12},
        "hevc.hevc": {"codec": "hevc", "options": videos.OPEN_GOP, "frames": 12},
    },
    "video_mpegts": {
        "pyramid.ts": PYRAMID,
        "hevc.ts": {"codec": "hevc"},
        "mpeg4.ts": {"codec": "mpeg4", "options": {"bf": "2"}},
        "pyramid.m2ts": {
            **PYRAMID,
            "format": "mpegts",
            "container": {"mpegts_m2ts_mode": "1"},
        },
    },
    "video_ivf": {c + ".ivf": {"codec": c} for c in ("vp8", "vp9", "av1")},
}


def laced(folder: Path) -> dict[str, bytes]:
    """Matroska files that PyAV does not write."""
    videos.make(folder / "source.mkv", "mjpeg", 5, size=(16, 16))
    frames, _ = videos.packets(folder / "source.mkv")
    found = dict[str, bytes]()
    for lacing in (1, 2, 3):
        path = folder / "laced.mkv"
        test_video_table.write_matroska(path, frames, lacing, lacing == 3, lacing == 1, 2)
        found[f"laced{lacing}.mkv"] = path.read_bytes()
    # frames that last so long that their times overflow: in units of 1 ns, from a time that is not 0
    data = found["laced1.mkv"]
    for old, new in ((40_000_000, 2**63 - 1), (1_000_000, 1)):
        data = data.replace(old.to_bytes(8, "big"), new.to_bytes(8, "big"))
    time = b"\xe7\1" + bytes(6) + b"\x08" + bytes(7)
    found["duration.mkv"] = data.replace(time + b"\0", time + b"\xa0", 1)
    return found


def rare(folder: Path, corpus: Path) -> None:
    """Files that need more than PyAV, made from others."""
    checked, described, fields = (
        corpus / name
        for name in ("video_mpegts/checked.ts", "video_mp4/described.mp4", "video_mp4/fields.mp4")
    )
    if not checked.exists():
        data = (corpus / "video_mpegts" / "pyramid.ts").read_bytes()
        checked.write_bytes(rare_videos.with_check_sums(data, np.random.default_rng(0)))
    if not described.exists():
        described.write_bytes((corpus / "video_mp4" / "vfr.mp4").read_bytes())
        other = rare_videos.description(corpus / "video_mp4" / "vp9.mp4")
        own = rare_videos.description(described)
        rare_videos.describe([other, own, own], [(1, 9, 2)], described)
    if not fields.exists():
        packets = rare_videos.interlaced(2)
        (folder / "fields.h264").write_bytes(b"".join(packets))
        rare_videos.remux(packets, [0, 0, 2, 2], folder / "fields.h264", fields)


def main() -> None:
    for target, files in MAKE.items():
        (HERE / "corpus" / target).mkdir(exist_ok=True)
        for name, options in files.items():
            path = HERE / "corpus" / target / name
            if not path.exists():
                videos.make(path, **{"size": (16, 16), "frames": 5, "gop": 3, **options})
    with tempfile.TemporaryDirectory() as folder:
        for name, data in laced(Path(folder)).items():
            path = HERE / "corpus" / "video_matroska" / name
            if not path.exists():
                path.write_bytes(data)
        rare(Path(folder), HERE / "corpus")
        packed = HERE / "corpus" / "video_avi" / "packed.avi"
        if not packed.exists():
            source = Path(folder) / "source.avi"
            options = {"bf": "1", "b_strategy": "0"}
            videos.make(source, "mpeg4", 7, size=(16, 16), options=options, gop=100)
            videos.pack(source, packed)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Packs the wheel headrace-video. Two runs for one commit give the same bytes.

video.py ARCH SOURCES STAGE OUT   SOURCES: the source packages; STAGE: has headrace_video/ with the libraries
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LICENSES = {"ffmpeg": ("LGPL-2.1-or-later", "COPYING.LGPLv2.1"), "dav1d": ("BSD-2-Clause", "COPYING")}
PACKAGE = '''# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Decoders of videos for Headrace, which finds them by itself."""

__version__ = "{version}"
'''
README = """# headrace-video

The decoders of videos for Headrace: H.264, HEVC, VP8, VP9, AV1, MPEG-4 and MJPEG, and of the sound in MP4, WebM and
other containers: AAC, Opus and others. Once it is installed, `fn.decoders.video` works, and `fn.decoders.audio` takes
these files, too; nothing has to be imported.

`libheadrace_video.so` is part of Headrace (Apache-2.0). It calls libavformat, libavcodec and libavutil of FFmpeg (LGPL
2.1 or newer; with libswresample), which are shared libraries of their own in this package and may be replaced by others that were built from
changed sources. libavcodec contains dav1d (BSD, 2 clauses).

Both were built, unchanged, from the source packages of {distribution}: {sources}. `tools/wheel/video.sh` in
Headrace's sources builds them. Some of these formats are covered by patents in some countries.
"""


def version_of() -> str:
    text = (ROOT / "include" / "headrace" / "headrace.h").read_text()
    parts = [re.search(rf"VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(found[1] for found in parts if found)


def metadata(version: str, readme: str) -> str:
    return f"""Metadata-Version: 2.4
Name: headrace-video
Version: {version}
Summary: Decoders of videos for Headrace
License-Expression: Apache-2.0 AND LGPL-2.1-or-later AND BSD-2-Clause
Requires-Python: >=3.11
Description-Content-Type: text/markdown

{readme}"""


def bill(version: str, versions: dict[str, str], hashes: dict[str, str], distribution: str) -> str:
    """The bill of materials (CycloneDX 1.6), with the hashes of the source packages' .dsc files."""
    when = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    vendor = distribution.split("-")[0]
    components = [
        {
            "type": "library",
            "name": name,
            "version": found,
            "licenses": [{"expression": LICENSES[name][0]}],
            "purl": f"pkg:deb/{vendor}/{name}@{found}?arch=source&distro={distribution}",
            "properties": [{"name": "headrace:dsc:sha256", "value": hashes[name]}],
        }
        for name, found in sorted(versions.items())
    ]
    own = {"type": "library", "name": "headrace-video", "version": version}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": own},
        "components": components,
    }
    return json.dumps(document, indent=1)


def write(path: Path, files: dict[str, bytes], info: str) -> None:
    """Writes a wheel with its record."""
    date = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), UTC)
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files = {**files, f"{info}/RECORD": (record + f"{info}/RECORD,,\n").encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            out.writestr(entry, content)


def main(arch: str, sources: str, stage: str, out: str) -> None:
    version = version_of()
    tag = f"py3-none-manylinux_2_28_{arch}"
    info = f"headrace_video-{version}.dist-info"
    distribution = (Path(sources) / "distribution").read_text().strip()
    versions = {name: (Path(sources) / name / "version").read_text().strip() for name in LICENSES}
    hashes = {name: (Path(sources) / name / "dsc").read_text().strip() for name in LICENSES}
    named = ", ".join(f"{name} {found}" for name, found in sorted(versions.items()))
    readme = README.format(distribution=distribution, sources=named)
    wheel = f"Wheel-Version: 1.0\nGenerator: headrace\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = {"headrace_video/__init__.py": PACKAGE.format(version=version).encode()}
    for path in sorted((Path(stage) / "headrace_video").iterdir()):
        files[f"headrace_video/{path.name}"] = path.read_bytes()
    files[f"{info}/METADATA"] = metadata(version, readme).encode()
    files[f"{info}/WHEEL"] = wheel.encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    for name, (_, text) in LICENSES.items():
        files[f"{info}/licenses/{name}/{text}"] = (Path(sources) / name / "tree" / text).read_bytes()
    files[f"{info}/sboms/headrace-video.cdx.json"] = bill(version, versions, hashes, distribution).encode()
    write(Path(out) / f"headrace_video-{version}-{tag}.whl", files, info)


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes the software bill of materials (CycloneDX 1.6) of the wheel: the libraries that it contains.

sbom.py VERSION SOURCES CUDA OUT   SOURCES: the folder of libraries.sh; CUDA: version of the compiler, or nothing
"""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

LICENSES = {
    "zlib": "Zlib",
    "libdeflate": "MIT",
    "libpng1.6": "libpng-2.0",
    "libjpeg-turbo": "IJG AND BSD-3-Clause AND Zlib",
    "libwebp": "BSD-3-Clause",
    "openjpeg2": "BSD-2-Clause",
    "libogg": "BSD-3-Clause",
    "flac": "BSD-3-Clause",
    "libvorbis": "BSD-3-Clause",
    "opus": "BSD-3-Clause",
}


def packaged(folder: Path, distribution: str) -> dict[str, object]:
    """The entry of a library built from the source package of a distribution, such as debian-12, whose .dsc file has the
    hash."""
    version = (folder / "version").read_text().strip()
    vendor = distribution.split("-")[0]
    purl = f"pkg:deb/{vendor}/{folder.name}@{quote(version, safe='')}?arch=source&distro={distribution}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": folder.name,
        "version": version,
        "licenses": [{"expression": LICENSES[folder.name]}],
        "purl": purl,
        "properties": [
            {"name": "headrace:dsc:sha256", "value": (folder / "dsc").read_text().strip()}
        ],
    }


def cuda(version: str) -> list[dict[str, object]]:
    """The entry of what the CUDA module contains."""
    name = "CUDA Runtime"
    own = [{"license": {"name": "NVIDIA CUDA Toolkit End User License Agreement"}}]
    return [{"type": "library", "bom-ref": name, "name": name, "version": version, "licenses": own}]


def main(version: str, sources: str, cuda_version: str, out: str) -> None:
    """Writes the file `out`."""
    folders = sorted(path.parent for path in Path(sources).glob("*/version"))
    distribution = (Path(sources) / "distribution").read_text().strip()
    components = [packaged(folder, distribution) for folder in folders]
    if cuda_version:
        components += cuda(cuda_version)
    own = f"pkg:pypi/headrace@{version}"
    when = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "headrace",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
                "purl": own,
            },
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [c["bom-ref"] for c in components]}],
    }
    Path(out).write_text(json.dumps(bom, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Sound files, written for tests."""

from __future__ import annotations

import struct

import numpy as np

W64 = {
    b"riff": bytes.fromhex("2e91cf11a5d628db04c10000"),
    **{name: bytes.fromhex("f3acd3118cd100c04f8edb8a") for name in (b"wave", b"fmt ", b"data")},
}
TAGS = {"u1": 1, "i2": 1, "i3": 1, "i4": 1, "f4": 3, "f8": 3, "alaw": 6, "ulaw": 7}


def packed(samples: np.ndarray, kind: str, big: bool = False) -> bytes:
    """The samples as stored: "i3" takes the high 24 bits of INT32, mu-law and A-law bytes."""
    if kind == "i3":
        parts = samples.astype("<i4").reshape(-1, 1).view(np.uint8)[:, 1:]
        return bytes(parts[:, ::-1].tobytes() if big else parts.tobytes())
    if kind in ("alaw", "ulaw"):
        kind = "u1"
    return samples.astype((">" if big else "<") + kind).tobytes()


def bits(kind: str) -> int:
    return 8 if kind in ("alaw", "ulaw") else 8 * int(kind[1])


def chunk(name: bytes, data: bytes, big: bool = False) -> bytes:
    return name + struct.pack(">I" if big else "<I", len(data)) + data + bytes(len(data) % 2)


def form(samples: np.ndarray, kind: str, rate: int, big: bool = False) -> bytes:
    """The content of a chunk fmt."""
    channels, size = samples.shape[1], bits(kind) // 8
    order = ">" if big else "<"
    values = (TAGS[kind], channels, rate, rate * channels * size, channels * size, size * 8)
    return struct.pack(order + "HHIIHH", *values)


def wav(
    samples: np.ndarray,
    kind: str = "i2",
    rate: int = 16000,
    *,
    big: bool = False,
    before: bytes = b"",
    between: bytes = b"",
    after: bytes = b"",
    reverse: bool = False,
) -> bytes:
    """A WAV file of `samples` (frames, channels), with other chunks anywhere."""
    parts = [
        chunk(b"fmt ", form(samples, kind, rate, big), big),
        chunk(b"data", packed(samples, kind, big), big),
    ]
    body = b"WAVE" + before + between.join(parts[::-1] if reverse else parts) + after
    return chunk(b"RIFX" if big else b"RIFF", body, big)


def rf64(samples: np.ndarray, kind: str = "i2", rate: int = 16000) -> bytes:
    data = packed(samples, kind)
    long = struct.pack("<QQQI", len(data) + 72, len(data), len(samples), 0)
    body = chunk(b"ds64", long) + chunk(b"fmt ", form(samples, kind, rate))
    return b"RF64\xff\xff\xff\xffWAVE" + body + b"data\xff\xff\xff\xff" + data


def w64(samples: np.ndarray, kind: str = "i2", rate: int = 16000) -> bytes:
    def part(name: bytes, data: bytes) -> bytes:
        head = name + W64[name] + struct.pack("<Q", len(data) + 24)
        return head + data + bytes(-len(data) % 8)

    body = part(b"fmt ", form(samples, kind, rate)) + part(b"data", packed(samples, kind))
    return (
        b"riff" + W64[b"riff"] + struct.pack("<Q", len(body) + 40) + b"wave" + W64[b"wave"] + body
    )


def aiff(samples: np.ndarray, kind: str = "i2", rate: int = 16000, code: bytes = b"") -> bytes:
    """AIFF, or AIFC if there is a code of the compression; "sowt" is little-endian."""
    exponent = rate.bit_length() - 1
    extended = struct.pack(">HQ", 16383 + exponent, rate << (63 - exponent))
    comm = struct.pack(">HIH", samples.shape[1], len(samples), bits(kind)) + extended
    data = struct.pack(">II", 0, 0) + packed(samples, kind, code != b"sowt")
    comm += code + bytes(2 if code else 0)
    body = chunk(b"COMM", comm, True) + chunk(b"SSND", data, True)
    return chunk(b"FORM", (b"AIFC" if code else b"AIFF") + body, True)


def au(samples: np.ndarray, kind: str = "i2", rate: int = 16000, big: bool = True) -> bytes:
    number = {"ulaw": 1, "i2": 3, "i3": 4, "i4": 5, "f4": 6, "f8": 7, "alaw": 27}[kind]
    data = packed(samples, kind, big)
    values = (24, len(data), number, rate, samples.shape[1])
    return (b".snd" if big else b"dns.") + struct.pack((">" if big else "<") + "5I", *values) + data


def caf(samples: np.ndarray, kind: str = "i2", rate: int = 16000, big: bool = True) -> bytes:
    channels, size = samples.shape[1], bits(kind) // 8
    flags = (kind[0] == "f") + (0 if big else 2)
    name = kind.encode() if kind in ("ulaw", "alaw") else b"lpcm"
    desc = struct.pack(">d4s5I", rate, name, flags, channels * size, 1, channels, size * 8)
    data = struct.pack(">I", 0) + packed(samples, kind, big)
    parts = [(b"desc", desc), (b"data", data)]
    return b"caff\0\1\0\0" + b"".join(n + struct.pack(">q", len(d)) + d for n, d in parts)


def noise(frames: int, channels: int, seed: int = 1) -> np.ndarray:
    """INT32 samples over the whole range, whose ends are among them."""
    rng = np.random.default_rng(seed)
    out = rng.integers(-(2**31), 2**31, (frames, channels)).astype(np.int32)
    out[: min(2, frames), 0] = [-(2**31), 2**31 - 1][: min(2, frames)]
    return out


def signal(frames: int, channels: int, seed: int = 1) -> np.ndarray:
    """Samples in [-1, 1)."""
    return noise(frames, channels, seed) / 2**31

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
    return w64_of(form(samples, kind, rate), packed(samples, kind))


def w64_of(format_chunk: bytes, samples: bytes) -> bytes:
    def part(name: bytes, data: bytes) -> bytes:
        head = name + W64[name] + struct.pack("<Q", len(data) + 24)
        return head + data + bytes(-len(data) % 8)

    body = part(b"fmt ", format_chunk) + part(b"data", samples)
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


def svx(samples: np.ndarray, kind: str = "i1", rate: int = 16000) -> bytes:
    """8SVX or 16SV, with one channel."""
    head = struct.pack(">3IH2BI", len(samples), 0, 0, rate, 1, 0, 0x10000)
    body = chunk(b"VHDR", head, True) + chunk(b"BODY", packed(samples, kind, True), True)
    return chunk(b"FORM", (b"8SVX" if kind == "i1" else b"16SV") + body, True)


def nist(samples: np.ndarray, kind: str = "i2", rate: int = 16000, big: bool = False) -> bytes:
    """SPHERE, with lines that do not concern the samples."""
    size = bits(kind) // 8
    lines = ["NIST_1A", "   1024", "speaker_id -s4 abc1", f"channel_count -i {samples.shape[1]}"]
    lines += [f"sample_count -i {len(samples)}", f"sample_rate -i {rate}"]
    lines += [f"sample_n_bytes -i {size}", f"sample_sig_bits -i {8 * size}"]
    if size > 1:
        lines += ["sample_byte_format -s2 " + ("10" if big else "01")]
    lines += [f"sample_coding -s4 {kind}" if "law" in kind else "sample_coding -s3 pcm", "end_head"]
    return "\n".join(lines + [""]).encode().ljust(1024, b" ") + packed(samples, kind, big)


VOC_CODECS = {"u1": 0, "i2": 4, "alaw": 6, "ulaw": 7}


def voc(samples: np.ndarray, kind: str = "u1", rate: int = 16000, old: bool = False) -> bytes:
    """A block of the new type 9, or for `old` one of type 1, before which two channels need one of type 8."""

    def block(number: int, data: bytes) -> bytes:
        return bytes([number]) + struct.pack("<I", len(data))[:3] + data

    data, channels = packed(samples, kind), samples.shape[1]
    out = b"Creative Voice File\x1a" + struct.pack("<3H", 26, 0x114, 0x1234 - 0x115)
    out += block(5, b"a comment\0")
    if not old:
        head = struct.pack("<I2BH4x", rate, bits(kind), channels, VOC_CODECS[kind])
        return out + block(9, head + data) + b"\0"
    if channels == 2:
        out += block(8, struct.pack("<H2B", 65536 - 256000000 // (2 * rate), VOC_CODECS[kind], 1))
    return out + block(1, bytes([256 - 1000000 // rate, VOC_CODECS[kind]]) + data) + b"\0"


def avr(samples: np.ndarray, kind: str = "i2", rate: int = 16000) -> bytes:
    flags = [0xFFFF * (samples.shape[1] == 2), bits(kind), 0xFFFF * (kind[0] == "i"), 0, 0xFFFF]
    head = struct.pack(">4s8s5H4I", b"2BIT", b"name", *flags, rate, len(samples), 0, 0)
    return head.ljust(128, b"\0") + packed(samples, kind, True)


def ircam(samples: np.ndarray, kind: str = "i2", rate: int = 16000, big: bool = False) -> bytes:
    code = {"i2": 2, "i4": 0x40004, "f4": 4, "alaw": 0x10001, "ulaw": 0x20001}[kind]
    head = b"\x64\xa3\2\0" if big else b"\x64\xa3\3\0"
    head += struct.pack(">f2I" if big else "<f2I", rate, samples.shape[1], code)
    return head.ljust(1024, b"\0") + packed(samples, kind, big)


def paf(samples: np.ndarray, kind: str = "i2", rate: int = 16000, big: bool = True) -> bytes:
    code = {"i2": 0, "i1": 2}[kind]
    values = (0, 0 if big else 1, rate, code, samples.shape[1], 0)
    head = (b" paf" if big else b"fap ") + struct.pack(">6I" if big else "<6I", *values)
    return head.ljust(2048, b"\0") + packed(samples, kind, big)


def pvf(samples: np.ndarray, kind: str = "i2", rate: int = 16000) -> bytes:
    head = f"PVF1\n{samples.shape[1]} {rate} {bits(kind)}\n"
    return head.encode() + packed(samples, kind, True)


def mpc(samples: np.ndarray, kind: str = "i2", rate: int = 16000) -> bytes:
    n, stereo = len(samples), samples.shape[1] - 1
    head = struct.pack("<2s17s3B4I2BH", b"\1\4", b"name".ljust(17), 100, 0, stereo, 0, n, n, n, 0, 1, rate)  # fmt: skip
    return head + packed(samples, kind)


def wve(samples: np.ndarray, kind: str = "alaw", rate: int = 8000) -> bytes:
    head = b"ALawSoundFile**\0" + struct.pack(">HI10x", 0xF10, len(samples))
    return head + packed(samples, kind)


def htk(samples: np.ndarray, kind: str = "i2", rate: int = 16000) -> bytes:
    return struct.pack(">2I2H", len(samples), 10**7 // rate, 2, 0) + packed(samples, kind, True)


def id3(size: int = 20, footer: bool = False) -> bytes:
    """A tag that contains what looks like a frame of MP3."""
    head = bytes([4, 0, 0x10 if footer else 0, *(size >> shift & 127 for shift in (21, 14, 7, 0))])
    content = (b"TIT2" + b"\xff\xfb\x90\x64" * 9)[:size].ljust(size, b"\0")
    return b"ID3" + head + content + (b"3DI" + head if footer else b"")


def adpcm(code: str, channels: int, block: int, blocks: int, seed: int = 1) -> bytes:
    """Blocks of random ADPCM, every one of which is valid; most steps are small."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(blocks):
        states = rng.integers(-3000, 3000, (2, channels)).astype("<i2")
        if code == "ima":
            index = rng.integers(0, 89, channels)
            head = b"".join(states[0, k].tobytes() + bytes([index[k], 0]) for k in range(channels))
        else:
            delta = rng.integers(16, 300, channels).astype("<i2").tobytes()
            head = bytes(rng.integers(0, 7, channels).tolist()) + delta + states.tobytes()
        count = 2 * (block - len(head))
        small = rng.choice(
            [0, 1, 2, 3, 8, 9, 10, 11] if code == "ima" else [0, 1, 2, 14, 15], count
        )
        codes = np.where(rng.random(count) < 0.8, small, rng.integers(0, 16, count))
        out.append(head + (codes[::2] | codes[1::2] << 4).astype(np.uint8).tobytes())
    return b"".join(out)


def adpcm_wav(code: str, channels: int, block: int, data: bytes, rate: int = 16000) -> bytes:
    head = 4 * channels if code == "ima" else 7 * channels
    frames = (block - head) * 2 // channels + (1 if code == "ima" else 2)
    extra = struct.pack("<HH", 2, frames)
    if code == "ms":
        weights = [256, 0, 512, -256, 0, 0, 192, 64, 240, 0, 460, -208, 392, -232]
        extra = struct.pack("<HHH14h", 32, frames, 7, *weights)
    values = (0x11 if code == "ima" else 2, channels, rate, rate * block // frames, block, 4)
    body = chunk(b"fmt ", struct.pack("<HHIIHH", *values) + extra) + chunk(b"data", data)
    return chunk(b"RIFF", b"WAVE" + body)


def noise(frames: int, channels: int, seed: int = 1) -> np.ndarray:
    """INT32 samples over the whole range, whose ends are among them."""
    rng = np.random.default_rng(seed)
    out = rng.integers(-(2**31), 2**31, (frames, channels)).astype(np.int32)
    out[: min(2, frames), 0] = [-(2**31), 2**31 - 1][: min(2, frames)]
    return out


def signal(frames: int, channels: int, seed: int = 1) -> np.ndarray:
    """Samples in [-1, 1)."""
    return noise(frames, channels, seed) / 2**31

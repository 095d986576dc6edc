# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`RNG`: where operators that draw random numbers get their seeds."""

from __future__ import annotations

import operator
import os
import re
import threading
from typing import Any

_MASK = 2**32 - 1
_STATE = re.compile(r"Philox_([0-9A-Fa-f]{16})_([0-9A-Fa-f]{16}):([0-9A-Fa-f]{16})_([0-3])")
_SEQUENCE_BITS = 66  # the position counts numbers of 32 bits, four for each block


def _block(key: int, counter: int) -> tuple[int, int, int, int]:
    """Philox 4x32-10: four numbers of 32 bits."""
    k0, k1 = key & _MASK, key >> 32
    c0, c1, c2, c3 = (counter >> shift & _MASK for shift in (0, 32, 64, 96))
    for _ in range(10):
        low, high = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (high >> 32) ^ c1 ^ k0, high & _MASK, (low >> 32) ^ c3 ^ k1, low & _MASK
        k0, k1 = k0 + 0x9E3779B9 & _MASK, k1 + 0xBB67AE85 & _MASK
    return c0, c1, c2, c3


class RNG:
    """A generator of random numbers, for the argument `rng` of operators. Calling it gives a number of 32 bits.

    Each call of an operator draws its seed from the generator, so the same state gives the same results.

    Args:
        seed: by default a random one.
        state: the text that `get_state` gave, instead of a seed.
    """

    def __init__(self, seed: int | None = None, state: Any = None) -> None:
        if seed is not None and state is not None:
            raise ValueError("`seed` and `state` cannot be given together.")
        self._lock = threading.Lock()
        self._key = 0
        self._sequence = 0
        self._at = 0  # numbers drawn
        if state is not None:
            self.set_state(state)
        else:
            self.seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed

    @property
    def seed(self) -> int:
        raise AttributeError("seed is write-only")

    @seed.setter
    def seed(self, value: int) -> None:
        self._key = operator.index(value) & 2**64 - 1
        self._sequence = self._at = 0

    def __call__(self) -> int:
        with self._lock:
            at = self._at
            self._at += 1
        counter = (at >> 2) & 2**64 - 1 | self._sequence << 64
        return _block(self._key, counter)[at & 3]

    def advance(self, n: int) -> None:
        """Skips `n` numbers."""
        count = operator.index(n)
        if count < 0:
            raise ValueError(f"Cannot advance by {count} numbers.")
        with self._lock:
            self._at = (self._at + count) % (1 << _SEQUENCE_BITS)

    def clone(self) -> RNG:
        """A generator with the same state."""
        return RNG(state=self.get_state())

    def get_state(self, *, cuda_stream: Any = None) -> str:
        """The state as text."""
        return f"Philox_{self._key:016X}_{self._sequence:016X}:{self._at >> 2:016X}_{self._at & 3}"

    def set_state(self, value: Any) -> None:
        """Continues from a state that `get_state` gave.

        Raises:
            ValueError: it is not the text of a state.
        """
        found = _STATE.fullmatch(str(value))
        if not found:
            raise ValueError(f"This is not a state of a random number generator: {value!r:.80}")
        key, sequence, counter, phase = found.groups()
        self._key, self._sequence = int(key, 16), int(sequence, 16)
        self._at = int(counter, 16) << 2 | int(phase)

    @property
    def state(self) -> str:
        """The state as text, as `get_state` gives it."""
        return self.get_state()

    @state.setter
    def state(self, value: Any) -> None:
        self.set_state(value)

    def __deepcopy__(self, memo: Any) -> RNG:
        return self.clone()

    def __repr__(self) -> str:
        return f"RNG(state='{self.get_state()}')"


def draw(rng: Any) -> int:
    """A seed for one call of an operator. Takes four numbers, like a state of the operators."""
    if not isinstance(rng, RNG):
        return (int(rng()) << 31 | int(rng())) & 2**63 - 1
    with rng._lock:
        at = rng._at
        rng._at += 7
    counter = (at >> 2) & 2**64 - 1 | rng._sequence << 64
    words = _block(rng._key, counter)
    return (words[at & 3] << 32 | words[(at + 1) & 3] ^ (at & 3)) & 2**63 - 1

"""The truth that outputs are compared with: what `rope_ref` says, computed once and remembered.

Many checks, and all types of data, look at the same few inputs again and again. What the
reference says of an input is a function of its bits and the spec, so it can be kept.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable

from rope_conformance.accuracy.number_types import FloatArray
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec, apply_rope_parts

__all__ = ["Remembered", "expected"]

Parts = tuple[FloatArray, FloatArray]

_LARGEST = 64 * 2**20  # bytes of results that are kept


class Remembered:
    """Results of `rope_ref.apply_rope_parts`: those used last, as many as fit.

    Parameters
    ----------
    largest
        How many bytes of results are kept.
    """

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.size = 0
        self._kept: OrderedDict[Hashable, Parts] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def __call__(self, x: Array, positions: Array, spec: RopeSpec) -> Parts:
        """As `expected`."""
        key = (spec, _bits(x), _bits(positions))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        parts = apply_rope_parts(x, positions, spec, axes="bthd")
        for part in parts:
            part.setflags(write=False)
        self._keep(key, parts)
        return parts

    def _keep(self, key: Hashable, parts: Parts) -> None:
        with self._lock:
            # Another thread may have been here first; what is too large would empty the store.
            if key in self._kept or _bytes(parts) > self.largest:
                return
            self._kept[key] = parts
            self.size += _bytes(parts)
            while self.size > self.largest:
                self.size -= _bytes(self._kept.popitem(last=False)[1])


def _bits(array: Array) -> Hashable:
    """What tells one array from every other: dtype, shape and bits, not values.

    Equal values may have other bits (0 and -0), and equal bits other values (another dtype). A
    cryptographic hash stands for the bits, so that inputs need not be kept.
    """
    return array.dtype, array.shape, hashlib.blake2b(array.tobytes(), digest_size=32).digest()


def _bytes(parts: Parts) -> int:
    return sum(part.nbytes for part in parts)


_remembered = Remembered(_LARGEST)


def expected(x: Array, positions: Array, spec: RopeSpec) -> Parts:
    """Return the right output for an input, and what its own rounding took from it.

    Parameters
    ----------
    x
        The data, axes ``bthd``.
    positions
        As in `rope_ref.apply_rope`.
    spec
        The RoPE.

    Returns
    -------
    want, want_low
        As `rope_ref.apply_rope_parts` returns them. Read-only: other judgements of the same input
        share them.

    Raises
    ------
    RopeError
        As by `rope_ref.apply_rope`.
    """
    return _remembered(x, positions, spec)

"""Arrays that touch forbidden memory: one element before or behind them and the process dies.

The last byte of an array lies just before a page that cannot be read or written (or its first byte just behind one). An empty
array lies in such a page altogether: it has no element, so nothing may touch its memory.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

import numpy as np

PAGE = mmap.PAGESIZE
_PROT_NONE = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Fence:
    """Memory between two forbidden pages. Keep it as long as an array of it is used."""

    def __init__(self, size: int) -> None:
        self.pages = max(1, -(-size // PAGE))
        self.memory = mmap.mmap(-1, (self.pages + 2) * PAGE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self._forbid(self.base)
        self._forbid(self.base + (self.pages + 1) * PAGE)

    def _forbid(self, address: int) -> None:
        if _libc.mprotect(address, PAGE, _PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect failed")

    def place(self, shape: Sequence[int], dtype: np.dtype, at_end: bool) -> np.ndarray:
        """An array of `shape` in C order, flush against one of the forbidden pages; inside it when it has no elements."""
        size = int(np.prod(shape)) * dtype.itemsize
        first, behind = PAGE, (self.pages + 1) * PAGE
        offset = behind + 64 if size == 0 else behind - size if at_end else first
        return np.ndarray(tuple(shape), dtype, buffer=self.memory, offset=offset)


def fenced(values: np.ndarray, at_end: bool = True) -> tuple[np.ndarray, Fence]:
    """A copy of `values` between forbidden pages, with the order of axes (C or Fortran) of `values`."""
    fence = Fence(values.nbytes)
    fortran = values.flags.f_contiguous and not values.flags.c_contiguous
    shape = values.shape[::-1] if fortran else values.shape
    array = fence.place(shape, values.dtype, at_end)
    array = array.T if fortran else array
    array[...] = values
    return array, fence

"""A value that is not the one it should be, in words. The one form of whatever compares results, so that they read alike:

output 1[2, 4] is 0.5; NumPy gives 0.25 (3 ULP); 2 of 30 elements are wrong
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def wrong_value(
    what: str,
    got: str,
    wanted: str,
    index: Sequence[int] = (),
    *,
    note: str = "",
    wrong: int = 1,
    size: int = 1,
    right: str = "NumPy gives",
) -> str:
    """
    what        "output 1"; `index` of the element that is shown; () for numbers
    got, wanted its value, and the one that is right
    note        how far they lie apart
    wrong, size of its elements; of all
    right       who says what is right
    """
    place = f"[{', '.join(map(str, index))}]" if index else ""
    note = f" ({note})" if note else ""
    count = f"; {wrong} of {size} elements {'is' if wrong == 1 else 'are'} wrong" if size > 1 else ""
    return f"{what}{place} is {got}; {right} {wanted}{note}{count}"


def number(value: Any) -> str:
    """An element of an array, or a number, with all its digits."""
    value = np.asarray(value)[()]
    if value.dtype.kind == "f":
        return repr(float(value))
    return repr(complex(value)) if value.dtype.kind == "c" else str(value)


def other_type(what: str, got: Any, wanted: Any) -> tuple[str, str] | None:
    """(wrong_dtype or wrong_shape, the sentence); None: only values may differ."""
    if type(got) is not type(wanted):
        return "wrong_dtype", f"{what} is {_type_text(got)}; NumPy gives {_type_text(wanted)}"
    a, b = np.asarray(got), np.asarray(wanted)
    if a.dtype != b.dtype:
        return "wrong_dtype", f"{what} is of dtype {a.dtype}; NumPy gives {b.dtype}"
    if a.shape != b.shape:
        return "wrong_shape", f"{what} has the shape {a.shape}; NumPy gives {b.shape}"
    return None


def _type_text(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__

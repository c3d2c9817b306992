"""Difference: one result that is not NumPy's, at the element that is off most."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from suture._ulps import ulp_distance
from suture._value_text import number, other_type, wrong_value


@dataclass(frozen=True)
class Difference:
    """
    what     "output 2" or "input 0 after the call"
    kind     wrong_dtype, wrong_shape or wrong_value
    index    of the element that is off most; () for numbers
    ulp      its distance from NumPy's; inf: not to be measured
    allowed  what rounding explains, in ULP
    count    of elements that are wrong
    """

    what: str
    kind: str
    message: str
    index: tuple[int, ...] = ()
    got: str = ""
    wanted: str = ""
    ulp: float = 0.0
    allowed: float = 0.0
    count: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def type_difference(what: str, got: Any, wanted: Any) -> Difference | None:
    """Another type, dtype or shape."""
    other = other_type(what, got, wanted)
    return Difference(what, *other) if other else None


def distance(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Per element in ULP; of integers and truth values 0 or inf."""
    if wanted.dtype.kind in "fc":
        return ulp_distance(got, wanted)
    return np.where(got == wanted, 0.0, np.inf)


def value_difference(what: str, got: Any, wanted: Any, allowed: Any = None) -> Difference:
    """Of two values of one type that differ, at the element that is off most beyond what is allowed (ULP, of all or per element;
    None: whoever compares has rules of its own). Where nothing is, zeros have other signs."""
    a, b = np.asarray(got), np.asarray(wanted)
    limits = np.broadcast_to(np.asarray(0.0 if allowed is None else allowed), a.shape)
    far = distance(a, b)
    excess = far - limits
    zeros = not (excess > 0).any()
    if zeros:
        excess = _other_zeros(a, b)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), a.shape)) if a.ndim else ()
    ulp, limit = float(far[index]), float(limits[index])
    count = int(np.count_nonzero(excess > 0))
    note = ""
    if a.dtype.kind in "fc":
        explained = "" if allowed is None else f"; rounding explains {limit:.3g}"
        note = "another zero" if zeros else f"{ulp:.4g} ULP{explained}"
    texts = number(a[index]), number(b[index])
    message = wrong_value(what, *texts, index, note=note, wrong=count, size=a.size)
    return Difference(what, "wrong_value", message, index, *texts, ulp, limit, count)


def _other_zeros(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "c":
        return np.maximum(_other_zeros(a.real, b.real), _other_zeros(a.imag, b.imag))
    if a.dtype.kind != "f":
        return np.zeros(a.shape)
    return ((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))).astype(float)

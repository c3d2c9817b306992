"""Distances between floating-point values in units in the last place (ULP). The one place where results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

_BITS: dict[int, Any] = {2: np.int16, 4: np.int32, 8: np.int64}


def _ordered(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats, one step per float; both zeros are 0, infinities follow the largest numbers."""
    integer = _BITS[x.dtype.itemsize]
    bits = np.ascontiguousarray(x).view(integer)
    return np.where(bits < 0, np.iinfo(integer).min - bits, bits).astype(np.int64).reshape(x.shape)


def ulp_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Floats that lie between the elements of two float or complex arrays of one dtype and shape, as float64: 0 for equal
    values, two NaN and zeros of both signs; inf where only one is NaN. Complex numbers: the farther part."""
    if a.dtype.kind == "c":
        return np.maximum(ulp_distance(a.real, b.real), ulp_distance(a.imag, b.imag))
    x, y = _ordered(a), _ordered(b)
    low, high = np.minimum(x, y), np.maximum(x, y)
    with np.errstate(over="ignore"):  # modulo 2**64 the difference is right
        distance = (high.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    return np.where(nan_a & nan_b, 0.0, np.where(nan_a ^ nan_b, np.inf, distance))


def ulps_of_largest(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of two float or complex arrays of one dtype and shape, in units in the last place of their largest
    value: where terms cancel, the last place of a small result says nothing. inf when NaN or infinities differ."""
    if a.dtype.kind == "c":
        return max(ulps_of_largest(a.real, b.real), ulps_of_largest(a.imag, b.imag))
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    largest = np.max(np.maximum(np.abs(a[finite]), np.abs(b[finite])))
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(a[finite] - b[finite])) / np.spacing(largest))


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal values, signs of zeros included; every NaN is the same one."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    return bool(np.array_equal(a, b, equal_nan=True) and np.array_equal(_signs(a), _signs(b)))


def _signs(x: np.ndarray) -> Any:
    return np.signbit(x) & (x == 0)

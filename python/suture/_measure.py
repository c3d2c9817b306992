"""Figures of this machine for performance hints, measured when somebody asked for measured costs. Called by driver/measure.cpp."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

_SIDE = 64  # rows of the matrices: so small that BLAS uses one thread
_LENGTH = 1024  # elements of the vectors: three of them fit into the first-level cache
_ROUNDS = 20


def _best_seconds(call: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        begin = perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (perf_counter() - begin) / repeats)
    return best


def blas_name() -> str:
    """Name and version of the BLAS that NumPy was built with, "" when NumPy does not say."""
    found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index,call-overload]
    return f"{found.get('name', '')} {found.get('version', '')}".strip()


def blas_speed() -> tuple[str, float, float]:
    """The BLAS, the GFLOP/s of a product of two float64 matrices of 64 x 64, and those of np.multiply in the cache."""
    a = np.ones((_SIDE, _SIDE))
    product = np.empty_like(a)
    x = np.ones(_LENGTH)
    y = np.empty_like(x)
    matmul = _best_seconds(lambda: np.matmul(a, a, out=product), 10)
    multiply = _best_seconds(lambda: np.multiply(x, x, out=y), 100)
    return blas_name(), 2e-9 * _SIDE**3 / matmul, 1e-9 * _LENGTH / multiply

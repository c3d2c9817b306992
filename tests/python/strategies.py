"""Hypothesis strategies built from the op table: dtypes, shapes and memory layouts."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
LAYOUTS = ["C", "F", "strided", "reversed", "transposed", "broadcast"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-300, -1e300, 5e-324]


def shapes(max_rank: int = 3, max_side: int = 5) -> st.SearchStrategy[tuple[int, ...]]:
    """0-d, 0-size and unit axes included."""
    return st.lists(st.integers(0, max_side), max_size=max_rank).map(tuple)


def values(dtype: str, count: int, rng: np.random.Generator, special: bool) -> np.ndarray:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if kind in "iu":
        limits = np.iinfo(dtype)
        low, high = (limits.min, limits.max) if special else (max(limits.min, -9), min(limits.max, 9))
        return rng.integers(low, high, count, dtype=dtype, endpoint=True)
    data = rng.uniform(-3, 3, count).astype(dtype)
    if special and count:
        chosen = rng.random(count) < 0.4
        with np.errstate(all="ignore"):
            data[chosen] = rng.choice(np.array(SPECIAL), chosen.sum()).astype(dtype)
    return data


def with_layout(data: np.ndarray, layout: str) -> np.ndarray:
    """An array with these values and this memory layout."""
    if layout == "F":
        return np.asfortranarray(data)
    if data.ndim == 0 or layout == "C":
        return data
    if layout == "strided":
        wide = np.zeros((*data.shape[:-1], 2 * data.shape[-1]), data.dtype)
        wide[..., ::2] = data
        return wide[..., ::2]
    if layout == "reversed":
        return data[..., ::-1].copy()[..., ::-1]
    if layout == "transposed":
        return data.T.copy().T
    if data.shape[0] > 1:
        return np.broadcast_to(data[:1], data.shape)
    return data


@st.composite
def arrays(draw, dtypes=DTYPES, shape=None, special=True):
    dtype = draw(st.sampled_from(list(dtypes)))
    shape = draw(shapes()) if shape is None else shape
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data = values(dtype, int(np.prod(shape)), rng, special and draw(st.booleans())).reshape(shape)
    return with_layout(data, draw(st.sampled_from(LAYOUTS)))


@st.composite
def broadcastable(draw, count, dtypes=DTYPES, special=True):
    """`count` arrays whose shapes broadcast together."""
    shape = draw(shapes())
    result = []
    for _ in range(count):
        own = list(shape[draw(st.integers(0, len(shape))) :])
        for axis in range(len(own)):
            if draw(st.integers(0, 4)) == 0:
                own[axis] = 1
        result.append(draw(arrays(dtypes, tuple(own), special)))
    return tuple(result)

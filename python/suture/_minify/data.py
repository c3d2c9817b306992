"""Inputs of a graph as rows of literals, and back: every bit, the layout, and what shares memory.

A row is a dict that stands in a repro file or in a record:

    {"name": "y", "kind": "array", "dtype": "float64", "shape": [2, 3], "values": "1.0 -0.0 nan ..."}
    {"name": "n", "kind": "int", "value": "7"}

kind      array | numpy (a NumPy scalar) | float | int | bool
strides   in elements; left out when the array is C-contiguous
memory    arrays with the same number share it; then also `offset` and `memory_bytes`, in bytes
writeable left out when true
data      one of: values (decimal text, in C order), base64 (the bytes, in C order), file and sha256 (a .npy beside the file),
          generated (seed, low, high: the data was too large to keep)

Decimal text holds every bit of a float but those of a NaN; NaNs that are not NumPy's own are written as base64. Nothing here
unpickles or evaluates: a row that is not as above is a ValueError.
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

VALUES_LIMIT = 64  # elements that are written as text a person can read
INLINE_LIMIT = 1 << 16  # bytes that are written into the file as base64; more goes into a .npy beside it
DATA_LIMIT = 1 << 28  # bytes of one input that are kept at all

DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
)
_PYTHON_KINDS = {bool: "bool", int: "int", float: "float"}


class TooLarge(ValueError):
    """An input has more data than is kept."""


# --- writing ---------------------------------------------------------------------------------------------------------------


def rows_of(inputs: list[Any], names: list[str]) -> list[Row]:
    """Rows without data files: arrays that belong into one have the key "array" with the object itself."""
    arrays = {i: value for i, value in enumerate(inputs) if type(value) is np.ndarray and value.size}
    shared = shared_memories({i: span_of(array) for i, array in arrays.items()})
    return [_row(value, names[i] if i < len(names) else f"input_{i}", shared.get(i)) for i, value in enumerate(inputs)]


def _row(value: Any, name: str, memory: dict[str, int] | None) -> Row:
    if type(value) is np.ndarray and value.dtype.name in DTYPES:
        return _array_row(value, name, memory)
    if isinstance(value, np.generic) and value.dtype.name in DTYPES:
        return {"name": name, "kind": "numpy", "dtype": value.dtype.name, "value": number_text(value)}
    kind = _PYTHON_KINDS.get(type(value))
    if kind is None:
        raise ValueError(f"input {name} is {type(value).__name__}, which a graph does not take")
    return {"name": name, "kind": kind, "value": number_text(value)}


def _array_row(array: np.ndarray, name: str, memory: dict[str, int] | None) -> Row:
    strides = [step // array.itemsize for step in array.strides]
    head = array_head(name, array.dtype.name, list(array.shape), strides, array.flags.writeable, memory)
    return head | array_data(array)


def array_head(
    name: str, dtype: str, shape: list[int], strides: list[int], writeable: bool, memory: dict[str, int] | None
) -> Row:
    """The part of a row that says what the array is."""
    row: Row = {"name": name, "kind": "array", "dtype": dtype, "shape": shape}
    if memory is not None or strides != _c_strides(tuple(shape)):
        row["strides"] = strides
    if not writeable:
        row["writeable"] = False
    return row | (memory or {})


def array_data(array: np.ndarray) -> Row:
    """The part of a row that holds the elements."""
    if array.size <= VALUES_LIMIT and not _has_odd_nan(array):
        return {"values": " ".join(number_text(item) for item in array.ravel())}
    if array.nbytes > DATA_LIMIT:
        return {"generated": _generator_of(array)}
    if array.nbytes > INLINE_LIMIT:
        return {"array": array}
    return {"base64": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()}


def _has_odd_nan(array: np.ndarray) -> bool:
    if array.dtype.kind != "f":
        return False
    missing = array[np.isnan(array)]
    return missing.tobytes() != np.full(missing.shape, np.nan, array.dtype).tobytes()


def _generator_of(array: np.ndarray) -> dict[str, Any]:
    """The range of a sample of 4096 elements: data like it is made when the file runs."""
    sample = array.reshape(-1)[:: max(array.size // 4096, 1)].astype(np.float64)
    finite = sample[np.isfinite(sample)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return {"seed": 0, "low": low, "high": high}


def number_text(value: Any) -> str:
    """Of a number, so that `_number` gives back every bit but those of a NaN."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(int(value))


def _c_strides(shape: tuple[int, ...]) -> list[int]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return strides


def span_of(array: np.ndarray) -> tuple[int, int, int]:
    """(first byte, one past the last, the element at index 0), as addresses."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high, array.__array_interface__["data"][0]


def shared_memories(spans: dict[int, tuple[int, int, int]]) -> dict[int, dict[str, int]]:
    """input -> memory, offset and memory_bytes, for arrays whose bounds overlap another one's. Spans of empty arrays are left
    out by the caller."""
    groups: list[tuple[int, int, list[int]]] = []  # low, high, members
    for index, (low, high, _) in sorted(spans.items(), key=lambda item: item[1]):
        if groups and low < groups[-1][1]:
            first, last, members = groups.pop()
            groups.append((first, max(last, high), [*members, index]))
        else:
            groups.append((low, high, [index]))
    shared = sorted((min(members), low, high, members) for low, high, members in groups if len(members) > 1)
    return {
        index: {"memory": number, "offset": spans[index][2] - low, "memory_bytes": high - low}
        for number, (_, low, high, members) in enumerate(shared)
        for index in members
    }


def npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


# --- reading ---------------------------------------------------------------------------------------------------------------


def make_inputs(rows: list[Row], directory: Path) -> list[Any]:
    """Fresh objects. Files are looked for in `directory` only, and must have the digest that the row names.

    Raises ValueError for a row that is malformed or whose file was changed, OSError for one that is missing."""
    memories: dict[int, np.ndarray] = {}
    return [_make(row, directory, memories) for row in rows]


def _make(row: Row, directory: Path, memories: dict[int, np.ndarray]) -> Any:
    kind = row.get("kind")
    if kind == "array":
        return _make_array(row, directory, memories)
    if kind == "numpy":
        return _dtype(row).type(_number(row["value"], _dtype(row)))
    if kind in ("float", "int", "bool"):
        return {"float": float, "int": int, "bool": lambda text: text == "1"}[kind](row["value"])
    raise ValueError(f"input {row.get('name')}: kind {kind!r} is not known")


def _dtype(row: Row) -> np.dtype:
    if row.get("dtype") not in DTYPES:
        raise ValueError(f"input {row.get('name')}: dtype {row.get('dtype')!r} is not one that graphs take")
    return np.dtype(row["dtype"])


def _number(text: str, dtype: np.dtype) -> Any:
    return float(text) if dtype.kind == "f" else int(text)


def _make_array(row: Row, directory: Path, memories: dict[int, np.ndarray]) -> np.ndarray:
    dtype, shape = _dtype(row), tuple(int(extent) for extent in row["shape"])
    strides = [int(step) for step in row.get("strides", _c_strides(shape))]
    low, high = element_bounds(shape, strides)
    if "memory" in row:
        memory = memories.setdefault(int(row["memory"]), np.zeros(int(row["memory_bytes"]), np.uint8))
        offset = int(row["offset"])
    else:
        memory, offset = np.zeros((high - low) * dtype.itemsize, np.uint8), -low * dtype.itemsize
    array: np.ndarray = np.ndarray(
        shape, dtype, buffer=memory, offset=offset, strides=[step * dtype.itemsize for step in strides]
    )
    data = _elements(row, dtype, math.prod(shape), directory)
    array[...] = data.reshape(shape)
    array.flags.writeable = bool(row.get("writeable", True))
    return array


def element_bounds(shape: tuple[int, ...], strides: list[int]) -> tuple[int, int]:
    """First and one past the last element that is reached, relative to the element at index 0."""
    if 0 in shape:
        return 0, 0
    reaches = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    return sum(min(reach, 0) for reach in reaches), sum(max(reach, 0) for reach in reaches) + 1


def _elements(row: Row, dtype: np.dtype, count: int, directory: Path) -> np.ndarray:
    if "values" in row:
        data = np.array([_number(text, dtype) for text in row["values"].split()], dtype)
    elif "base64" in row:
        data = np.frombuffer(base64.b64decode(row["base64"], validate=True), dtype)
    elif "file" in row:
        data = _from_file(row, dtype, directory)
    elif "generated" in row:
        data = _generated(row["generated"], dtype, count)
    else:
        raise ValueError(f"input {row.get('name')} has no data")
    if data.size != count:
        raise ValueError(f"input {row.get('name')} has {data.size} elements; its shape wants {count}")
    return data


def _from_file(row: Row, dtype: np.dtype, directory: Path) -> np.ndarray:
    path = directory / str(row["file"])
    if directory.resolve() not in path.resolve().parents:
        raise ValueError(f"input {row.get('name')}: {row['file']!r} is outside of {directory}")
    raw = path.read_bytes()
    if hashlib.sha256(raw).hexdigest() != row.get("sha256"):
        raise ValueError(f"{path} is not the file that was written for input {row.get('name')}: its digest differs")
    data = np.load(io.BytesIO(raw), allow_pickle=False)
    if data.dtype != dtype:
        raise ValueError(f"{path} holds {data.dtype}; input {row.get('name')} is {dtype}")
    return data.ravel()


def _generated(how: dict[str, Any], dtype: np.dtype, count: int) -> np.ndarray:
    rng, low, high = np.random.default_rng(int(how["seed"])), float(how["low"]), float(how["high"])
    if dtype.kind == "f":
        return rng.uniform(low, high, count).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    limits = np.iinfo(dtype)
    low_int, high_int = (min(max(int(bound), int(limits.min)), int(limits.max)) for bound in (low, high))
    return rng.integers(low_int, high_int, count, dtype, endpoint=True)

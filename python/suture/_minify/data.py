"""Inputs of a case as rows of literals, and back: every bit, the layout, and what shares memory.

A row is a dict that stands in a repro file:

    {"name": "y", "kind": "array", "dtype": "float64", "shape": [2, 3], "values": "1.0 -0.0 inf ..."}
    {"name": "n", "kind": "int", "value": "7"}

Keys are the fields of case.Input; left out are those that say what is usual: C order, memory of its own that begins at a
multiple of the item size, may be written. Elements are one of

    values           decimal text, in C order
    base64           their bytes, in C order
    file and sha256  a .npy beside the file
    generated        {"seed", "low", "high"}: there were too many to keep; some like them are made

Decimal text holds every bit of a number but those of a NaN; NaNs that are not NumPy's own are written as base64. Nothing here
unpickles or evaluates: a row that is not as above is a CaseError.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from suture._minify.case import KINDS, NO_GROUP, CaseError, Input

Row = dict[str, Any]

_NPY_HEADER = 1 << 16  # bytes that NumPy may need in front of the elements
VALUES_LIMIT = 64  # elements that are written as text a person can read
INLINE_LIMIT = 1 << 14  # bytes that are written into the file as base64; more go into a .npy beside it
DATA_LIMIT = 1 << 28  # bytes of one input that are kept at all

DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
)
_PYTHON_KINDS = {"float": "float64", "int": "int64", "bool": "bool"}


# --- writing ---------------------------------------------------------------------------------------------------------------


def row_of(name: str, item: Input, save: Callable[[np.ndarray], Row]) -> Row:
    """`save(array)` puts elements that are too many for the text elsewhere, and gives the part of the row that says where."""
    if item.kind in _PYTHON_KINDS:
        return {"name": name, "kind": item.kind, "value": number_text(item.data)}
    row: Row = {"name": name, "kind": item.kind, "dtype": item.dtype}
    if item.kind != "array":
        return row | {"value": number_text(item.data)}
    row["shape"] = list(item.shape)
    if list(item.strides) != c_strides(item.shape):
        row["strides"] = list(item.strides)
    if item.alias != NO_GROUP:
        row["alias"] = item.alias
    if item.offset:
        row["offset"] = item.offset
    if not item.writeable:
        row["writeable"] = False
    return row | _elements_of(item.data, save)


def _elements_of(array: np.ndarray, save: Callable[[np.ndarray], Row]) -> Row:
    if array.size <= VALUES_LIMIT and not _has_odd_nan(array):
        return {"values": " ".join(number_text(item) for item in array.ravel())}
    if array.nbytes > DATA_LIMIT:
        return {"generated": generator_of(array)}
    if array.nbytes > INLINE_LIMIT:
        return save(array)
    return {"base64": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()}


def _has_odd_nan(array: np.ndarray) -> bool:
    if array.dtype.kind != "f":
        return False
    missing = array[np.isnan(array)]
    return missing.tobytes() != np.full(missing.shape, np.nan, array.dtype).tobytes()


def generator_of(array: np.ndarray) -> Row:
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


def c_strides(shape: tuple[int, ...]) -> list[int]:
    """Of an array that NumPy allocates, in elements."""
    return list(np.empty(shape, np.uint8).strides) if math.prod(shape) < 1 << 20 else _dense(shape)


def _dense(shape: tuple[int, ...]) -> list[int]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


# --- reading ---------------------------------------------------------------------------------------------------------------


def input_of(row: Row, directory: Path) -> Input:
    """The inverse of row_of. Files are looked for in `directory` only, and must have the digest that the row names.

    Raises CaseError for a row that is malformed or whose file was changed or is missing, OSError for one that cannot be read."""
    try:
        return _input_of(row, directory)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, binascii.Error) as error:
        if isinstance(error, CaseError):
            raise
        name = row.get("name", "?") if isinstance(row, dict) else row
        raise CaseError(f"input {name}: {type(error).__name__}: {error}") from None
    except MemoryError as error:
        raise CaseError(f"input {row.get('name', '?')} is larger than the memory of this machine: {error}") from None


def _input_of(row: Row, directory: Path) -> Input:
    kind = row["kind"]
    if kind not in KINDS:
        raise CaseError(f"input {row['name']} is of kind {kind!r}; known are {', '.join(KINDS)}")
    dtype = np.dtype(_dtype_name(row))
    if kind != "array":
        number = _number(row["value"], dtype)
        return Input(kind, dtype.name, dtype.type(number) if kind == "numpy_scalar" else number)
    shape = tuple(int(extent) for extent in row["shape"])
    strides = tuple(int(step) for step in row.get("strides", c_strides(shape)))
    elements = _elements(row, dtype, math.prod(shape), directory).reshape(shape)
    elements.flags.writeable = False
    alias, offset = int(row.get("alias", NO_GROUP)), int(row.get("offset", 0))
    if len(strides) != len(shape) or offset < 0:
        raise CaseError(f"input {row['name']}: strides {list(strides)} and offset {offset} fit no array")
    return Input(kind, dtype.name, elements, shape, strides, alias, offset, bool(row.get("writeable", True)))


def _dtype_name(row: Row) -> str:
    name = _PYTHON_KINDS.get(row["kind"]) or row["dtype"]
    if name not in DTYPES:
        raise CaseError(f"input {row['name']}: dtype {name!r} is not one that graphs take")
    return str(name)


def _number(text: str, dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return text == "1"
    return float(text) if dtype.kind == "f" else int(text)


def _elements(row: Row, dtype: np.dtype, count: int, directory: Path) -> np.ndarray:
    if "values" in row:
        elements = np.array([_number(text, dtype) for text in row["values"].split()], dtype)
    elif "base64" in row:
        elements = np.frombuffer(base64.b64decode(row["base64"], validate=True), dtype)
    elif "file" in row:
        elements = _from_file(row, dtype, count, directory)
    else:
        _check_size(row, count * dtype.itemsize)
        elements = _generated(row["generated"], dtype, count)
    if elements.size != count:
        raise CaseError(f"input {row['name']} has {elements.size} elements; its shape wants {count}")
    return elements


def _check_size(row: Row, size: int) -> None:
    """Memory is given out before it is there; what would never be there is refused."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise MemoryError(f"{size / 2**30:.1f} GiB of {memory / 2**30:.1f}")


def _from_file(row: Row, dtype: np.dtype, count: int, directory: Path) -> np.ndarray:
    path = directory / str(row["file"])
    if directory.resolve() not in path.resolve().parents:
        raise CaseError(f"input {row['name']}: {row['file']!r} is outside of {directory}")
    if not path.exists():
        raise CaseError(
            f"input {row['name']} is in {row['file']}, which is not beside the file: copy the directory "
            f"{path.parent.name}/ along (looked in {directory.resolve()})"
        )
    if not path.is_file():
        raise CaseError(f"input {row['name']}: {row['file']!r} is no file")
    if path.stat().st_size > count * dtype.itemsize + _NPY_HEADER:
        raise CaseError(f"{path} is larger than input {row['name']}: it is not the file that was written for it")
    raw = path.read_bytes()
    if hashlib.sha256(raw).hexdigest() != row["sha256"]:
        raise CaseError(f"{path} is not the file that was written for input {row['name']}: its digest differs")
    elements: np.ndarray = np.load(io.BytesIO(raw), allow_pickle=False)
    if elements.dtype != dtype:
        raise CaseError(f"{path} holds {elements.dtype}; input {row['name']} is {dtype}")
    return elements.ravel()


def _generated(how: Row, dtype: np.dtype, count: int) -> np.ndarray:
    rng, low, high = np.random.default_rng(int(how["seed"])), float(how["low"]), float(how["high"])
    if dtype.kind == "f":
        return rng.uniform(low, high, count).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    limits = np.iinfo(dtype)
    first, last = (min(max(int(bound), int(limits.min)), int(limits.max)) for bound in (low, high))
    return rng.integers(first, last, count, dtype, endpoint=True)


def elements_like(row: Row, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Elements made from the part `generated` of a row."""
    return _generated(row["generated"], np.dtype(dtype), math.prod(shape)).reshape(shape)


def is_generated(row: Row) -> bool:
    return "generated" in row

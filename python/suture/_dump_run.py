"""What a dumped graph_runnable.py calls: loads or generates the inputs, runs the graph under NumPy and under Suture, compares.

Exit code: 0 Suture gives the recorded outputs, and NumPy's up to BOUND; 1 it does not.

A digest is the SHA-256 of "KIND DTYPE SIZES\\n" and the elements in C order, every NaN written as the same one. Debug dumps
record it, and run_support.h of a dump computes the same.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from suture._ulps import ulps_of_largest

SEED = 0


def kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "array"
    if isinstance(value, np.generic):
        return "scalar"
    return {bool: "py_bool", int: "py_int", float: "py_float"}.get(type(value), type(value).__name__)


def _one_nan(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "fc":
        return array
    missing = np.isnan(array)
    return np.where(missing, array.dtype.type("nan"), array) if missing.any() else array


def digest(value: Any) -> str:
    """Of an output. Objects that are no numbers have the digest of their type."""
    kind = kind_of(value)
    if kind not in ("array", "scalar", "py_bool", "py_int", "py_float") or not -(2**63) <= _as_int(value) < 2**63:
        return hashlib.sha256(f"{kind} {hex(value) if kind == 'py_int' else ''}".encode()).hexdigest()
    array = np.asarray(value)
    sha = hashlib.sha256(f"{kind} {array.dtype.str} {','.join(map(str, array.shape))}\n".encode())
    sha.update(np.ascontiguousarray(_one_nan(array)).tobytes())
    return sha.hexdigest()


def _as_int(value: Any) -> int:
    return value if type(value) is int else 0


def scalar_text(value: Any) -> str:
    """Of a number, so that `scalar` gives back every bit but those of a NaN."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    return str(int(value)) if isinstance(value, (int, np.integer)) else ""


def scalar(row: dict[str, Any]) -> Any:
    text, kind = row["value"], row["kind"]
    if not text:
        print(f"input {row['name']}: its value was not recorded; 1 stands for it")
        text = "True" if row["dtype"] == "bool" else "1"
    if row["dtype"] == "bool":
        value: Any = text == "True"
    else:
        value = float.fromhex(text) if row["dtype"].startswith("float") else int(text)
    return np.dtype(row["dtype"]).type(value) if kind == "scalar" else value


def _generated(row: dict[str, Any], index: int) -> np.ndarray:
    rng, dtype = np.random.default_rng([SEED, index]), np.dtype(row["dtype"])
    if dtype.kind == "f":
        return rng.standard_normal(row["shape"]).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 100, row["shape"]).astype(dtype)


def _array(row: dict[str, Any], index: int, directory: Path, memories: dict[int, np.ndarray]) -> np.ndarray:
    memory = memories.setdefault(row["memory"], np.zeros(row["memory_bytes"], np.uint8))
    array = np.ndarray(
        tuple(row["shape"]), row["dtype"], buffer=memory, offset=row["offset"], strides=tuple(row["strides"])
    )
    saved = directory / (row["file"] or _generated_file(index))
    if row["file"] or saved.exists():
        array[...] = np.load(saved, allow_pickle=False)
    else:
        array[...] = _generated(row, index)
    return array


def _generated_file(index: int) -> str:
    return f"inputs/input_{index}.npy"


def make_inputs(rows: list[dict[str, Any]], directory: Path) -> list[Any]:
    """Fresh inputs: shapes, dtypes, strides and shared memory as in the recorded call."""
    memories: dict[int, np.ndarray] = {}
    return [
        _array(row, index, directory, memories) if row["kind"] == "array" else scalar(row)
        for index, row in enumerate(rows)
    ]


def save_inputs(rows: list[dict[str, Any]], directory: Path) -> None:
    for index, (row, value) in enumerate(zip(rows, make_inputs(rows, directory), strict=True)):
        if row["kind"] == "array" and not row["file"]:
            path = directory / _generated_file(index)
            path.parent.mkdir(exist_ok=True)
            np.save(path, value, allow_pickle=False)
            print(f"wrote {path}")


def ulps(a: Any, b: Any) -> float:
    """Largest difference of two outputs, see ulps_of_largest. inf when they are not comparable."""
    x, y = np.asarray(a), np.asarray(b)
    if kind_of(a) != kind_of(b) or x.dtype != y.dtype or x.shape != y.shape:
        return float("inf")
    if x.dtype.kind not in "fc":
        return 0.0 if np.array_equal(x, y) else float("inf")
    return ulps_of_largest(x, y)


def _run(call: Callable[..., Any], rows: list[dict[str, Any]], symbols: list[int], directory: Path) -> Any:
    """The outputs and the inputs as the run left them, or the exception."""
    inputs = make_inputs(rows, directory)
    try:
        return tuple(call(*inputs, *symbols)), inputs
    except Exception as error:
        return error


def _named(result: Any, outputs: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    """(name, value, recorded digest) of every output, and of the inputs that the recorded run changed."""
    values, inputs = result
    recorded = {row["output"]: row["digest"] for row in outputs if "output" in row}
    named = [(f"output {i}", value, recorded.get(i, "")) for i, value in enumerate(values)]
    changed = [row for row in outputs if "input" in row]
    return named + [(f"input {row['input']} after the call", inputs[row["input"]], row["digest"]) for row in changed]


def _compare(numpy_result: Any, suture_result: Any, outputs: list[dict[str, Any]], comparable: bool) -> bool:
    same = True
    for (name, expected, _), (_, got, record) in zip(
        _named(numpy_result, outputs), _named(suture_result, outputs), strict=True
    ):
        distance, of_numpy, of_suture = ulps(expected, got), digest(expected), digest(got)
        if record and comparable:
            verdict = "equals the recorded run" if of_suture == record else "DIFFERS from the recorded run"
            same &= of_suture == record
        else:
            verdict = "no recorded run to compare with"
        print(f"{name}: Suture {of_suture} ({verdict})")
        if of_numpy == of_suture:
            print(f"{' ' * len(name)}  NumPy equals Suture, bit for bit")
        else:
            print(f"{' ' * len(name)}  NumPy  {of_numpy} ({distance:g} ULP of the largest value apart)")
            same &= distance <= BOUND
    return same


# Exactly rounded graphs are bit-identical; others are as far apart as docs/reference/ops.md allows per op, and a graph has
# several.
BOUND = 64.0


def main(
    file: str,
    forward: Callable[..., Any],
    inputs: list[dict[str, Any]],
    symbols: list[int],
    outputs: list[dict[str, Any]],
) -> int:
    import suture

    directory = Path(file).resolve().parent
    if "--save-inputs" in sys.argv[1:]:
        save_inputs(inputs, directory)
    comparable = all(row["kind"] != "array" or row["file"] for row in inputs)
    with np.errstate(all="ignore"):
        numpy_result = _run(forward, inputs, symbols, directory)
        suture_result = _run(suture.compile(forward), inputs, symbols, directory)
    if isinstance(numpy_result, Exception) or isinstance(suture_result, Exception):
        print(f"NumPy:  {_outcome(numpy_result)}\nSuture: {_outcome(suture_result)}")
        return 0 if _outcome(numpy_result) == _outcome(suture_result) else 1
    return 0 if _compare(numpy_result, suture_result, outputs, comparable) else 1


def _outcome(result: Any) -> str:
    return f"{type(result).__name__}: {result}" if isinstance(result, Exception) else "returned"

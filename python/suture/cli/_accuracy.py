"""Results of compiled calls beside those of the same calls under NumPy, for `suture check --compare`.

The compiled run saves what the first calls of every function give (Recorder), the run under NumPy does the same calls and
compares (Comparer). A call is compared when its arguments have equal values in both runs: what differs later because an
earlier result differed is not counted again. Only outermost calls are seen, so that both runs see the same ones.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suture._dump_run import BOUND, digest, ulps

CALLS = 32  # of one function
MEGABYTES = 256  # of all results

# Plain values by type: (to text, from text).
_PLAIN: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    float: (float.hex, float.fromhex),
    int: (hex, lambda text: int(text, 16)),  # Python refuses to print very long ones in decimal
    bool: (str, "True".__eq__),
    complex: (repr, complex),
    str: (str, str),
    bytes: (bytes.hex, bytes.fromhex),
    type(None): (str, lambda _: None),
}
_FROM_TEXT = {kind.__name__: decode for kind, (_, decode) in _PLAIN.items()}


def leaves(value: Any, name: str) -> list[tuple[str, Any]]:
    """The numbers in a value with their names, "result[0]['mean']"; of containers and other objects what they are."""
    if type(value) in (tuple, list):
        items = [leaves(item, f"{name}[{i}]") for i, item in enumerate(value)]
        return [(name, f"{type(value).__name__} of {len(value)}"), *(leaf for item in items for leaf in item)]
    if type(value) is dict:
        items = [leaves(item, f"{name}[{key!r}]") for key, item in value.items()]
        return [(name, f"dict of {len(value)}"), *(leaf for item in items for leaf in item)]
    kind = type(value).__qualname__
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        plain = type(value) is np.ndarray or type(value).__module__ == "numpy"
        return [(name, value)] if plain else [(f"type of {name}", kind), (name, np.asarray(value))]
    return [(name, value if type(value) in _PLAIN else f"object of type {kind}")]


def _encoded(before: list[str], given: list[tuple[str, Any]]) -> bytes:
    """Digests of the arguments and named values as one .npz file; nothing in it is run when it is read."""
    arrays: dict[str, Any] = {}
    rows = []
    for name, value in given:
        if isinstance(value, (np.ndarray, np.generic)):
            member = f"array_{len(arrays)}"
            arrays[member] = np.asarray(value)
            rows.append((name, "ndarray" if isinstance(value, np.ndarray) else "generic", member))
        else:
            rows.append((name, type(value).__name__, _PLAIN[type(value)][0](value)))
    text = json.dumps({"before": before, "given": rows})
    buffer = io.BytesIO()
    arrays["rows"] = np.frombuffer(text.encode(), np.uint8)
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _decoded(data: bytes) -> tuple[list[str], list[tuple[str, Any]]]:
    def value(kind: str, text: str) -> Any:
        if kind in ("ndarray", "generic"):
            return members[text] if kind == "ndarray" else members[text][()]
        return _FROM_TEXT[kind](text)

    with np.load(io.BytesIO(data), allow_pickle=False) as members:
        call = json.loads(members["rows"].tobytes())
        return call["before"], [(name, value(kind, text)) for name, kind, text in call["given"]]


def _digest(value: Any) -> str:
    return digest(value) if isinstance(value, (np.ndarray, np.generic, float, int)) else repr(value)


def _digests(values: list[tuple[str, Any]]) -> list[str]:
    return [_digest(value) for _, value in values]


class Key(NamedTuple):
    """A function, the same one in both runs."""

    function: str
    file: str
    line: int


class _Call:
    """One call: its arguments before, then what it gives: the result, and the arguments that it changed."""

    def __init__(self, owner: Watch, key: Key, number: int, arguments: tuple[Any, ...]) -> None:
        self._owner, self._key, self._number = owner, key, number
        self._arguments = [leaf for i, value in enumerate(arguments) for leaf in leaves(value, f"argument {i}")]
        self.before = _digests(self._arguments)

    def done(self, result: Any, error: str) -> None:
        given = [("exception", error)] if error else leaves(result, "result")
        after = _digests(self._arguments)
        changed = [leaf for leaf, a, b in zip(self._arguments, self.before, after, strict=True) if a != b]
        self._owner.take(self._key, self._number, self.before, given + changed)


class Watch:
    """The hook of _core.watch_calls."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.calls: dict[Key, int] = {}

    def __call__(self, function: Any, arguments: tuple[Any, ...]) -> _Call | None:
        code = function.__code__
        key = Key(function.__qualname__, code.co_filename, code.co_firstlineno)
        number = self.calls.get(key, 0)
        self.calls[key] = number + 1
        return _Call(self, key, number, arguments) if self.wanted(key, number) else None

    def path(self, key: Key, number: int) -> Path:
        name = hashlib.sha256(repr(key).encode()).hexdigest()
        return self.directory / f"{name}_{number}.npz"

    def wanted(self, key: Key, number: int) -> bool:
        raise NotImplementedError

    def take(self, key: Key, number: int, before: list[str], given: list[tuple[str, Any]]) -> None:
        raise NotImplementedError


class Recorder(Watch):
    """Of the compiled run."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._left = MEGABYTES << 20
        self._process = os.getpid()

    def wanted(self, key: Key, number: int) -> bool:
        # A forked child makes calls of the same numbers; the run under NumPy tells those of its own process only.
        return number < CALLS and self._left > 0 and os.getpid() == self._process

    def take(self, key: Key, number: int, before: list[str], given: list[tuple[str, Any]]) -> None:
        data = _encoded(before, given)
        self._left -= len(data)
        self.path(key, number).write_bytes(data)


class Comparer(Watch):
    """Of the run under NumPy."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._rows: dict[Key, dict[str, Any]] = {}

    def wanted(self, key: Key, number: int) -> bool:
        return self.path(key, number).exists()

    def take(self, key: Key, number: int, before: list[str], given: list[tuple[str, Any]]) -> None:
        recorded_before, recorded = _decoded(self.path(key, number).read_bytes())
        row = self._rows.setdefault(key, self._new_row(key))
        if recorded_before != before:
            row["other_inputs"] += 1
            return
        row["compared"] += 1
        _compare(row, number, given, recorded)

    def _new_row(self, key: Key) -> dict[str, Any]:
        return {
            **key._asdict(),
            "compared": 0,
            "other_inputs": 0,
            "ulp": 0.0,
            "bound": BOUND,
            "worst": "",
            "mismatch": "",
        }

    def rows(self) -> list[dict[str, Any]]:
        return list(self._rows.values())


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}{list(value.shape)}"
    return f"{type(value).__name__} {value!s:.60}"


def _difference(name: str, expected: Any, got: Any) -> str:
    """Of arrays of one kind the first element that differs."""
    arrays = isinstance(expected, np.ndarray) and isinstance(got, np.ndarray)
    if arrays and expected.dtype == got.dtype and expected.shape == got.shape:
        same = [_digest(a) == _digest(b) for a, b in zip(expected.ravel(), got.ravel(), strict=True)]
        index = np.unravel_index(same.index(False), expected.shape)
        name, expected, got = f"{name}[{', '.join(map(str, index))}]", expected[index], got[index]
    return f"{name} is {_shown(got)}; NumPy gives {_shown(expected)}"


def _compare(row: dict[str, Any], number: int, numpy_gave: list[Any], suture_gave: list[Any]) -> None:
    place = f"of call {number + 1}"
    if [name for name, _ in numpy_gave] != [name for name, _ in suture_gave]:
        row["mismatch"] = row["mismatch"] or f"Other values are returned or changed in place {place}."
        return
    for (name, expected), (_, got) in zip(numpy_gave, suture_gave, strict=True):
        distance = _distance(expected, got)
        if distance == float("inf"):
            row["mismatch"] = row["mismatch"] or f"In call {number + 1}, {_difference(name, expected, got)}."
        elif distance > row["ulp"]:
            row["ulp"], row["worst"] = distance, f"{name} {place}"


def _distance(expected: Any, got: Any) -> float:
    """In ULP; inf when they differ in more than rounding: signs of zeros, values of exact types, half of the digits."""
    if _digest(expected) == _digest(got):
        return 0.0
    numbers = (np.ndarray, np.generic, float)
    if not (isinstance(expected, numbers) and isinstance(got, numbers)):
        return float("inf")
    if np.iscomplexobj(expected) and np.iscomplexobj(got):
        distance = max(ulps(np.real(expected), np.real(got)), ulps(np.imag(expected), np.imag(got)))
    else:
        distance = ulps(expected, got)
    return distance if 0 < distance <= _most_ulps(np.asarray(expected).dtype) else float("inf")


def _most_ulps(dtype: np.dtype[Any]) -> float:
    return max(4 * BOUND, 2.0 ** (np.finfo(dtype).nmant // 2)) if dtype.kind in "fc" else 0.0

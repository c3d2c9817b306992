"""One call of a function as files: its arguments, its result, and the arguments that it changed.

Arrays are files of their own, named by their digest, so that one that many calls are given or return is kept once; all of
them together are bounded. Nothing in a record is run when it is read.

Arguments are kept as a tree from which fresh ones can be made: arrays with their strides, plain values, tuples, lists, dicts,
and the same object wherever it stood twice. Functions, types and modules are not copied: they are taken from the call that the
copies are made for, as they are what the program means by the name.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from suture._dump_run import digest

Leaf = tuple[str, Any]  # name, number or what else stands there

# Plain values by type: (to text, from text).
PLAIN: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    float: (float.hex, float.fromhex),
    int: (hex, lambda text: int(text, 16)),  # Python refuses to print very long ones in decimal
    bool: (str, "True".__eq__),
    complex: (repr, complex),
    str: (str, str),
    bytes: (bytes.hex, bytes.fromhex),
    type(None): (str, lambda _: None),
}
_FROM_TEXT = {kind.__name__: decode for kind, (_, decode) in PLAIN.items()}
# Of these the call that is repeated has its own.
_MEANT_BY_NAME = (FunctionType, BuiltinFunctionType, type, ModuleType, np.ufunc, np.dtype)
_MOST_MEMORY = 8  # times the size of an array: a view into more is kept without its strides


class CannotCopy(Exception):
    """An argument of which no equal and independent one can be made; the text says which."""


class TooLarge(Exception):
    """The bound on all arrays is reached."""


def leaves(value: Any, name: str) -> list[Leaf]:
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
    return [(name, value if type(value) in PLAIN else f"object of type {kind}")]


def digest_of(value: Any) -> str:
    return digest(value) if isinstance(value, (np.ndarray, np.generic, float, int)) else repr(value)


def digests(values: list[Leaf]) -> list[str]:
    return [digest_of(value) for _, value in values]


class ArrayStore:
    """Arrays in a directory."""

    def __init__(self, directory: Path, most_bytes: int = 0) -> None:
        self._directory, self._left = directory, most_bytes

    def keep(self, array: np.ndarray) -> str:
        name = hashlib.sha256(f"{digest(array)} {array.dtype!r}".encode()).hexdigest()
        path = self._directory / f"{name}.npy"
        if not path.exists():
            if array.nbytes > self._left:
                raise TooLarge
            self._left -= array.nbytes
            np.save(path, array, allow_pickle=False)
        return name

    def load(self, name: str) -> np.ndarray:
        return np.load(self._directory / f"{name}.npy", allow_pickle=False)


def encode_leaves(given: list[Leaf], store: ArrayStore) -> list[list[str]]:
    """As JSON; TooLarge."""
    rows = []
    for name, value in given:
        if isinstance(value, (np.ndarray, np.generic)):
            kind = "ndarray" if isinstance(value, np.ndarray) else "generic"
            rows.append([name, kind, store.keep(np.asarray(value))])
        else:
            rows.append([name, type(value).__name__, PLAIN[type(value)][0](value)])
    return rows


def decode_leaves(rows: list[list[str]], store: ArrayStore) -> list[Leaf]:
    def value(kind: str, text: str) -> Any:
        if kind in ("ndarray", "generic"):
            return store.load(text) if kind == "ndarray" else store.load(text)[()]
        return _FROM_TEXT[kind](text)

    return [(name, value(kind, text)) for name, kind, text in rows]


class ArgumentWriter:
    """Makes the tree of a call's arguments."""

    def __init__(self, store: ArrayStore) -> None:
        self._store = store
        # Arrays and containers with the order in which a reader makes them, by id; held, so that ids stay theirs.
        self._seen: dict[int, tuple[int, Any]] = {}
        self._memory: list[tuple[int, int]] = []  # first and last byte of the arrays, ascending, none overlaps another

    def write(self, value: Any) -> list[Any]:
        """As JSON; CannotCopy, TooLarge."""
        if seen := self._seen.get(id(value)):
            return ["same", seen[0]]
        kind = type(value)
        if kind in PLAIN:
            return [kind.__name__, PLAIN[kind][0](value)]
        if kind in (tuple, list, dict):
            return self._container(value)
        if kind is np.ndarray and not value.dtype.hasobject:
            return self._array(value)
        if isinstance(value, np.generic) and kind.__module__ == "numpy" and not value.dtype.hasobject:
            return ["generic", self._store.keep(np.asarray(value))]
        if isinstance(value, _MEANT_BY_NAME):
            return ["own"]
        raise CannotCopy(f"an object of type {kind.__qualname__}")

    def _container(self, value: Any) -> list[Any]:
        self._see(value)
        if type(value) is dict:
            return ["dict", [[self.write(key), self.write(item)] for key, item in value.items()]]
        return [type(value).__name__, [self.write(item) for item in value]]

    def _array(self, array: np.ndarray) -> list[Any]:
        self._own_memory(array)
        self._see(array)
        return ["array", self._store.keep(array), list(array.strides), array.flags.writeable]

    def _see(self, value: Any) -> None:
        self._seen[id(value)] = len(self._seen), value

    def _own_memory(self, array: np.ndarray) -> None:
        """CannotCopy when an earlier array reaches into the same bytes."""
        if not array.size:
            return
        low, end = np.lib.array_utils.byte_bounds(array)
        at = bisect.bisect(self._memory, (low, end))
        before, after = self._memory[at - 1 : at], self._memory[at : at + 1]
        if any(last >= low for _, last in before) or any(first < end for first, _ in after):
            raise CannotCopy("arrays that share memory")
        self._memory.insert(at, (low, end - 1))


class ArgumentReader:
    """Makes arguments from their tree."""

    def __init__(self, store: ArrayStore) -> None:
        self._store = store
        self._made: list[Any] = []

    def read(self, tree: list[Any], own: Any) -> Any:
        """`own`: what stands at this place in the call that the copy is for."""
        kind = tree[0]
        if kind == "same":
            return self._made[tree[1]]
        if kind == "own":
            if not isinstance(own, _MEANT_BY_NAME):
                raise CannotCopy(f"an object of type {type(own).__qualname__}")
            return own
        if kind == "generic":
            return self._store.load(tree[1])[()]
        if kind == "array":
            self._made.append(_with_strides(self._store.load(tree[1]), tree[2], tree[3]))
            return self._made[-1]
        return self._container(tree, own) if kind in ("tuple", "list", "dict") else _FROM_TEXT[kind](tree[1])

    def _container(self, tree: list[Any], own: Any) -> Any:
        kind, items = tree
        place = len(self._made)
        self._made.append(None)
        if kind == "dict":
            owned = iter(own.items()) if type(own) is dict else iter(())
            pairs = [(key, item, *next(owned, (None, None))) for key, item in items]
            made: Any = {self.read(key, k): self.read(item, i) for key, item, k, i in pairs}
        else:
            owned_items = own if type(own) in (tuple, list) else ()
            pairs_of = itertools.zip_longest(items, owned_items[: len(items)])
            read = [self.read(item, mine) for item, mine in pairs_of]
            made = tuple(read) if kind == "tuple" else read
        self._made[place] = made
        return made


def _with_strides(array: np.ndarray, strides: list[int], writeable: bool) -> np.ndarray:
    """NumPy adds up in an order that depends on strides."""
    steps = [(size - 1) * stride for size, stride in zip(array.shape, strides, strict=True)]
    before, after = -sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)
    needed = before + after + array.itemsize
    if array.size and list(array.strides) != strides and needed <= _MOST_MEMORY * array.nbytes:
        memory = np.zeros(needed, np.uint8)
        placed = np.ndarray(array.shape, array.dtype, memory, before, tuple(strides))
        placed[...] = array
        array = placed
    array.flags.writeable = writeable
    return array


def write_call(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record), encoding="utf-8")


def read_call(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))

"""Case: everything a failure needs, and nothing else.

A case is a value: it is compared, hashed, sent to other processes and written to files as JSON, with the data of arrays as
.npy bytes (inside the JSON, or beside it). No pickle is read or written.

Arrays keep what a compiler can see of them: dtype, shape, strides, whether they may be written, how their memory lies with
respect to cache lines, and which inputs share memory. Arrays of one `alias` group lie in one block of memory, `offset` bytes
from its beginning; an array without a group has a block of its own.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suture import _core

SCHEMA = 1
CHECKS = ("compile", "run", "accuracy")
KINDS = ("array", "numpy_scalar", "float", "int", "bool")
ALIGNMENT = 64  # bytes; offsets of arrays without a group are counted from such a boundary
NO_GROUP = -1


class CaseError(ValueError):
    """A case that cannot be: text that cannot be read, data that is missing, inputs that do not fit the graph."""


@dataclass(frozen=True)
class Input:
    """One input. `data`: for arrays the values in C order (any array of that shape and dtype), else the number itself.

    kind     array, numpy_scalar, float, int or bool (Python numbers)
    dtype    NumPy's name; of Python numbers float64, int64 and bool
    shape    elements per axis
    strides  elements (not bytes) per axis; may be 0 or negative
    alias    inputs with the same number >= 0 share memory; -1: memory of its own
    offset   bytes from the beginning of the memory to the lowest element
    """

    kind: str
    dtype: str
    data: Any = field(compare=False)
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    alias: int = NO_GROUP
    offset: int = 0
    writeable: bool = True

    @staticmethod
    def of(value: Any, alias: int = NO_GROUP, offset: int | None = None) -> Input:
        """An input that is like `value`: an ndarray, a NumPy scalar, a float, an int or a bool. Arrays are copied."""
        if isinstance(value, np.ndarray):
            strides = tuple(stride // value.itemsize for stride in value.strides)
            if any(stride % value.itemsize for stride in value.strides):
                raise CaseError(f"strides {value.strides} are no multiples of the item size")
            if offset is None:
                offset = lowest_address(value) % ALIGNMENT
            data = np.array(value, order="C", copy=True)
            data.flags.writeable = False
            return Input("array", value.dtype.name, data, value.shape, strides, alias, offset, value.flags.writeable)
        if isinstance(value, np.generic):
            return Input("numpy_scalar", value.dtype.name, value)
        for kind, dtype in (("bool", "bool"), ("int", "int64"), ("float", "float64")):
            if type(value).__name__ == kind:
                return Input(kind, dtype, value)
        raise CaseError(f"a graph has no inputs of type {type(value).__name__}")

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @cached_property
    def digest(self) -> str:
        """Of dtype, shape and values; two inputs are equal when their other fields and this are."""
        if self.kind != "array":
            return f"{self.dtype}:{np.asarray(self.data, self.dtype).tobytes().hex()}"
        data = np.asarray(self.data)
        return hashlib.sha256(f"{data.dtype}{data.shape}".encode() + data.tobytes()).hexdigest()

    def replaced(self, data: Any) -> Input:
        """The same layout with other values."""
        if self.kind == "array":
            data = np.array(np.broadcast_to(np.asarray(data, self.dtype), self.shape), order="C")
            data.flags.writeable = False
        return Input(*(data if f.name == "data" else getattr(self, f.name) for f in fields(self)))

    def header(self) -> dict[str, Any]:
        out = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "data"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in out.items()}


def lowest_address(array: np.ndarray) -> int:
    lowest: int = np.lib.array_utils.byte_bounds(array)[0]
    return lowest


def inputs_of(values: Sequence[Any]) -> tuple[Input, ...]:
    """Inputs like these objects; those that share memory keep sharing it."""
    arrays = [(i, value) for i, value in enumerate(values) if isinstance(value, np.ndarray) and value.size]
    groups: dict[int, int] = {}
    for position, (i, a) in enumerate(arrays):
        for j, b in arrays[:position]:
            if np.may_share_memory(a, b):
                merged = {groups.setdefault(i, i), groups.setdefault(j, j)}
                for member, group in list(groups.items()):
                    if group in merged:
                        groups[member] = min(merged)
    bases: dict[int, int] = {}
    for member, group in groups.items():
        lowest = lowest_address(values[member])
        bases[group] = min(bases.get(group, lowest), lowest)
    numbers = {group: number for number, group in enumerate(sorted(bases))}
    made = []
    for i, value in enumerate(values):
        if i not in groups:
            made.append(Input.of(value))
            continue
        start = bases[groups[i]] // ALIGNMENT * ALIGNMENT
        made.append(Input.of(value, numbers[groups[i]], lowest_address(value) - start))
    return tuple(made)


# --- memory ---------------------------------------------------------------------------------------------------------------


def _reach(item: Input) -> tuple[int, int]:
    """(elements below element [0, ..., 0], elements that the memory must have)"""
    if 0 in item.shape:
        return 0, 0
    steps = [(extent - 1) * stride for extent, stride in zip(item.shape, item.strides, strict=True)]
    below = -sum(step for step in steps if step < 0)
    return below, below + sum(step for step in steps if step > 0) + 1


def _block(size: int) -> np.ndarray:
    """Zeroed bytes that begin at a multiple of ALIGNMENT."""
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def make_objects(inputs: Sequence[Input]) -> list[Any]:
    """Fresh objects like the inputs say, in memory of their own."""
    sizes: dict[int, int] = {}
    for item in inputs:
        if item.kind == "array" and item.alias != NO_GROUP:
            end = item.offset + _reach(item)[1] * np.dtype(item.dtype).itemsize
            sizes[item.alias] = max(sizes.get(item.alias, 0), end)
    blocks = {group: _block(size) for group, size in sizes.items()}
    return [_make_object(item, blocks) for item in inputs]


def _make_object(item: Input, blocks: dict[int, np.ndarray]) -> Any:
    if item.kind == "numpy_scalar":
        return np.dtype(item.dtype).type(item.data)
    if item.kind != "array":
        return {"float": float, "int": int, "bool": bool}[item.kind](item.data)
    dtype = np.dtype(item.dtype)
    below, elements = _reach(item)
    block = blocks.get(item.alias)
    if block is None:
        block = _block(item.offset + elements * dtype.itemsize)
    start = item.offset + below * dtype.itemsize
    array: np.ndarray = np.ndarray(
        item.shape, dtype, block.data, start if elements else 0, tuple(s * dtype.itemsize for s in item.strides)
    )
    if elements:
        array[...] = item.data
    array.flags.writeable = item.writeable
    return array


# --- cases ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """
    graph_text  text of a graph (suture.Graph.to_text)
    inputs      one per placeholder, then one int per symbol that no placeholder carries
    backend     a name that suture.compile knows
    options     of suture.compile(options=...), by name
    calls       how often the compiled graph is called; each call gets fresh inputs
    check       compile: whether it compiles; run: whether results are NumPy's; accuracy: how far they are from the truth
    """

    graph_text: str
    inputs: tuple[Input, ...] = ()
    backend: str = "native"
    options: Mapping[str, Any] = field(default_factory=dict)
    numerics: str = "exact"
    calls: int = 1
    check: str = "run"

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise CaseError(f"check is one of {', '.join(CHECKS)}, not {self.check!r}")
        if self.calls < 1:
            raise CaseError(f"a case has at least one call, not {self.calls}")
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "options", dict(sorted(self.options.items())))

    @staticmethod
    def of(graph: _core.Graph, values: Sequence[Any], **settings: Any) -> Case:
        """A case from a graph as backends get it and the objects of a call: what carries symbols besides the placeholders
        (an int, an array whose size alone was used) becomes one int per symbol."""
        symbols = graph.symbol_values(*values)
        text = graph.to_text()
        standalone = _core.Graph.from_text(text)
        count = len(standalone.placeholders)
        extra = [row for row in standalone.symbols if row["input"] >= count]
        own = [symbols[row["name"]] for row in sorted(extra, key=lambda row: row["input"])]
        return Case(text, inputs_of([*values[:count], *own]), **settings)

    @cached_property
    def graph(self) -> _core.Graph:
        try:
            self.graph_text.encode()  # what is no Unicode would be a TypeError of the binding
            return _core.Graph.from_text(self.graph_text)
        except ValueError as error:
            raise CaseError(f"the text of the graph cannot be read: {error}") from error

    @cached_property
    def key(self) -> str:
        """Equal for cases that no backend can tell apart: names and places in the graph do not count."""
        rest = json.dumps([self._settings(), [[item.header(), item.digest] for item in self.inputs]], sort_keys=True)
        return hashlib.sha256(f"{self.graph.canonical_hash()}{rest}".encode()).hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes of all inputs."""
        return sum(item.nbytes for item in self.inputs)

    @property
    def ops(self) -> list[dict[str, Any]]:
        """Nodes that compute something, as rows of graph.nodes."""
        return [node for node in self.graph.nodes if node["kind"] != "Input"]

    @property
    def op_count(self) -> int:
        return len(self.ops)

    def objects(self) -> list[Any]:
        """Fresh inputs for one call."""
        return make_objects(self.inputs)

    def checked(self) -> Case:
        """This case, after its parts have been held against each other. CaseError when they do not fit."""
        try:
            self.graph.check_inputs(*self.objects())
        except (TypeError, ValueError, MemoryError) as error:
            raise CaseError(str(error)) from error
        return self

    def with_(self, **changes: Any) -> Case:
        return replace(self, **changes)

    # --- text and files ---

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("backend", "options", "numerics", "calls", "check")}

    def to_dict(self, data: Callable[[int, Input], Any] | None = None) -> dict[str, Any]:
        """A JSON object. `data(index, input)` gives what stands for the values of an array; by default .npy bytes in base64."""
        inputs = []
        for index, item in enumerate(self.inputs):
            row = item.header()
            if item.kind == "array":
                row["data"] = data(index, item) if data else base64.b64encode(npy_bytes(item.data)).decode()
            else:
                row["data"] = np.asarray(item.data, item.dtype).tobytes().hex()
            inputs.append(row)
        return {"schema": SCHEMA, **self._settings(), "graph": self.graph_text, "inputs": inputs}

    @staticmethod
    def from_dict(header: Mapping[str, Any], data: Callable[[Any], np.ndarray] | None = None) -> Case:
        """The inverse; `data` gives the array for what to_dict's `data` gave. CaseError for anything that is no case."""
        try:
            if header["schema"] != SCHEMA:
                raise CaseError(f"cases of schema {header['schema']!r} cannot be read; this version reads {SCHEMA}")
            inputs = tuple(_input_from(row, data or _from_base64) for row in header["inputs"])
            settings = {name: header[name] for name in ("backend", "options", "numerics", "calls", "check")}
            return Case(header["graph"], inputs, **settings)
        except (KeyError, TypeError, AttributeError) as error:
            raise CaseError(f"no case: {type(error).__name__}: {error}") from error

    def save(self, directory: str | Path) -> Path:
        """Writes case.json and one .npy file per array, named by digest; returns the path of case.json."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)

        def write(index: int, item: Input) -> str:
            name = f"{item.digest[:16]}.npy"
            _write_whole(directory / name, npy_bytes(item.data))
            return name

        path = directory / "case.json"
        _write_whole(path, json.dumps(self.to_dict(write), indent=1).encode())
        return path

    @staticmethod
    def load(path: str | Path) -> Case:
        """Reads what save wrote. Data files are looked for beside the JSON file only."""
        path = Path(path)
        if path.is_dir():
            path = path / "case.json"

        def read(name: Any) -> np.ndarray:
            if not isinstance(name, str) or Path(name).name != name:
                raise CaseError(f"data file {name!r} is not beside the case")
            array: np.ndarray = np.load(path.parent / name, allow_pickle=False)
            return array

        try:
            return Case.from_dict(json.loads(path.read_text(encoding="utf-8")), read)
        except (OSError, ValueError) as error:
            if isinstance(error, CaseError):
                raise
            raise CaseError(f"{path}: {error}") from error


def npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _from_base64(text: Any) -> np.ndarray:
    array: np.ndarray = np.load(io.BytesIO(base64.b64decode(text, validate=True)), allow_pickle=False)
    return array


def _input_from(row: Mapping[str, Any], data: Callable[[Any], np.ndarray]) -> Input:
    if row["kind"] not in KINDS:
        raise CaseError(f"an input is of kind {', '.join(KINDS)}, not {row['kind']!r}")
    dtype = np.dtype(row["dtype"])
    if dtype.hasobject:
        raise CaseError(f"inputs of dtype {dtype} are not compiled")
    shape, strides = tuple(row["shape"]), tuple(row["strides"])
    values: Any
    if row["kind"] == "array":
        values = data(row["data"])
        if values.dtype != dtype or values.shape != shape or len(strides) != len(shape):
            raise CaseError(f"data of {values.dtype}{values.shape} for an input of {dtype}{shape}")
        values.flags.writeable = False
    else:
        values = np.frombuffer(bytes.fromhex(row["data"]), dtype)[0]
        if row["kind"] != "numpy_scalar":
            values = values.item()
    item = Input(row["kind"], dtype.name, values, shape, strides, row["alias"], row["offset"], row["writeable"])
    if item.offset < 0 or not all(isinstance(n, int) for n in (*shape, *strides, item.offset, item.alias)):
        raise CaseError("sizes and offsets of inputs are integers")
    return item


def _write_whole(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, f"{error.strerror}; choose another directory", str(path)) from error


def signature_of_inputs(inputs: Sequence[Input]) -> Iterator[str]:
    """One line per input, as people read it: `float64[3, 4] strides [4, 1]`."""
    for item in inputs:
        if item.kind != "array":
            yield f"{item.kind} {item.data!r}"
            continue
        line = f"{item.dtype}{list(item.shape)}"
        dense = np.empty(item.shape, np.uint8).strides
        if tuple(item.strides) != dense:
            line += f" strides {list(item.strides)}"
        yield line if item.alias == NO_GROUP else f"{line} in memory {item.alias}"

"""Simpler forms of everything in a case but its ops: sizes, dtypes, layouts, values, options.

A stage is a list of elements, each with its simpler forms, simplest first; a form is a function that changes a Draft. The engine
chooses a form per element (src/toolbox/reduce/lattice_search.h), and build(choice) gives the case, or a ValueError when types do
not fit together any more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from suture._minify.case import NO_GROUP, Case, CaseError, Input
from suture._minify.lowered import is_lowered
from suture._minify.operations import with_graph
from suture._toolbox import Reducer

FIRST_SIZES = (1, 2, 3, 5, 8, 17, 32, 65, 128, 257, 512, 1025, 4096, 65536)
_BLOCKS = 16  # parts of an array that are simplified apart
_MOST_BLOCK_ROUNDS = 4


class Draft:
    """A case that is being changed. Sizes change by extent: axes of one size are one thing to a program."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.rows = {row["name"]: row for row in case.graph.input_types}
        self.inputs = dict(zip(self.rows, case.inputs, strict=False))
        self.extents: dict[str, int] = {}  # "1000" or "s0" -> new size
        self.sample: Callable[[np.ndarray, tuple[int, ...]], np.ndarray] = leading
        self.symbols: dict[str, int] = {}
        self.fixed: list[str] = []
        self.constants: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}

    def finish(self) -> Case:
        graph = self.case.graph
        symbols = {name: size for name, size in self.extents.items() if not name.isdigit()} | self.symbols
        if symbols:
            graph = graph.subgraph(symbols=symbols)[0]
        known = dict(zip(self.rows, self.case.inputs, strict=False))
        types, inputs = {}, {}
        for row in graph.input_types:
            name = row["name"]
            inputs[name] = item = self._resized(row, self.inputs[name])
            if item is not known[name]:
                types[name] = self._type_text(row, item)
        graph, origins = graph.subgraph(types=types, fixed=self.fixed, constants=self.constants)
        case = with_graph(self.case, graph, [inputs[name] for name, _ in origins])
        return case.with_(**self.settings).checked()

    def _resized(self, row: dict[str, Any], item: Input) -> Input:
        if item.kind != "array":
            return item
        # Sizes that symbols decide are those of the graph with its new symbols.
        names = zip(row["symbolic_shape"], row["shape"], strict=True)
        shape = tuple(self.extents.get(name, size) if name.isdigit() else size for name, size in names)
        if shape == item.shape:
            return item
        if any(new > old for new, old in zip(shape, item.shape, strict=True)):
            raise CaseError("an array cannot grow")
        data = np.ascontiguousarray(self.sample(item.data, shape))
        data.flags.writeable = False
        return _changed(item, data=data, shape=shape, strides=restrided(item.shape, item.strides, shape))

    def _type_text(self, row: dict[str, Any], item: Input) -> str:
        if item.kind != "array":
            return {"float": "py_float", "int": "py_int", "bool": "py_bool"}.get(
                item.kind, f"{_short(item.dtype)} scalar"
            )
        names = row["symbolic_shape"]
        dims = [name if not name.isdigit() else str(size) for name, size in zip(names, item.shape, strict=True)]
        text = f"{_short(item.dtype)}[{', '.join(dims)}]"
        if item.strides != dense(item.shape):
            if any(not name.isdigit() for name in names):
                known = row["type"].partition(" strides ")[2].partition("]")[0]
                if not known:
                    raise CaseError("strides of symbolic sizes")
                text += f" strides {known}]"
            else:
                text += f" strides {list(item.strides)}"
        return text if item.writeable else f"{text} readonly"


Form = Callable[[Draft], None]


class Lattice:
    """A stage: elements with their forms."""

    def __init__(self, stage: str, case: Case, elements: Sequence[Sequence[Form]]) -> None:
        self.stage, self.case, self.elements = stage, case, elements

    def reducer(self, budget: int) -> Reducer:
        return Reducer.lattice([len(forms) for forms in self.elements], budget)

    def size(self, choice: Sequence[int]) -> int:
        """Elements that are as they were."""
        return sum(level == 0 for level in choice)

    def build(self, choice: Sequence[int]) -> Case:
        draft = Draft(self.case)
        for forms, level in zip(self.elements, choice, strict=True):
            if level:
                forms[level - 1](draft)
        return draft.finish()


# --- helpers --------------------------------------------------------------------------------------------------------------


def _changed(item: Input, **changes: Any) -> Input:
    names = ("kind", "dtype", "data", "shape", "strides", "alias", "offset", "writeable")
    return Input(**{name: changes.get(name, getattr(item, name)) for name in names})


def _short(dtype: str) -> str:
    known = np.dtype(dtype)
    return "bool" if known.kind == "b" else f"{known.kind}{8 * known.itemsize}"


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a fresh array in C order, in elements."""
    return tuple(stride for stride in np.empty(shape, np.int8).strides) if math.prod(shape) else (0,) * len(shape)


def restrided(shape: Sequence[int], strides: Sequence[int], new_shape: Sequence[int]) -> tuple[int, ...]:
    """Strides for other sizes: the order of the axes, their directions and the gaps between them stay."""
    if 0 in new_shape:
        return (0,) * len(shape)
    if tuple(strides) == dense(shape):
        return dense(new_shape)
    new = [0] * len(shape)
    old_reach = new_reach = 1
    for axis in sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis)):
        stride = abs(strides[axis])
        if stride == 0:
            continue
        gap = stride / old_reach if stride % old_reach else stride // old_reach
        new[axis] = max(int(gap * new_reach), 1) * (1 if strides[axis] > 0 else -1)
        old_reach, new_reach = stride * shape[axis], abs(new[axis]) * new_shape[axis]
    return tuple(new)


def leading(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The first elements along every axis."""
    return data[tuple(slice(extent) for extent in shape)]


def extremes(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The most unusual values: NaN, infinities, the largest, the smallest, zeros; then what comes first."""
    flat = data.reshape(-1)
    wanted = math.prod(shape)
    picked: list[int] = []
    if data.dtype.kind == "f":
        for unusual in (np.isnan(flat), np.isposinf(flat), np.isneginf(flat)):
            picked += np.flatnonzero(unusual)[:1].tolist()
        finite = np.flatnonzero(np.isfinite(flat))
    else:
        finite = np.arange(flat.size)
    if finite.size:
        picked += [int(finite[np.argmax(flat[finite])]), int(finite[np.argmin(flat[finite])])]
        picked += [int(finite[np.argmin(np.abs(flat[finite].astype(float)))])]
    order = list(dict.fromkeys(picked)) + [i for i in range(min(flat.size, wanted + len(picked))) if i not in picked]
    return flat[np.array(order[:wanted], int)].reshape(shape)


# --- sizes ----------------------------------------------------------------------------------------------------------------


def extents(case: Case) -> dict[str, int]:
    """Sizes that could be smaller: static extents by their digits, symbols by name."""
    found: dict[str, int] = {}
    for row in case.graph.input_types:
        if row["kind"] == "array":
            for name, size in zip(row["symbolic_shape"], row["shape"], strict=True):
                if size > 1 and (name.isdigit() or name in {s["name"] for s in case.graph.symbols}):
                    found[name] = size
    for symbol in case.graph.symbols:
        if symbol["is_size"]:
            found[symbol["name"]] = symbol["hint"]
    return found


def _resize(name: str, size: int, sample: Any, draft: Draft) -> None:
    draft.extents[name] = size
    draft.sample = sample


def _has_unusual(case: Case) -> bool:
    return any(item.kind == "array" and item.data.size > 1 for item in case.inputs)


def sizes(case: Case) -> Lattice:
    """Every size to 1, 2, 3, ..., with the first elements, or with the most unusual ones."""
    samples = (leading, extremes) if _has_unusual(case) else (leading,)
    elements: list[list[Form]] = []
    for name, extent in extents(case).items():
        smaller = [size for size in FIRST_SIZES if size < extent and (name.isdigit() or size > 1)]
        elements.append([partial(_resize, name, size, sample) for size in smaller for sample in samples])
    return Lattice("sizes", case, elements)


def sizes_between(case: Case, floors: dict[str, int]) -> Lattice:
    """Every size half way to the largest that is known to be too small; `floors` has those by name. A size without one stays."""
    elements: list[list[Form]] = []
    for name, extent in extents(case).items():
        floor = floors.get(name, extent)
        middle = (floor + extent) // 2
        elements.append([partial(_resize, name, middle, leading)] if floor < middle < extent else [])
    return Lattice("sizes", case, elements)


def raised_floors(case: Case, floors: dict[str, int], taken: Sequence[int]) -> dict[str, int]:
    """After sizes_between(case, floors): what was refused is too small. Static sizes are named by their digits, so that one that
    became smaller has another name."""
    raised: dict[str, int] = {}
    for (name, extent), level in zip(extents(case).items(), taken, strict=True):
        if (floor := floors.get(name)) is None:
            continue
        middle = (floor + extent) // 2
        renamed = str(middle) if level and name.isdigit() else name
        raised[renamed] = max(raised.get(renamed, 0), floor if level else middle)
    return raised


def too_small(case: Case) -> dict[str, int]:
    """Per size, the largest of FIRST_SIZES below it: what sizes() has tried and refused."""
    return {name: max((s for s in FIRST_SIZES if s < size), default=0) for name, size in extents(case).items()}


# --- dtypes ---------------------------------------------------------------------------------------------------------------


def _convert(name: str, dtype: str, draft: Draft) -> None:
    item = draft.inputs[name]
    with np.errstate(all="ignore"):
        data = np.asarray(item.data).astype(dtype)
    data.flags.writeable = False
    draft.inputs[name] = _changed(item, dtype=dtype, data=data if item.kind == "array" else data[()])


def _as_python_number(name: str, kind: str, draft: Draft) -> None:
    item = draft.inputs[name]
    value = {"float": float, "int": int, "bool": bool}[kind](item.data)
    dtype = {"float": "float64", "int": "int64", "bool": "bool"}[kind]
    draft.inputs[name] = Input(kind, dtype, value)


def dtypes(case: Case) -> Lattice:
    """float64, else int64; scalars of NumPy as Python numbers."""
    elements: list[list[Form]] = []
    for row, item in zip(case.graph.input_types, case.inputs, strict=False):
        kind = np.dtype(item.dtype).kind
        forms: list[Form] = []
        if item.kind == "numpy_scalar":
            forms.append(partial(_as_python_number, row["name"], {"f": "float", "b": "bool"}.get(kind, "int")))
        if item.kind in ("array", "numpy_scalar") and kind in "fiu":
            wanted = ["float64"] if kind == "f" else ["float64", "int64"]
            for dtype in wanted[: wanted.index(item.dtype)] if item.dtype in wanted else wanted:
                forms.append(partial(_convert, row["name"], dtype))
        elements.append(forms)
    return Lattice("dtypes", case, elements)


# --- layouts --------------------------------------------------------------------------------------------------------------


def _contiguous(name: str, draft: Draft) -> None:
    item = draft.inputs[name]
    draft.inputs[name] = _changed(item, strides=dense(item.shape))


def _alone(name: str, draft: Draft) -> None:
    draft.inputs[name] = _changed(draft.inputs[name], alias=NO_GROUP, offset=0)


def _aligned(name: str, draft: Draft) -> None:
    draft.inputs[name] = _changed(draft.inputs[name], offset=0)


def _writeable(name: str, draft: Draft) -> None:
    draft.inputs[name] = _changed(draft.inputs[name], writeable=True)


def _fixed(name: str, draft: Draft) -> None:
    draft.fixed.append(name)


def layouts(case: Case) -> Lattice:
    """Contiguous, aligned, writeable arrays in memory of their own; constants instead of symbols."""
    elements: list[list[Form]] = []
    for row, item in zip(case.graph.input_types, case.inputs, strict=False):
        if item.kind != "array":
            continue
        name = row["name"]
        if item.alias != NO_GROUP:
            elements.append([partial(_alone, name)])
        elif item.offset:
            elements.append([partial(_aligned, name)])
        if item.strides != dense(item.shape):
            elements.append([partial(_contiguous, name)])
        if not item.writeable:
            elements.append([partial(_writeable, name)])
    elements += [[partial(_fixed, symbol["name"])] for symbol in case.graph.symbols]
    return Lattice("layouts", case, elements)


# --- values ---------------------------------------------------------------------------------------------------------------


def _forms_of(data: np.ndarray) -> Iterator[np.ndarray]:
    """Simpler values of the same dtype, simplest first."""
    yield np.ones_like(data)
    yield np.zeros_like(data)
    if data.dtype.kind == "b":
        return
    if data.size > 1:
        with np.errstate(all="ignore"):
            yield (np.arange(data.size) % 100).reshape(data.shape).astype(data.dtype)
    if data.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        yield np.rint(data)
        scale = 10.0 ** (1 - np.floor(np.log10(np.abs(data.astype(np.float64)))))
        yield np.where(np.isfinite(scale), np.rint(data * scale) / scale, data).astype(data.dtype)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _set_values(name: str, data: np.ndarray, draft: Draft) -> None:
    item = draft.inputs[name]
    value: Any = data
    if item.kind != "array":
        value = data[()] if item.kind == "numpy_scalar" else data.item()
    draft.inputs[name] = item.replaced(value)


def _set_constant(name: str, value: Any, draft: Draft) -> None:
    draft.constants[name] = value


def _simpler(data: np.ndarray) -> list[np.ndarray]:
    """Forms that are simpler than `data` itself."""
    forms: list[np.ndarray] = []
    for form in _forms_of(data):
        if _same(form, data):
            break
        if not any(_same(form, known) for known in forms):
            forms.append(form)
    return forms


def _numbers(case: Case) -> Iterator[tuple[str, bool | int | float]]:
    """Python numbers in the graph, by node."""
    readers: dict[str, Callable[[str], bool | int | float]] = {
        "py_float": float,
        "py_int": int,
        "py_bool": lambda text: text == "true",
    }
    for node in json.loads(case.graph.to_json())["nodes"]:
        if node["op"] == "constant" and node["type"]["class"] in readers:
            yield node["name"], readers[node["type"]["class"]](node["attrs"]["value"])


def values(case: Case) -> Lattice:
    """Ones, zeros, counting, whole numbers, two digits; the same for numbers in the graph."""
    elements: list[list[Form]] = []
    for row, item in zip(case.graph.input_types, case.inputs, strict=False):
        data = np.asarray(item.data, item.dtype)
        elements.append([partial(_set_values, row["name"], form) for form in _simpler(data)])
    for name, number in _numbers(case):
        forms: list[Form] = []
        for simple in (type(number)(1), type(number)(2), type(number)(round(number) if math.isfinite(number) else 0)):
            if simple == number:
                break
            forms.append(partial(_set_constant, name, simple))
        elements.append(forms)
    return Lattice("values", case, elements)


def _fill(name: str, begin: int, end: int, draft: Draft) -> None:
    item = draft.inputs[name]
    data = np.array(item.data)
    data.reshape(-1)[begin:end] = 1
    draft.inputs[name] = item.replaced(data)


def blocks(case: Case, parts: int) -> Lattice:
    """Every array in `parts` parts, each of which may be filled with ones."""
    elements: list[list[Form]] = []
    for row, item in zip(case.graph.input_types, case.inputs, strict=False):
        if item.kind != "array" or item.data.size < 2:
            continue
        flat = item.data.reshape(-1)
        step = max(-(-flat.size // parts), 1)
        for begin in range(0, flat.size, step):
            if not _same(flat[begin : begin + step], np.ones_like(flat[begin : begin + step])):
                elements.append([partial(_fill, row["name"], begin, begin + step)])
    return Lattice("values", case, elements)


def block_rounds(case: Case) -> list[int]:
    """Into how many parts arrays are cut, round by round."""
    largest = max((item.data.size for item in case.inputs if item.kind == "array"), default=0)
    rounds = [_BLOCKS**power for power in range(1, _MOST_BLOCK_ROUNDS)]
    return [parts for parts in rounds if parts < _BLOCKS * largest] if largest > 1 else []


# --- options --------------------------------------------------------------------------------------------------------------


def _without_option(name: str, draft: Draft) -> None:
    options = draft.settings.setdefault("options", dict(draft.case.options))
    options.pop(name, None)


def _set(name: str, value: Any, draft: Draft) -> None:
    draft.settings[name] = value


def options(case: Case, calls: bool = True) -> Lattice:
    """Options at their defaults, exact numerics, few `calls`."""
    kept = {"pass_limit"} if is_lowered(case) else set()  # passes have run
    elements: list[list[Form]] = [[partial(_without_option, name)] for name in case.options if name not in kept]
    if case.numerics != "exact":
        elements.append([partial(_set, "numerics", "exact")])
    if calls and case.calls > 1:
        elements.append([partial(_set, "calls", count) for count in (1, 2, 3) if count < case.calls])
    return Lattice("options", case, elements)

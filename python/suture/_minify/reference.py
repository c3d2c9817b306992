"""A graph run under NumPy op by op: every value, in the program's precision or in a wider one.

Overview
    Each op becomes a part of the graph that runs alone (Graph.subgraph), and runs on the values of the ops before it: views
    are views of the very arrays, stores write into them, so that memory behaves as in the program. `after(op, value)` may
    change a value in place before others read it; that is how errors are injected and how compiled values are taken over.
    In wider precision float32 is float64 and float64 is longdouble, inside the ops' own source, too: there the names of the
    dtypes stand for the wider ones. Python numbers that meet float32 are rounded to it first, as they are in the program.
    Where longdouble is no wider than float64 (`WIDER` says so), float64 is checked against itself.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suture import _core

WIDER = bool(np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant)
_WIDE: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.float64): np.dtype(np.longdouble),
    np.dtype(np.complex64): np.dtype(np.complex128),
    np.dtype(np.complex128): np.dtype(np.clongdouble),
}


def wide_dtype(dtype: Any) -> np.dtype[Any]:
    """The next wider dtype of floats and complex numbers; others are what they are."""
    return _WIDE.get(np.dtype(dtype), np.dtype(dtype))


def widened(value: Any) -> Any:
    """Arrays and NumPy scalars of floats in the wider dtype, with their memory order; the rest as it is."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype in _WIDE:
        return value.astype(_WIDE[value.dtype])
    return value


# NumPy's vector loops choose between zeros of two signs by the position of the element.
ANY_ZERO = frozenset({"minimum", "maximum", "fmin", "fmax", "min", "max", "clip"})


class _WideNumPy:
    """NumPy whose float dtypes are the wider ones."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        if isinstance(value, type) and issubclass(value, np.inexact):
            return wide_dtype(value).type
        return value


_WIDE_NUMPY = _WideNumPy()


@functools.cache
def op_rows() -> Mapping[str, Mapping[str, Any]]:
    """ops.def by name."""
    return {row["name"]: row for row in _core.op_table()}


@dataclass(frozen=True)
class Op:
    """A node of the graph that is computed."""

    name: str
    op: str
    kind: str
    target: str
    operands: tuple[str, ...]
    dtype: np.dtype[Any]
    file: str
    line: int

    @property
    def bound(self) -> float:
        """ULP that a result may be away from the correctly rounded one; 0: there is one right result."""
        if self.dtype.kind not in "fc" or self.kind == "View":
            return 0.0
        part = self.dtype.itemsize // (2 if self.dtype.kind == "c" else 1)
        row = op_rows()[self.op]
        return float(row["ulp64"] if part == 8 else max(row["ulp32"], row["ulp64"]))


def fixed(graph: _core.Graph, inputs: Sequence[Any]) -> _core.Graph:
    """The graph with the sizes of these inputs in place of symbols."""
    symbols = graph.symbol_values(*inputs)
    return graph.subgraph(symbols=symbols, fixed=list(symbols))[0] if symbols else graph


def values_of(graph: _core.Graph, names: Sequence[str], inputs: Sequence[Any]) -> list[Any]:
    """Values of ops of a graph of fixed sizes, in the program's precision, from one function that computes no more than they need.
    Views look into the arrays that the others are; a graph with stores changes those after it has computed them."""
    rows = [node for node in graph.nodes if node["kind"] != "Input"]
    needed = set(names)
    for row in reversed(rows):
        if row["name"] in needed:
            needed.update(row["operands"])
    part, taken = graph.subgraph([row["name"] for row in rows if row["name"] in needed], list(names))
    given = dict(zip(graph.placeholders, inputs, strict=False))
    scope: dict[str, Any] = {}
    exec(compile(part.code, "<reference>", "exec"), scope)
    with np.errstate(all="ignore"):
        results = scope["forward"](*(given[name] for name, _ in taken))
    return list(results[: len(names)])


class Program:
    """The ops of a graph, ready to run on inputs of one size: sizes are fixed to those of the inputs."""

    def __init__(self, graph: _core.Graph, inputs: Sequence[Any]) -> None:
        self.graph = fixed(graph, inputs)
        self.output_names = tuple(graph.outputs)  # a part of a graph also returns what nobody reads
        self.placeholders = tuple(self.graph.placeholders)
        self.ops = [_op(node) for node in self.graph.nodes if node["kind"] != "Input"]
        weak = {node["name"] for node in self.graph.nodes if node["type"].startswith("py_")}
        dtypes = {node["name"]: np.dtype(node["dtype"]) for node in self.graph.nodes if node["name"] not in weak}
        self._narrow = frozenset(op.name for op in self.ops if _computes_in_float32(op, dtypes))

    @functools.cached_property
    def _parts(self) -> dict[str, tuple[_core.Graph, tuple[str, ...]]]:
        parts = {}
        for op in self.ops:
            part, taken = self.graph.subgraph([op.name], [op.name])
            parts[op.name] = part, tuple(node for node, _ in taken)
        return parts

    @functools.cached_property
    def _wide(self) -> dict[str, Callable[..., Any]]:
        return {name: _wide_callable(part, name in self._narrow) for name, (part, _) in self._parts.items()}

    def operands(self, op: Op) -> tuple[str, ...]:
        """Nodes whose values the op is given when it runs alone."""
        return self._parts[op.name][1]

    def run_op(self, op: Op, values: Sequence[Any], wide: bool = False) -> Any:
        """The op alone, on the values of operands(op). Warnings of NumPy are dropped."""
        call = self._wide[op.name] if wide else self._parts[op.name][0].forward()
        if wide and op.name in self._narrow:
            values = [_as_float32(value) for value in values]
        with np.errstate(all="ignore"):
            return call(*values)[0]

    def run(
        self,
        inputs: Sequence[Any],
        *,
        wide: bool = False,
        after: Callable[[Op, Any, Mapping[str, Any]], Any] | None = None,
        keep_all: bool = True,
    ) -> dict[str, Any]:
        """Values by the name of their node. `inputs` are written into if the program does so. keep_all: of every op; else of
        inputs and outputs, and others only as long as they are read."""
        with np.errstate(all="ignore"):
            given = [widened(value) if wide else value for value in inputs]
        values: dict[str, Any] = dict(zip(self.placeholders, given, strict=False))
        values.update((name, widened(value) if wide else value) for name, value in self._returned_constants.items())
        for op in self.ops:
            value = self.run_op(op, [values[name] for name in self.operands(op)], wide)
            if after is not None:
                value = after(op, value, values)
            values[op.name] = value
            if not keep_all:
                for name in self._last_read[op.name]:
                    del values[name]
        return values

    @functools.cached_property
    def _returned_constants(self) -> dict[str, Any]:
        """Outputs that no op computes: numbers, and sizes, which are numbers here."""
        known = {*self.placeholders, *(op.name for op in self.ops)}
        names = set(self.output_names) - known
        if not names:
            return {}
        forward = ast.parse(self.graph.code).body[-1]
        assert isinstance(forward, ast.FunctionDef) and isinstance(forward.body[-1], ast.Return)
        returned = forward.body[-1].value
        assert isinstance(returned, ast.Tuple)
        texts = {name: ast.unparse(text) for name, text in zip(self.graph.outputs, returned.elts, strict=True)}
        return {name: eval(texts[name], {"np": np}) for name in names}

    @functools.cached_property
    def _last_read(self) -> dict[str, list[str]]:
        """Per op: values that nobody reads any more when it has run. Views keep the memory they look into themselves."""
        last = {name: op.name for op in self.ops for name in (op.name, *self.operands(op))}
        kept = {*self.placeholders, *self.output_names}
        unread: dict[str, list[str]] = {op.name: [] for op in self.ops}
        for name, op in last.items():
            if name not in kept:
                unread[op].append(name)
        return unread

    def bytes_of_values(self) -> int:
        """Of the values of all ops but views, at the sizes of the inputs."""
        shapes = {node["name"]: node["shape"] for node in self.graph.nodes}
        sizes = (
            math.prod(int(size) for size in shapes[op.name]) * op.dtype.itemsize for op in self.ops if op.kind != "View"
        )
        return sum(sizes)

    def outputs(self, values: Mapping[str, Any]) -> list[Any]:
        return [values[name] for name in self.output_names]

    @functools.cached_property
    def tainted(self) -> frozenset[str]:
        """Nodes whose value depends on an op that has no one right result."""
        return self._reached_from(lambda op: op.bound > 0)

    @functools.cached_property
    def any_zero(self) -> frozenset[str]:
        """Nodes whose value depends on an op for which a zero may have either sign."""
        return self._reached_from(lambda op: op.op in ANY_ZERO)

    def _reached_from(self, begins: Callable[[Op], bool]) -> frozenset[str]:
        """These ops and all that depends on them. A store hands on to the memory it writes into, with all views of it."""
        root: dict[str, str] = {}
        reached: set[str] = set()
        for op in self.ops:
            root[op.name] = root.get(op.operands[0], op.operands[0]) if op.kind == "View" else op.name
            sources = {root.get(name, name) for name in op.operands} | set(op.operands)
            if begins(op) or sources & reached:
                reached.add(op.name)
                if op.kind == "Effect":
                    reached.add(root.get(op.operands[0], op.operands[0]))
        return frozenset(reached | {name for name, base in root.items() if base in reached})


def program_of(graph: _core.Graph, inputs: Sequence[Any]) -> Program:
    """Program(graph, inputs). The last few are kept, for graphs that are called again and again."""
    key = graph.to_text(), tuple(graph.symbol_values(*inputs).items())
    program = _kept.pop(key, None) or Program(graph, inputs)
    _kept[key] = program
    while len(_kept) > _MOST_KEPT:
        del _kept[next(iter(_kept))]
    return program


_kept: dict[Any, Program] = {}  # the one used last is last
_MOST_KEPT = 16


def _op(node: Mapping[str, Any]) -> Op:
    return Op(
        node["name"],
        node["op"],
        node["kind"],
        node["target"],
        tuple(node["operands"]),
        np.dtype(node["dtype"]),
        node["file"],
        node["line"],
    )


def _computes_in_float32(op: Op, dtypes: Mapping[str, np.dtype[Any]]) -> bool:
    given = {dtypes[name] for name in op.operands if name in dtypes} | ({op.dtype} if op.kind == "Create" else set())
    return np.dtype(np.float32) in given and np.dtype(np.float64) not in given


def _as_float32(value: Any) -> Any:
    return float(np.float32(value)) if type(value) is float else value


class _Float32Literals(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(_as_float32(node.value)), node)


def _wide_callable(part: _core.Graph, narrow: bool) -> Callable[..., Any]:
    scope: dict[str, Any] = {"np": _WIDE_NUMPY}
    tree = ast.parse(part.code.replace("import numpy as np\n", "", 1))
    exec(compile(_Float32Literals().visit(tree) if narrow else tree, "<reference>", "exec"), scope)
    call: Callable[..., Any] = scope["forward"]
    return call

"""Seeded faults: failing graphs of which everything is known, for the minifier, the bisector and their benches.

Each has a graph of 5 to 1,000 ops with one defect of a faulty backend (docs/reference/faults.md) or of the native compiler with a
fault in it (docs/reference/inject_fault.md), the failure that it shows, and how small a graph with that failure is.
tests/python/test_seeded_faults.py runs every one of them: a seed that does not fail as it says is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Unary operations with values that stay in [-2, 2], whatever they are applied to: op, C-like operands, target.
_UNARY = (
    ("sin", "np.sin"),
    ("tanh", "np.tanh"),
    ("cos", "np.cos"),
    ("neg", "-"),
    ("abs", "abs"),
    ("arctan", "np.arctan"),
)


# These lose nothing of a difference between two values.
_KEEPING = (("neg", "-"), ("pos", "np.positive"), ("abs", "abs"))


class Node(NamedTuple):
    op: str
    operands: tuple[str, ...]
    target: str
    attrs: str = ""
    type: str = ""  # "": that of the graph's arrays


class Seed(NamedTuple):
    """One defect.

    text     of the graph
    inputs   made anew for every run
    backend  name, with settings
    options  of the native compiler
    kind     of the failure, a word of suture._minify.signature.KINDS
    nodes    ops (inputs and constants not counted) of the smallest graph with this failure
    calls    how often the graph must be called
    """

    name: str
    text: str
    inputs: Callable[[], list[Any]]
    backend: str
    options: dict[str, Any]
    kind: str
    nodes: int
    calls: int = 1

    @property
    def ops(self) -> int:
        return self.text.count(" = ") - self.text.count(" = placeholder(") - self.text.count(" = constant(")


# --- graphs ---------------------------------------------------------------------------------------------------------------


class _Writer:
    """Graph text, node by node."""

    def __init__(self, array: str = "f64[8, 8]", symbols: str = "") -> None:
        self.array, self._lines, self._inputs, self._names = array, [], [], 0
        self._head = symbols

    def input(self, type_: str = "") -> str:
        name = f"x{len(self._inputs)}"
        self._inputs.append(name)
        self._lines.append(f'{name} = placeholder() : {type_ or self.array} ; "{name}"')
        return name

    def add(self, node: Node) -> str:
        self._names += 1
        name = f"v{self._names}"
        attrs = f" {{{node.attrs}}}" if node.attrs else ""
        operands = ", ".join(node.operands)
        self._lines.append(f'{name} = {node.op}({operands}){attrs} : {node.type or self.array} ; "{node.target}"')
        return name

    def unary(self, value: str, step: int, keeping: bool = False) -> str:
        op, target = _KEEPING[step % len(_KEEPING)] if keeping else _UNARY[step % len(_UNARY)]
        return self.add(Node(op, (value,), target))

    def binary(self, op: str, target: str, a: str, b: str) -> str:
        return self.add(Node(op, (a, b), target))

    def text(self, outputs: list[str]) -> str:
        lines = [*self._lines, f"inputs {', '.join(self._inputs)}", f"return {', '.join(outputs)}"]
        return 'graph "seeded" captured\n' + self._head + "".join(f"  {line}\n" for line in lines)


def chain(n: int, special: dict[int, tuple[str, str]], array: str = "f64[8, 8]", symbols: str = "") -> str:
    """n ops in a row; `special` puts a binary op (with the second input) at a position. What goes wrong there is seen at the end."""
    w = _Writer(array, symbols)
    value, other = w.input(), w.input()
    for step in range(n):
        keeping = step > max(special)
        value = w.binary(*special[step], value, other) if step in special else w.unary(value, step, keeping)
    return w.text([value])


def dag(n: int, special: dict[int, tuple[str, str]], seed: int = 0) -> str:
    """n ops, each of two earlier values at random where it takes two; every value nobody reads is an output."""
    rng = np.random.default_rng(seed)
    w = _Writer()
    values = [w.input(), w.input()]
    unread = []
    for step in range(n):
        a, b = (values[int(rng.integers(max(0, len(values) - 12), len(values)))] for _ in range(2))
        if step in special:
            made, used = w.binary(*special[step], a, b), {a, b}
        elif step % 3 == 2:
            made, used = w.binary("minimum", "np.minimum", a, b), {a, b}
        else:
            made, used = w.unary(a, step), {a}
        unread = [value for value in unread if value not in used] + [made]
        values.append(made)
    return w.text(unread)


def branches(n: int, ends: tuple[tuple[str, str], tuple[str, str]]) -> str:
    """Two chains of n/2 ops that never meet, with one special op in the middle of each."""
    w = _Writer()
    outputs = []
    for number, special in enumerate(ends):
        value, other = w.input(), w.input()
        for step in range(n // 2):
            value = w.binary(*special, value, other) if step == n // 4 else w.unary(value, step + number)
        outputs.append(value)
    return w.text(outputs)


def reductions() -> str:
    """Five sums along axes 0 and 1, one of them over both."""
    w = _Writer()
    x = w.input()
    y = w.unary(x, 0)
    rows = w.add(Node("sum", (y,), "np.sum", "axes=[0]", "f64[8]"))
    columns = w.add(Node("sum", (y,), "np.sum", "axes=[1]", "f64[8]"))
    total = w.add(Node("sum", (y,), "np.sum", "axes=[0, 1], all_axes=true", "f64 scalar"))
    both = w.add(Node("mul", (rows, columns), "*", "", "f64[8]"))
    return w.text([w.add(Node("sub", (both, total), "-", "", "f64[8]"))])


def views() -> str:
    """A chain beside a view of an input."""
    w = _Writer()
    x = w.input()
    y = w.unary(x, 0)
    for step in range(1, 9):
        y = w.unary(y, step)
    part = w.add(Node("slice", (x,), "[]", "index=[slice(2, 4, 1), slice(0, 8, 1)]", "f64[4, 8] strides [8, 1]"))
    return w.text([y, part])


# --- inputs ---------------------------------------------------------------------------------------------------------------


def _arrays(
    count: int, shape: tuple[int, ...] = (8, 8), dtype: str = "float64", scale: float = 1.0
) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        rng = np.random.default_rng(7)
        return [(scale * rng.uniform(-1.5, 1.5, shape)).astype(dtype) for _ in range(count)]

    return make


def _with(position: tuple[int, ...], value: float) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        first, second = _arrays(2)()
        second[position] = value
        return [first, second]

    return make


# --- the list -------------------------------------------------------------------------------------------------------------

_MAX, _SUB, _MUL = ("maximum", "np.maximum"), ("sub", "-"), ("mul", "*")


def _faulty() -> list[Seed]:
    """One op of a chain, by kinds and sizes."""
    two = _arrays(2)

    def seed(name: str, fault: str, kind: str, n: int, calls: int = 1) -> Seed:
        return Seed(name, chain(n, {n // 2: _MAX}), two, f"faulty:op=maximum,{fault}", {}, kind, 1, calls)

    return [
        seed("compile error, 5", "kind=compile_error", "compile_error", 5),
        seed("compile error, 1000", "kind=compile_error", "compile_error", 1000),
        seed("no callable, 40", "kind=not_callable", "compile_error", 40),
        seed("another exception, 60", "kind=compile_error,raises=KeyError", "compile_error", 60),
        seed("run error, 100", "kind=run_error", "run_error", 100),
        seed("second call, 50", "kind=second_call_error", "run_error", 50, 2),
        seed("warning, 30", "kind=warning", "warning", 30),
        seed("wrong value, 5", "kind=wrong_value", "wrong_value", 5),
        seed("wrong value, 200", "kind=wrong_value", "wrong_value", 200),
        seed("wrong value, 1000", "kind=wrong_value,error=0.5", "wrong_value", 1000),
        seed("wrong value of the third call, 20", "kind=wrong_value,when=call==3", "nondeterministic", 20, 3),
        seed("segfault, 200", "kind=segfault", "segfault", 200),
        seed("segfault while compiling, 30", "kind=segfault,at=compile", "segfault", 30),
        seed("abort, 100", "kind=abort", "abort", 100),
        seed("killed, 40", "kind=killed", "killed", 40),
        seed("out of memory, 80", "kind=oom", "oom", 80),
        seed("hang, 20", "kind=hang", "hang", 20),
        seed("wrong dtype, 50", "kind=wrong_dtype", "wrong_dtype", 50),
        seed("wrong shape, 50", "kind=wrong_shape", "wrong_shape", 50),
        seed("wrong strides, 50", "kind=wrong_stride", "wrong_strides", 50),
        seed("no tuple, 20", "kind=wrong_type", "run_error", 20),
        seed("results in one memory, 40", "kind=reused_output", "wrong_alias", 40, 2),
        seed("an input is written into, 30", "kind=mutated_input", "wrong_value", 30),
        seed("an output is missing, 20", "kind=wrong_count", "run_error", 20),
    ]


def _pairs() -> list[Seed]:
    """Two ops that fail together."""
    return [
        Seed(
            f"pair at a distance, chain of {n}",
            chain(n, {n // 10: _MAX, n - n // 10: _SUB}),
            _arrays(2),
            "faulty:op=maximum,with=sub,kind=run_error",
            {},
            "run_error",
            2,
        )
        for n in (50, 200, 1000)
    ] + [
        Seed(
            "pair with a path, chain of 200",
            chain(200, {20: _MAX, 180: _SUB}),
            _arrays(2),
            "faulty:op=maximum,with=sub,path=yes,kind=run_error",
            {},
            "run_error",
            2,
        ),
        Seed(
            "pair without a path, branches of 200",
            branches(200, (_MAX, _SUB)),
            _arrays(4),
            "faulty:op=maximum,with=sub,path=no,kind=run_error",
            {},
            "run_error",
            2,
        ),
        Seed(
            "pair in a DAG of 300",
            dag(300, {40: _MAX, 260: _SUB}),
            _arrays(2),
            "faulty:op=maximum,with=sub,kind=compile_error",
            {},
            "compile_error",
            2,
        ),
    ]


def _conditional() -> list[Seed]:
    """Faults that depend on sizes, dtypes, values, attributes, or on the graph as a whole."""

    def seed(
        name: str, when: str, text: str, inputs: Callable[[], list[Any]], nodes: int = 1, op: str = "maximum"
    ) -> Seed:
        return Seed(name, text, inputs, f"faulty:op={op},kind=run_error,when={when}", {}, "run_error", nodes)

    middle = {10: _MAX}
    symbols = '  symbol s0 "x0.shape[0]" hint 12 range 2..max size\n'
    return [
        seed("large arrays only", "dim>=64", chain(20, middle, "f64[8, 64]"), _arrays(2, (8, 64))),
        seed("float32 only", "dtype==float32", chain(20, middle, "f32[8, 8]"), _arrays(2, dtype="float32")),
        seed("rank 3 only", "rank==3", chain(20, middle, "f64[2, 3, 4]"), _arrays(2, (2, 3, 4))),
        seed("one value above 1000", "operand>1000", chain(20, middle), _with((3, 4), 5000.0)),
        seed("one NaN", "operand==nan", chain(20, middle), _with((0, 7), np.nan)),
        seed("graphs of 5 ops and more", "nodes>=5", chain(60, {30: _MAX}), _arrays(2), 5),
        seed("the third such op", "nth==3", chain(40, {5: _MAX, 20: _MAX, 30: _MAX}), _arrays(2), 3),
        seed("sums along axis 1", "attr.axes==[1]", reductions(), _arrays(1), 1, "sum"),
        seed("several outputs", "outputs>=2", branches(40, (_MAX, _SUB)), _arrays(4), 2),
        seed("a size is a symbol", "symbols>=1", chain(20, middle, "f64[s0, 8]", symbols), _arrays(2, (12, 8))),
        Seed("a view is copied", views(), _arrays(1), "faulty:op=slice,kind=copied_view", {}, "wrong_alias", 1),
    ]


def _native() -> list[Seed]:
    """Stages of the native compiler."""

    def seed(fault: str, kind: str, n: int, nodes: int = 1, calls: int = 1, special: tuple[str, str] = _MAX) -> Seed:
        text = chain(n, {n // 2: special})
        return Seed(f"native, {fault}, {n}", text, _arrays(2), "native", {"inject_fault": fault}, kind, nodes, calls)

    return [
        seed("kind=drop_node,op=maximum", "wrong_value", 100),
        seed("kind=swap_operands,op=sub", "wrong_value", 100, special=_SUB),
        seed("kind=unlawful_graph,op=maximum", "compile_error", 40),
        seed("kind=pass_error,op=maximum", "compile_error", 60),
        seed("kind=stale_value,op=maximum", "wrong_value", 50, nodes=2),
        seed("kind=schedule_error,op=maximum", "compile_error", 30),
        seed("kind=wrong_operator,op=maximum", "wrong_value", 200),
        seed("kind=bad_code,op=maximum", "compile_error", 50),
        seed("kind=codegen_error,op=maximum,when=nodes>=4", "compile_error", 50, nodes=4),
        seed("kind=toolchain_error,op=maximum", "compile_error", 30),
        seed("kind=toolchain_segfault,op=maximum", "segfault", 20),
        seed("kind=wrong_value,op=maximum,error=0.5", "wrong_value", 200),
        seed("kind=wrong_value,op=maximum,error=0.5,when=call==2", "nondeterministic", 30, calls=2),
        seed("kind=wrong_value,op=mul,with=sin,error=0.5", "wrong_value", 60, nodes=2, special=_MUL),
        seed("kind=segfault,op=maximum", "segfault", 200),
        seed("kind=trap,op=maximum", "killed", 40),
        seed("kind=hang,op=maximum", "hang", 20),
        seed("kind=wrong_strides", "wrong_strides", 20),
        seed("kind=wrong_dtype", "wrong_dtype", 20),
        seed("kind=swapped_arguments,op=sub", "wrong_value", 20, special=_SUB),
    ]


def seeds() -> list[Seed]:
    """All of them, names unique."""
    return [*_faulty(), *_pairs(), *_conditional(), *_native()]

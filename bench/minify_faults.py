"""Seeded faults: graphs in which one known thing is wrong, how small each must get, and how many oracle calls that may take.

Read by `./dev bench minify`, which prints the table, and by tests/python/test_minify_faults.py, which asserts it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import suture
from suture import _core
from suture._minify import certify, launcher, modes, repro_file
from suture._minify.api import cases_of_call
from suture._minify.case import Case, inputs_of
from suture._minify.minimise import Result
from suture._minify.repro_file import ReproFile

_ANY = "op=add,kind=run_error"  # replaced by a fault of the native pipeline
UNARY = ("sin", "cos", "tanh", "abs")
BINARY = ("add", "sub", "mul", "maximum", "minimum")


@dataclass(frozen=True)
class Seeded:
    """
    name    what is seeded
    case    makes the failing case
    kind    of the signature
    ops     what must be left, in order; a number: so many ops, whichever
    calls   oracle calls that may be needed, all stages together: a tenth more than were when this was written
    sizes   the largest extent that may be left
    """

    name: str
    case: Callable[[], Case]
    kind: str
    ops: Sequence[str] | int
    calls: int
    sizes: int = 1
    time_limit: float = 20.0


# --- graphs ---------------------------------------------------------------------------------------------------------------


def _node(name: str, op: str, operands: Sequence[str], shape: str) -> str:
    return f'  {name} = {op}({", ".join(operands)}) : {shape} ; "np.{op}"'


def _case(lines: Sequence[str], inputs: Sequence[Any], fault: str, **settings: Any) -> Case:
    graph = _core.Graph.from_text("\n".join(lines) + "\n")
    return Case(graph.to_text(), inputs_of(inputs), backend=f"faulty:{fault}", **settings)


def chain(
    length: int,
    marked: dict[int, str],
    fault: str,
    shape: tuple[int, ...] = (6, 4),
    data: np.ndarray | None = None,
    **settings: Any,
) -> Case:
    """Unary ops in a row; binary ones among the `marked` read the input as well."""
    x = np.linspace(-1, 2, int(np.prod(shape))).reshape(shape) if data is None else data
    short = {"float64": "f64", "float32": "f32"}[x.dtype.name]
    size = f"{short}[{', '.join(map(str, x.shape))}]"
    lines, last = ['graph "chain" captured', f'  x = placeholder() : {size} ; "x"'], "x"
    for i in range(length):
        op = marked.get(i, UNARY[i % len(UNARY)])
        lines.append(_node(f"{op}_{i}", op, [last, "x"] if op in BINARY else [last], size))
        last = f"{op}_{i}"
    return _case([*lines, "  inputs x", f"  return {last}"], [x], fault, **settings)


def dag(length: int, marked: dict[int, str], fault: str, seed: int = 0, reach: int = 12, **settings: Any) -> Case:
    """Unary and binary ops over values up to `reach` before them; what nobody reads is returned."""
    choose = random.Random(seed)
    lines, names = ['graph "dag" captured'], ["x", "y"]
    lines += [f'  {name} = placeholder() : f64[6, 4] ; "{name}"' for name in names]
    unread: dict[str, None] = {}
    for i in range(length):
        op = marked.get(i) or choose.choice(UNARY + ("add", "mul"))
        operands = [choose.choice(names[-reach:]) for _ in range(2 if op in BINARY else 1)]
        lines.append(_node(f"{op}_{i}", op, operands, "f64[6, 4]"))
        names.append(f"{op}_{i}")
        unread = {name: None for name in [*unread, names[-1]] if name not in operands}
    x = np.linspace(-1, 2, 24).reshape(6, 4)
    return _case([*lines, "  inputs x, y", f"  return {', '.join(unread)}"], [x, x[::-1].copy()], fault, **settings)


def called(function: Callable[..., Any], *inputs: Any, fault: str, graph: int = 0, **settings: Any) -> Case:
    """The how manieth graph of a call."""
    dynamic = settings.pop("dynamic", None)
    cases = cases_of_call(function, inputs, {}, f"faulty:{fault}", dynamic, settings)
    return cases[graph]


# --- programs -------------------------------------------------------------------------------------------------------------

_X = np.linspace(-1, 2, 24).reshape(6, 4)


def _views(x: Any) -> Any:
    a = np.sin(x) + 1.0
    a[1:] += 2.0
    a[:, ::2] *= np.maximum(a[:, ::2], 0.5)
    return np.exp(a).sum(axis=0)


def _broken(x: Any) -> Any:
    y = np.cos(np.sin(x) * 2) + x
    suture.graph_break()
    z = np.tanh(y) - 1
    return np.maximum(z, 0.25) * np.abs(y)


def _loop(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.sin(x) + np.maximum(x, 0.1)
    return x


def _sized(x: Any, n: int) -> Any:
    y = np.sin(x[1:]) * n
    return np.maximum(y, 0.0) + np.cos(y), y.sum()


def _integers(x: Any, k: Any) -> Any:
    y = (x * 3).astype(np.int64) // k
    return (y & 7) + (y >> 1), np.sin(x)


def _logarithms(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.sin(np.log(x) + 1) * x


def _reductions(x: Any) -> Any:
    y = np.sin(x) * 2
    return y.sum(axis=1) + y.mean(axis=1), (y - y.max(axis=0)).sum(axis=0)


# --- the faults -----------------------------------------------------------------------------------------------------------

_KINDS = {
    "compile_error": "compile_error",
    "not_callable": "compile_error",
    "run_error": "run_error",
    "warning": "warning",
    "wrong_value": "wrong_value",
    "segfault": "segfault",
    "abort": "abort",
    "killed": "killed",
    "oom": "oom",
    "wrong_dtype": "wrong_dtype",
    "wrong_shape": "wrong_shape",
    "wrong_type": "run_error",
    "wrong_count": "run_error",
    "mutated_input": "wrong_value",
}


def _of_kinds() -> list[Seeded]:
    """One op of 60, each kind of fault."""
    return [
        Seeded(
            f"{kind} in 60 ops",
            lambda kind=kind: chain(60, {37: "maximum"}, f"op=maximum,kind={kind}"),  # type: ignore[misc]
            shows_as,
            ["maximum"],
            7,
        )
        for kind, shows_as in _KINDS.items()
    ]


def _of_sizes() -> list[Seeded]:
    return [
        Seeded(
            f"one op of {length}",
            lambda length=length: chain(length, {length * 2 // 3: "maximum"}, "op=maximum,kind=run_error"),  # type: ignore[misc]
            "run_error",
            ["maximum"],
            calls,
        )
        for length, calls in ((5, 7), (50, 3), (200, 3), (1000, 3))
    ]


def _pairs() -> list[Seeded]:
    rows = []
    for length in (50, 200, 1000):
        for path, calls in (("any", 7), ("yes", 10)):
            fault = f"op=maximum,with=floor,path={path},kind=compile_error"
            rows.append(
                Seeded(
                    f"two distant ops of {length}, path={path}",
                    lambda fault=fault, length=length: chain(  # type: ignore[misc]
                        length, {2: "maximum", length - 3: "floor"}, fault
                    ),
                    "compile_error",
                    ["maximum", "floor"],
                    calls,
                )
            )
    rows += [
        Seeded(
            "two ops that nothing connects, in a DAG of 200",
            lambda: dag(200, {150: "maximum", 151: "floor"}, "op=maximum,with=floor,path=no,kind=compile_error", 3),
            "compile_error",
            ["maximum", "floor"],
            7,
        ),
        Seeded(
            "two adjacent ops of 200",
            lambda: chain(200, {90: "maximum", 91: "floor"}, "op=maximum,with=floor,path=yes,kind=segfault"),
            "segfault",
            ["maximum", "floor"],
            9,
        ),
        Seeded(
            "one op in a DAG of 300",
            lambda: dag(300, {222: "maximum"}, "op=maximum,kind=wrong_value", 1),
            "wrong_value",
            ["maximum"],
            4,
        ),
        Seeded(
            "a crash in 200 ops",
            lambda: dag(200, {111: "maximum"}, "op=maximum,kind=segfault", 2),
            "segfault",
            ["maximum"],
            3,
        ),
        Seeded(
            "the third of four ops",
            lambda: chain(80, {i: "maximum" for i in (10, 30, 50, 70)}, "op=maximum,kind=run_error,when=nth==3"),
            "run_error",
            ["maximum"] * 3,
            8,
        ),
    ]
    return rows


def _conditions() -> list[Seeded]:
    big = np.linspace(-1, 2, 1200).reshape(40, 30)
    odd_values = {"nan": np.nan, "inf": np.inf}

    def with_value(value: float) -> np.ndarray:
        data = big.copy()
        data[23, 17] = value
        return data

    rows = [
        Seeded(
            f"an op on arrays with an axis of at least {size}",
            lambda size=size: chain(20, {9: "maximum"}, f"op=maximum,kind=run_error,when=dim>={size}", data=big),  # type: ignore[misc]
            "run_error",
            ["maximum"],
            calls,
            size,
        )
        for size, calls in ((2, 10), (7, 24), (33, 40))
    ]
    rows += [
        Seeded(
            f"an op on {name}",
            lambda value=value, name=name: chain(  # type: ignore[misc]
                10, {0: "maximum"}, f"op=maximum,kind=run_error,when=operand=={name}", data=with_value(value)
            ),
            "run_error",
            ["maximum"],
            10,
        )
        for name, value in odd_values.items()
    ]
    rows += [
        Seeded(
            "an op on large values",
            lambda: chain(10, {0: "maximum"}, "op=maximum,kind=run_error,when=operand>1e6", data=with_value(3e7)),
            "run_error",
            ["maximum"],
            10,
        ),
        Seeded(
            "an op on float32",
            lambda: chain(
                30, {9: "maximum"}, "op=maximum,kind=run_error,when=dtype==float32", data=_X.astype(np.float32)
            ),
            "run_error",
            ["maximum"],
            8,
        ),
        Seeded(
            "an op on arrays of rank 2",
            lambda: chain(30, {9: "maximum"}, "op=maximum,kind=run_error,when=rank==2"),
            "run_error",
            ["maximum"],
            6,
        ),
        Seeded(
            "an op in graphs of at least 6",
            lambda: chain(100, {60: "maximum"}, "op=maximum,kind=run_error,when=nodes>=6"),
            "run_error",
            6,
            49,
        ),
        Seeded(
            "an op in graphs that return two values",
            lambda: dag(60, {40: "maximum"}, "op=maximum,kind=run_error,when=outputs>=2", 4),
            "run_error",
            2,
            17,
        ),
        Seeded(
            "a sum over axis 1",
            lambda: called(_reductions, _X, fault="op=sum,kind=wrong_value,when=attr.axes==[1]"),
            "wrong_value",
            ["sum"],
            5,
        ),
    ]
    return rows


def _calls() -> list[Seeded]:
    return [
        Seeded(
            "the second call",
            lambda: chain(50, {20: "maximum"}, "op=maximum,kind=second_call_error", calls=5),
            "run_error",
            ["maximum"],
            5,
        ),
        Seeded(
            "results in the memory of earlier ones",
            lambda: chain(50, {20: "maximum"}, "op=maximum,kind=reused_output", calls=3),
            "wrong_alias",
            ["maximum"],
            13,
        ),
        Seeded(
            "values that come and go",
            lambda: chain(50, {20: "maximum"}, "op=maximum,kind=nondeterministic", calls=3),
            "nondeterministic",
            ["maximum"],
            3,
        ),
        Seeded(
            "a hang",
            lambda: chain(12, {7: "maximum"}, "op=maximum,kind=hang"),
            "hang",
            ["maximum"],
            9,
            time_limit=1.5,
        ),
    ]


def _programs() -> list[Seeded]:
    return [
        Seeded(
            "a store through a view",
            lambda: called(_views, _X, fault="op=store,kind=wrong_value"),
            "wrong_value",
            ["store"],
            16,
        ),
        Seeded(
            "an op between stores",
            lambda: called(_views, _X, fault="op=maximum,kind=segfault"),
            "segfault",
            ["maximum"],
            10,
        ),
        Seeded(
            "a resume function",
            lambda: called(_broken, _X, fault="op=maximum,kind=segfault", graph=1),
            "segfault",
            ["maximum"],
            7,
        ),
        Seeded(
            "an unrolled loop",
            lambda: called(_loop, _X, 12, fault="op=maximum,kind=run_error"),
            "run_error",
            ["maximum"],
            7,
        ),
        Seeded(
            "symbolic sizes that matter",
            lambda: called(_sized, np.arange(9.0), 3, dynamic=True, fault="op=maximum,kind=run_error,when=symbols>=1"),
            "run_error",
            ["maximum"],
            13,
            3,
        ),
        Seeded(
            "symbolic sizes that do not matter",
            lambda: called(_sized, np.arange(9.0), 3, dynamic=True, fault="op=maximum,kind=run_error"),
            "run_error",
            ["maximum"],
            8,
        ),
        Seeded(
            "integer division",
            lambda: called(_integers, _X, 3, fault="op=floordiv,kind=wrong_value"),
            "wrong_value",
            ["floordiv"],
            8,
        ),
        Seeded(
            "a copied view",
            lambda: called(lambda x: (np.sin(x), x[1:]), _X, fault="op=slice,kind=copied_view"),
            "wrong_alias",
            ["slice"],
            7,
            2,
        ),
        Seeded(
            "a result with gaps",
            lambda: chain(60, {37: "maximum"}, "op=maximum,kind=wrong_stride"),
            "wrong_strides",
            ["maximum"],
            7,
            2,
        ),
    ]


def _native(fault: str, case: Case, **settings: Any) -> Case:
    """The case under the native backend, with a fault inside its pipeline (option inject_fault)."""
    return case.with_(backend="native", options={"inject_fault": fault}, **settings)


def _of_native_programs() -> list[Seeded]:
    """Faults of the native pipeline that need a certain program; minify_native_faults.py has those of any chain."""
    y = np.linspace(3, 9, 24).reshape(6, 4)
    return [
        Seeded(
            "native: swapped_steps",
            lambda: _native("kind=swapped_steps,op=sum", called(_reductions, _X, fault=_ANY)),
            "wrong_value",
            3,
            30,
            2,
        ),
        Seeded(
            "native: swapped_arguments",
            lambda: _native(
                "kind=swapped_arguments,op=sub", called(lambda x, y: np.cos(np.sin(x) - y) * 2, _X, y, fault=_ANY)
            ),
            "wrong_value",
            ["sub"],
            16,
        ),
        Seeded(
            "native: lost_conditions",
            lambda: _native("kind=lost_conditions,op=log", called(_logarithms, np.zeros((6, 4)), fault=_ANY)),
            "warning",
            ["log"],
            8,
        ),
        Seeded(
            "native: nan",
            lambda: _native("kind=nan,op=maximum", chain(24, {13: "maximum"}, _ANY)),
            "wrong_value",
            ["maximum"],
            5,
        ),
        Seeded(
            "native: nondeterministic",
            lambda: _native("kind=nondeterministic,op=maximum", chain(24, {13: "maximum"}, _ANY), calls=4),
            "nondeterministic",
            ["maximum"],
            4,
        ),
    ]


FAULTS = [*_of_kinds(), *_of_sizes(), *_pairs(), *_conditions(), *_calls(), *_programs(), *_of_native_programs()]


def ops_of(case: Case) -> list[str]:
    return [node["op"] for node in case.graph.nodes if node["kind"] != "Input"]


def proves_itself(result: Result) -> bool:
    """Whether the repro file of a result fails in the same way in a new process: what is told with the path of a file."""
    with tempfile.TemporaryDirectory(prefix="suture-bench-") as directory:
        given = ReproFile(result.original, launcher.input_names(result.original))
        path = repro_file.write(modes.smallest(given, result), Path(directory), repro_file.REPRO)
        return certify.certify(path).reproduced


def is_minimal(case: Case, seeded: Seeded) -> bool:
    """The case has the ops and sizes that its fault needs, and no more."""
    ops = ops_of(case)
    wanted = len(ops) == seeded.ops if isinstance(seeded.ops, int) else ops == list(seeded.ops)
    return wanted and largest_size(case) <= seeded.sizes


def largest_size(case: Case) -> int:
    return max((extent for item in case.inputs for extent in item.shape), default=0)

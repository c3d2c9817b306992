"""How often the judge of results is wrong: false alarms on right programs, wrong programs that pass.

False alarms: every elementwise op and every reduction of the op table, and random programs of several ops, are compiled and run on
data of three kinds (around 1; over 80 binary orders of magnitude; random bits, with NaN, infinities and subnormals). Whatever
the judge calls wrong here is a false alarm, or a defect of the compiler: each is printed.
Detection: one value of a program goes wrong in a known way, everything behind it is computed from the wrong value. `results` is
the judge of whole results alone (what SUTURE_REPRO_LEVEL=4 does for every call), `ops` the analysis op by op; `named`: it names
the very op.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import suture
from bench import bars
from suture import _core
from suture._minify import accuracy, taps
from suture._minify.case import Case, inputs_of
from suture._minify.reference import Op, Program, program_of, widened
from suture._minify.run_case import compile_case
from suture._ulps import same_bits

SIZE = 203  # no multiple of a vector
ROUNDS = {"around 1": 6, "wide": 6, "bits": 4}
PROGRAMS = 60
FAULTY_PROGRAMS = 40


# --- programs and data -----------------------------------------------------------------------------------------------------


def data(kind: str, dtype: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if np.dtype(dtype).kind != "f":
        return rng.integers(-50, 50, shape).astype(dtype)
    if kind == "around 1":
        return rng.uniform(-3, 3, shape).astype(dtype)
    if kind == "wide":
        return (rng.choice([-1, 1], shape) * 2.0 ** rng.uniform(-40, 40, shape)).astype(dtype)
    width = np.dtype(dtype).itemsize
    return rng.integers(0, 256, (*shape, width), np.uint8).view(dtype).reshape(shape)


def captured(function: Callable[..., Any], *arguments: Any) -> Case | None:
    """The graph of a function; None when it is not one graph."""
    cases: list[Case] = []

    def keep(graph: Any, examples: list[Any]) -> Any:
        cases.append(Case.of(graph, examples))
        return graph.forward()

    with np.errstate(all="ignore"):
        suture.compile(function, backend=keep)(*arguments)
    return cases[0] if len(cases) == 1 else None


def op_programs() -> Iterator[tuple[str, Case]]:
    for op in _core.op_table():
        if not op["numpy"] or op["kind"] not in ("Elementwise", "Reduce") or op["name"] in ("copy", "round"):
            continue
        function = getattr(np, op["numpy"].removeprefix("np."))
        for dtype in ("float64", "float32", "int64"):
            arguments = [data("around 1", dtype, np.random.default_rng(i), (7, 29)) for i in range(op["arity"])]
            try:
                with np.errstate(all="ignore"):
                    function(*arguments)
                case = captured(called(function, op), *arguments)
            except (TypeError, ValueError):
                continue
            if case is not None:
                yield f"{op['name']} {dtype}", case


def called(function: Callable[..., Any], op: dict[str, Any]) -> Callable[..., Any]:
    if op["kind"] == "Reduce":
        return lambda x: (function(x), function(x, axis=0), function(x, axis=1))
    if op["arity"] == 1:
        return lambda x: function(x)
    return (lambda x, y: function(x, y)) if op["arity"] == 2 else lambda x, y, z: function(x, y, z)


STEPS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a * b + 0.5,
    lambda a, b: np.exp(-np.abs(a)) - b,
    lambda a, b: np.sin(a) * np.cos(b),
    lambda a, b: np.log(np.abs(a) + 1),
    lambda a, b: np.tanh(a) + np.sqrt(np.abs(b)),
    lambda a, b: a - a.sum(axis=0) / 7,
    lambda a, b: np.where(a > b, a, b),
    lambda a, b: np.maximum(a, 0.1) ** 1.5,
    lambda a, b: np.hypot(a, b),
    lambda a, b: a / (1 + np.abs(b)),
    lambda a, b: np.arctan2(a, b) - a.mean(),
]


def random_program(seed: int, dtype: str) -> Case | None:
    rng = np.random.default_rng(seed)
    steps = [STEPS[i] for i in rng.integers(0, len(STEPS), rng.integers(2, 6))]
    order = [bool(flip) for flip in rng.integers(0, 2, len(steps))]

    def program(x: Any, y: Any) -> Any:
        a, b = x, y
        for step, flip in zip(steps, order, strict=True):
            a, b = (step(a, b), a) if flip else (step(b, a), a)
        return a, a.sum(), (a > b).sum()

    return captured(program, *(data("around 1", dtype, rng, (7, 29)) for _ in range(2)))


def with_data(case: Case, kind: str, rng: np.random.Generator) -> Case:
    values = [data(kind, item.dtype, rng, item.shape) if item.kind == "array" else item.data for item in case.inputs]
    return case.with_(inputs=inputs_of(values))


class Compiled:
    """Each graph is compiled once, whatever the data."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __call__(self, case: Case) -> Callable[[Any], Any]:
        def compile_graph(graph: Any) -> Any:
            text = graph.to_text()
            if text not in self._known:
                self._known[text] = compile_case(case.with_(graph_text=text))
            return self._known[text]

        return compile_graph


# --- false alarms ----------------------------------------------------------------------------------------------------------


def false_alarms() -> None:
    compiled, rng = Compiled(), np.random.default_rng(1)
    counts: Counter[str] = Counter()
    kinds: dict[str, Iterator[tuple[str, Case]]] = {"single ops": op_programs(), "programs": _programs()}
    for title, cases in kinds.items():
        runs = judged = alarms = 0
        for name, case in cases:
            for kind, rounds in ROUNDS.items():
                for _ in range(rounds):
                    analysis = _analysis(with_data(case, kind, rng), compiled)
                    runs += 1
                    judged += sum(row.verdict != taps.NOT_JUDGED for row in analysis.rows)
                    if analysis.wrong:
                        alarms += 1
                        counts[name] += 1
                        first = analysis.first
                        print(f"alarm: {name}, {kind}: {first or analysis.results[0].message}")
        print(f"{title:<11} {runs} runs, {judged} values of ops judged, {alarms} alarms")
        bars.at_most(f"accuracy: alarms on right {title} in {runs} runs", alarms, 0)


def _programs() -> Iterator[tuple[str, Case]]:
    for seed in range(PROGRAMS):
        dtype = ("float64", "float32")[seed % 2]
        case = random_program(seed, dtype)
        if case is not None:
            yield f"program {seed} {dtype}", case


def _analysis(case: Case, compiled: Compiled) -> taps.Analysis:
    return taps.analyze(case.graph, case.objects, compiled(case))


# --- detection -------------------------------------------------------------------------------------------------------------


def one_ulp_too_many(program: Program, op: Op, value: np.ndarray, values: Any, rng: np.random.Generator) -> np.ndarray:
    """One element is one ULP farther from the exact result than the table allows."""
    given = [widened(np.asarray(values[name])) for name in program.operands(op)]
    exact = np.asarray(program.run_op(op, given, wide=True)).astype(value.dtype) if op.bound else value
    at = int(rng.choice(np.flatnonzero(np.isfinite(exact))))
    out = value.copy()
    out.flat[at] = exact.flat[at] + (op.bound + 1) * np.spacing(np.abs(exact.flat[at]))
    return out


def wrong_lane(program: Program, op: Op, value: np.ndarray, values: Any, rng: np.random.Generator) -> np.ndarray:
    """Two lanes of a vector are swapped."""
    out, at = value.copy(), 8 * int(rng.integers(0, value.size // 8))
    out.flat[at], out.flat[at + 1] = value.flat[at + 1], value.flat[at]
    return out


def wrong_tail(program: Program, op: Op, value: np.ndarray, values: Any, rng: np.random.Generator) -> np.ndarray:
    """What no vector holds at the end is the last whole vector's."""
    out, tail = value.copy(), value.size % 8
    out.reshape(-1)[-tail:] = value.reshape(-1)[-tail - 8 : -8]
    return out


def uninitialised(program: Program, op: Op, value: np.ndarray, values: Any, rng: np.random.Generator) -> np.ndarray:
    """One element was never written."""
    out = value.copy()
    out.flat[int(rng.integers(0, value.size))] = data("bits", value.dtype.name, rng, (1,))[0]
    return out


def other_order(program: Program, op: Op, value: Any, values: Any, rng: np.random.Generator) -> Any:
    """A sum in another order than NumPy's."""
    terms = np.asarray(values[program.operands(op)[0]])
    axis = 0 if np.ndim(value) else None
    return np.asarray(np.add.accumulate(terms[::-1] if axis == 0 else terms.reshape(-1), axis=0)[-1])


FAULTS: dict[Callable[..., Any], Callable[[Op, Any], bool]] = {
    one_ulp_too_many: lambda op, value: op.kind == "Elementwise",
    wrong_lane: lambda op, value: op.kind == "Elementwise" and np.ndim(value) == 2,
    wrong_tail: lambda op, value: op.kind == "Elementwise" and np.ndim(value) == 2,
    uninitialised: lambda op, value: op.kind == "Elementwise" and np.ndim(value) == 2,
    other_order: lambda op, value: op.op == "sum",
}


def detection() -> None:
    rng = np.random.default_rng(2)
    cases = [random_program(seed, ("float64", "float32")[seed % 2]) for seed in range(FAULTY_PROGRAMS)]
    print(f"{'fault':<18} {'wrong programs':>14} {'results':>8} {'ops':>8} {'named':>8}")
    for fault, fits in FAULTS.items():
        count = by_results = by_ops = named = 0
        for case in cases:
            if case is not None and (found := _with_fault(case, fault, fits, rng)) is not None:
                count += 1
                by_results += found[0]
                by_ops += found[1]
                named += found[2]
        share = [f"{number / max(count, 1):.0%}" for number in (by_results, by_ops, named)]
        print(f"{fault.__name__:<18} {count:>14} {share[0]:>8} {share[1]:>8} {share[2]:>8}")
        bars.at_least(f"accuracy: {fault.__name__} seen by ops", by_ops / max(count, 1), 1)


def _with_fault(
    case: Case, fault: Callable[..., Any], fits: Callable[[Op, Any], bool], rng: np.random.Generator
) -> tuple[bool, bool, bool] | None:
    """(seen in the results, seen by ops, the op named); None when the program has no such value, or it stays what it was."""
    program = program_of(case.graph, case.objects())
    values = program.run(case.objects())
    ops = [
        op for op in program.ops if op.dtype.kind == "f" and fits(op, values[op.name]) and np.size(values[op.name]) > 8
    ]
    ops = ops if fault is not other_order else [op for op in program.ops if op.op == "sum" and op.dtype.kind == "f"]
    if not ops:
        return None
    op = ops[int(rng.integers(0, len(ops)))]
    wrong = fault(program, op, np.asarray(values[op.name]), values, rng)
    if same_bits(np.asarray(wrong, np.asarray(values[op.name]).dtype), np.asarray(values[op.name])):
        return None

    def compile_graph(graph: Any) -> Any:
        """NumPy, with the one wrong value."""

        def call(*inputs: Any) -> Any:
            part = program_of(graph, list(inputs))
            return tuple(part.outputs(part.run(list(inputs), after=spoil)))

        return call

    def spoil(each: Op, value: Any, values: Any) -> Any:
        if each.name != op.name:
            return value
        if isinstance(value, np.ndarray):
            value[...] = wrong
            return value
        return type(value)(wrong)

    with np.errstate(all="ignore"):
        results = compile_graph(case.graph)(*case.objects())
        seen = bool(accuracy.judge(program, case.objects, results, case.objects()))
        analysis = taps.analyze(case.graph, case.objects, compile_graph)
    return seen, analysis.wrong, bool(analysis.first and analysis.first.node == op.name)


def accuracy_of_the_judge() -> None:
    false_alarms()
    detection()

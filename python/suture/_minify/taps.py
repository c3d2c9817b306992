"""Which op is the first to go wrong: every value of a compiled graph, judged op by op.

Overview
    The graph is compiled once more with every value as an output (taps). NumPy then runs the same ops one after the other.
    Each compiled value is held against what NumPy makes of the very values that the compiled op was given:
      - an op with one right result must have NumPy's bits;
      - an op with a bound is held against the op in wider precision, rounded: no more than its bound away, and NaN, infinities
        and signs of zeros as NumPy has them.
    Then the compiled value takes the place of NumPy's, so that the next op is given what its compiled twin was given. Nothing is
    amplified on the way, and one wrong op does not make those behind it look wrong.
    More outputs may change what is fused. When no op is found although the results are wrong, the graph is cut behind more
    and more ops (`first_wrong_prefix`): the last op of the shortest prefix that is wrong is the first wrong one.
Limits
    A value whose memory is written later is seen only as the last store leaves it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from suture import _core
from suture._minify import child, run_case
from suture._minify.accuracy import Fresh, judge
from suture._minify.case import Case
from suture._minify.compile_texts import kernels_of
from suture._minify.difference import Difference, distance, type_difference
from suture._minify.first_failing import first_failing
from suture._minify.reference import ANY_ZERO, Op, Program, program_of, widened
from suture._minify.signature import signal_name
from suture._ulps import same_bits, ulp_distance
from suture._value_text import wrong_value

Compile = Callable[[_core.Graph], Callable[..., Any]]

OK, DIVERGES, NOT_JUDGED = "ok", "diverges", "not judged"
# Half an ULP for the rounding of the result itself, and what longdouble may be off by.
_ROUNDING = 0.5 + 2.0**-6


@dataclass(frozen=True)
class Row:
    """One op.

    ulp        of the compiled value: distance from the exact result for the same operands (ops with a bound), else from NumPy's
    numpy_ulp  the same of NumPy's value; 0 for ops with one right result
    bound      what the table allows
    index, got, wanted, operands: of the element that is off most; operands are those it was computed from
    """

    node: str
    op: str
    target: str
    file: str
    line: int
    kernel: str
    bound: float
    ulp: float = 0.0
    numpy_ulp: float = 0.0
    verdict: str = OK
    why: str = ""
    index: tuple[int, ...] = ()
    got: str = ""
    wanted: str = ""
    operands: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        kernel = f" in kernel {self.kernel}" if self.kernel else ""
        return f"{self.node} = {self.op} ({self.target}) at {self.file}:{self.line}{kernel}"


@dataclass
class Analysis:
    """
    rows              one per op that computes something, in program order
    results           what is wrong with the results of the graph itself
    first             the first op that diverges; None
    found_by          taps | prefix | "" when there is none
    nondeterministic  results that differ between two calls with equal inputs
    notes             what limits the answer
    """

    rows: list[Row] = field(default_factory=list)
    results: list[Difference] = field(default_factory=list)
    first: Row | None = None
    found_by: str = ""
    nondeterministic: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    died: str = ""  # how the process ended in which the graph was compiled and run, when it did not live

    @property
    def wrong(self) -> bool:
        return bool(self.results or self.first or self.nondeterministic or self.died)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"wrong": self.wrong}

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> Analysis:
        rows = [_row_from(row) for row in found["rows"]]
        results = [Difference(**{**each, "index": tuple(each["index"])}) for each in found["results"]]
        first = _row_from(found["first"]) if found["first"] else None
        rest = {name: found[name] for name in ("found_by", "nondeterministic", "notes", "died")}
        return Analysis(rows, results, first, **rest)


def _row_from(row: Mapping[str, Any]) -> Row:
    return Row(**{**row, "index": tuple(row["index"]), "operands": tuple(row["operands"])})


def analyze_case(case: Case, seconds: float = 120.0) -> Analysis:
    """Of a case, in a child process: a graph that crashes or hangs costs the caller nothing."""

    def work(send: child.Send) -> Any:
        return analyze(case.graph, case.objects, run_case.compiler(case), case.numerics == "fast").to_dict()

    ending = child.call(work, seconds)
    if ending.value is not None:
        return Analysis.from_dict(ending.value)
    if ending.timed_out:
        return Analysis(died=f"it did not end within {seconds:g} s")
    if ending.signal:
        return Analysis(died=f"the process died of {signal_name(ending.signal)}")
    return Analysis(died=ending.error)


def first_wrong(
    case: Case, results: Sequence[Any], inputs: Sequence[Any], compile_graph: Compile | None
) -> Difference | None:
    """What is wrong with the results of a call of the case that left its inputs as `inputs`. Bits are compared first; only when
    they differ, and rounding may be the reason, the graph is compiled again to look at each op (None: it is not)."""
    program = program_of(case.graph, case.objects())
    fast = case.numerics == "fast"
    wrong = judge(program, case.objects, results, inputs, fast)
    if wrong:
        return wrong[0]
    own = case.objects()
    right = program.outputs(program.run(own, keep_all=False))
    pairs = [*zip(results, right, strict=True), *zip(inputs, own, strict=True)]
    if compile_graph is None or all(same_bits(np.asarray(a), np.asarray(b)) for a, b in pairs):
        return None
    analysis = Analysis()
    if 3 * program.bytes_of_values() <= _free_memory() // 2:
        _judge_taps(program, case.graph, case.objects, compile_graph, {}, analysis, fast)
    row = analysis.first
    if row is None:
        return None
    message = f"{row.where}: {row.why}: {wrong_value(row.node, row.got, row.wanted, row.index, right='right is')}"
    return Difference(row.node, "wrong_value", message, row.index, row.got, row.wanted, row.ulp, row.bound)


def first_op(case: Case, compile_graph: Compile) -> str:
    """The first op of a wrong graph that diverges, with its line and its kernel; "" when it is not found."""
    try:
        found = analyze(case.graph, case.objects, compile_graph, case.numerics == "fast")
    except Exception:  # a backend that does not compile parts of what it was given
        return ""
    return found.first.where if found.first else ""


def analyze(graph: _core.Graph, fresh: Fresh, compile_graph: Compile, fast: bool = False) -> Analysis:
    """Compiles and runs the graph in this process: what may crash or hang belongs into a child (see oracle.py)."""
    program = program_of(graph, fresh())
    analysis = Analysis()
    with _kernels() as kernels:
        compiled = compile_graph(graph)
        results, inputs = _call(compiled, fresh)
        analysis.nondeterministic = _differing(results, _call(compiled, fresh)[0])
    analysis.results = judge(program, fresh, results, inputs, fast)
    needed = 3 * program.bytes_of_values()  # compiled, NumPy's, and one in wider precision
    if needed > _free_memory() // 2:
        analysis.notes.append(
            f"too large to look at every value ({needed / 2**30:.1f} GiB): only results are judged; minimise the case first"
        )
        return analysis
    _judge_taps(program, graph, fresh, compile_graph, kernels, analysis, fast)
    if analysis.results and not analysis.first:
        _judge_prefixes(program, graph, fresh, compile_graph, kernels, analysis, fast)
    return analysis


def _free_memory() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _call(compiled: Callable[..., Any], fresh: Fresh) -> tuple[tuple[Any, ...], list[Any]]:
    """Results, and the inputs afterwards. No condition is reported, so none makes NumPy do the work again: what is judged is
    what the kernels give for NaN, overflow and division by zero, too."""
    inputs = fresh()
    with np.errstate(all="ignore"):
        return tuple(compiled(*inputs)), inputs


def _differing(first: Sequence[Any], second: Sequence[Any]) -> list[str]:
    pairs = enumerate(zip(first, second, strict=True))
    return [f"output {i}" for i, (a, b) in pairs if not same_bits(np.asarray(a), np.asarray(b))]


# --- what the compiler says of it ------------------------------------------------------------------------------------------


@contextmanager
def _kernels() -> Iterator[dict[str, str]]:
    """The kernel that computes each node, from the line table of the first graph that is compiled inside."""
    kernels: dict[str, str] = {}

    def on_event(line: str) -> None:
        if not kernels:
            kernels.update(kernels_of(json.loads(line)["fields"]["lines"]))

    token = _core.subscribe(["kernel_source"], on_event)
    try:
        yield kernels
    finally:
        _core.unsubscribe(token)


def _row(op: Op, kernels: Mapping[str, str], **found: Any) -> Row:
    return Row(op.name, op.op, op.target, op.file, op.line, kernels.get(op.name, ""), op.bound, **found)


# --- taps -----------------------------------------------------------------------------------------------------------------


def _judge_taps(
    program: Program,
    graph: _core.Graph,
    fresh: Fresh,
    compile_graph: Compile,
    kernels: Mapping[str, str],
    analysis: Analysis,
    fast: bool,
) -> None:
    names = [op.name for op in program.ops if op.kind != "Effect"]
    tapped, _ = graph.subgraph(None, names)
    values, inputs = _call(compile_graph(tapped), fresh)
    taps = dict(zip(tapped.outputs, values, strict=True))
    taps |= dict(zip(program.placeholders, inputs, strict=False))
    judging = _Judging(program, taps, kernels, fast)
    program.run(fresh(), after=judging.after)
    analysis.rows = judging.rows
    analysis.first = next((row for row in judging.rows if row.verdict == DIVERGES), None)
    analysis.found_by = "taps" if analysis.first else ""


class _Judging:
    """For Program.run: judges each op, and lets the compiled value take the place of NumPy's."""

    def __init__(self, program: Program, taps: Mapping[str, Any], kernels: Mapping[str, str], fast: bool) -> None:
        self._program, self._taps, self._kernels, self._fast = program, taps, kernels, fast
        self._root: dict[str, str] = {}
        self._last_store: dict[str, str] = {}  # by root: the store that leaves its memory as it stays
        for op in program.ops:
            self._root[op.name] = self._root_of(op.operands[0]) if op.kind in ("View", "Effect") else op.name
            if op.kind == "Effect":
                self._last_store[self._root[op.name]] = op.name
        self.rows: list[Row] = []

    def _root_of(self, name: str) -> str:
        return self._root.get(name, name)

    def after(self, op: Op, value: Any, values: Mapping[str, Any]) -> Any:
        root = self._root[op.name]
        last = self._last_store.get(root)
        if op.kind == "Effect":
            if last == op.name and root in self._taps:
                self._judge(op, values[root], self._taps[root], None)
                _take_over(values[root], self._taps[root])
            return value
        if last is not None and not self._stored(last):
            self.rows.append(_row(op, self._kernels, verdict=NOT_JUDGED, why="its memory is written later"))
            return value
        tap = self._taps.get(op.name)
        if tap is None:
            return value
        given = [values[name] for name in self._program.operands(op)]
        self._judge(op, value, tap, given)
        return value if op.kind == "View" else _take_over(value, tap)

    def _stored(self, name: str) -> bool:
        return any(row.node == name for row in self.rows)

    def _judge(self, op: Op, value: Any, tap: Any, given: list[Any] | None) -> None:
        other = type_difference(op.name, tap, value)
        if other:
            self.rows.append(_row(op, self._kernels, verdict=DIVERGES, why=other.message, ulp=math.inf))
            return
        a, b = np.asarray(tap), np.asarray(value)
        if op.bound and given is not None and a.size:
            self.rows.append(self._bounded(op, a, b, given))
        else:
            self.rows.append(self._exact(op, a, b, given))

    def _exact(self, op: Op, a: np.ndarray, b: np.ndarray, given: list[Any] | None) -> Row:
        if same_bits(a, b):
            return _row(op, self._kernels)
        far = distance(a, b)
        if op.kind == "Effect" and op.name in self._program.tainted:
            # What was stored over is no longer there to be judged exactly.
            return _row(
                op,
                self._kernels,
                verdict=NOT_JUDGED,
                ulp=float(far.max()),
                why="what it writes over may be rounded otherwise",
            )
        if self._fast and a.dtype.kind in "fc":
            return _row(
                op, self._kernels, verdict=NOT_JUDGED, ulp=float(far.max()), why="numerics='fast' rounds as it likes"
            )
        if not far.any():
            if op.op in ANY_ZERO:
                return _row(op, self._kernels)
            far = (np.signbit(a) != np.signbit(b)).astype(float)
            return self._wrong(op, far, a, b, given, "the sign of a zero differs from NumPy's")
        return self._wrong(op, far, a, b, given, "this op has one right result, and it is another one")

    def _bounded(self, op: Op, a: np.ndarray, b: np.ndarray, given: list[Any]) -> Row:
        with np.errstate(all="ignore"):
            exact = np.asarray(self._program.run_op(op, [_as_loop(value, op) for value in given], wide=True))
            largest = _largest(given) if op.op in _CANCELS else 0.0
            mine, numpys = _error(a, exact, largest), _error(b, exact, largest)
        if self._fast:
            mine = np.where(np.isfinite(mine), mine, 0.0)
        special = np.isnan(a) != np.isnan(b)
        mine = np.where(special, np.inf, mine)
        zeros = (
            (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
        )
        found = {"ulp": float(mine.max()), "numpy_ulp": float(numpys.max())}
        if (mine > op.bound + _ROUNDING).any():
            text = f"more than the {op.bound:g} ULP of the table from the exact result"
            return self._wrong(op, mine, a, exact.astype(a.dtype), given, text, numpy_ulp=found["numpy_ulp"])
        if zeros.any():
            return self._wrong(op, zeros.astype(float), a, b, given, "the sign of a zero differs from NumPy's")
        return _row(op, self._kernels, **found)

    def _wrong(
        self, op: Op, far: np.ndarray, a: np.ndarray, b: np.ndarray, given: list[Any] | None, why: str, **found: Any
    ) -> Row:
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(far)), a.shape)) if a.ndim else ()
        return _row(
            op,
            self._kernels,
            verdict=DIVERGES,
            why=why,
            ulp=float(far[index]),
            index=index,
            got=_text(a[index]),
            wanted=_text(b[index]),
            operands=_operand_texts(op, given, a.shape, index),
            **found,
        )


# Bounds of these are in units of the largest of operands and result, as ops.def says.
_CANCELS = frozenset({"logaddexp"})


def _largest(given: Sequence[Any]) -> Any:
    sizes: Any = 0.0
    for value in given:
        sizes = np.maximum(sizes, np.abs(value))
    return sizes


def _as_loop(value: Any, op: Op) -> Any:
    """An operand as the op's loop reads it, in wider precision."""
    if isinstance(value, np.ndarray):
        return widened(value.astype(op.dtype))
    return widened(op.dtype.type(value))


def _error(value: np.ndarray, exact: np.ndarray, largest: Any = 0.0) -> np.ndarray:
    """Distance of each element from the exact one, in units in the last place of the exact one, or of `largest`; NaN in both is
    0. Beyond the largest number infinity stands for what the exact result is rounded to."""
    if value.dtype.kind == "c":
        return np.maximum(_error(value.real, exact.real), _error(value.imag, exact.imag))
    rounded = exact.astype(value.dtype)
    unit = np.spacing(np.maximum(np.abs(rounded), largest).astype(value.dtype)).astype(exact.dtype)
    error = (np.abs(value.astype(exact.dtype) - exact) / unit).astype(np.float64)
    edge = ~np.isfinite(rounded) | ~np.isfinite(value)
    return np.where(edge, ulp_distance(value, rounded), error)


def _take_over(value: Any, tap: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return tap
    if isinstance(tap, np.ndarray) and tap.shape == value.shape and tap.dtype == value.dtype and value.flags.writeable:
        value[...] = tap
    return value


def _text(value: Any) -> str:
    return float(value).hex() + f" ({float(value)!r})" if value.dtype.kind == "f" else repr(value.item())


def _operand_texts(op: Op, given: list[Any] | None, shape: tuple[int, ...], index: tuple[int, ...]) -> tuple[str, ...]:
    """Of elementwise ops: the operands of one element."""
    if given is None or op.kind != "Elementwise":
        return ()
    return tuple(_text(np.asarray(np.broadcast_to(np.asarray(value), shape)[index])[()]) for value in given)


# --- prefixes -------------------------------------------------------------------------------------------------------------


def _judge_prefixes(
    program: Program,
    graph: _core.Graph,
    fresh: Fresh,
    compile_graph: Compile,
    kernels: Mapping[str, str],
    analysis: Analysis,
    fast: bool,
) -> None:
    analysis.notes.append("with every value as an output the failure is gone: fusion, or a pass, is a part of it")
    ops = program.ops
    wrong: dict[int, list[Difference]] = {}

    def fails(count: int) -> bool:
        part, _ = graph.subgraph([op.name for op in ops[:count]])
        results, inputs = _call(compile_graph(part), fresh)
        wrong[count] = judge(program_of(part, fresh()), fresh, results, inputs, fast)
        return bool(wrong[count])

    if not fails(len(ops)):
        return
    first = first_failing(len(ops), fails)
    op, difference = ops[first - 1], wrong[first][0]
    analysis.first = _row(
        op,
        kernels,
        verdict=DIVERGES,
        why=f"the program up to here is wrong, and right without this op: {difference.message}",
        ulp=difference.ulp,
        index=difference.index,
        got=difference.got,
        wanted=difference.wanted,
    )
    analysis.found_by = "prefix"

"""Running a case in this process: compile the graph, call it, compare with NumPy.

The compiled graph takes the path that a captured one takes; the reference is the graph under NumPy (`Graph.forward`). A case
that crashes or hangs takes this process along: the oracle runs it in a child.

What counts as equal: bits, when every op of the graph is rounded exactly (NaN equals NaN). Otherwise a value may be off by
TOLERANCE_ULP units in the last place of the coarsest float that is rounded on the way, measured at the largest finite value of the result: a minifier
looks for values that are wrong, not for the last bit; `check="accuracy"` is for that.
"""

from __future__ import annotations

import functools
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from suture import _core
from suture._minify import given_warnings, plain_text
from suture._minify.case import Case, CaseError
from suture._minify.difference import value_difference
from suture._minify.signature import INVALID, KINDS, PASSED, Outcome
from suture._ulps import ulps_of_largest
from suture._value_text import other_type

TOLERANCE_ULP = 4096
NOT_GIVEN = "not given: "  # before a warning of NumPy's
_MOST_PLACES = 64


def run(case: Case, progress: Callable[[str], None] = lambda stage: None) -> Outcome:
    """How the case ends. `progress(stage)` is told what begins, so that whoever watches a process that dies knows."""
    start = time.perf_counter()
    run_ = _Run(case, progress)
    try:
        ending = run_.outcome()
    except Exception as error:
        # MemoryError while NumPy itself works, arrays that cannot be made: nothing is said about the backend.
        ending = Outcome(INVALID, run_.stage, type(error).__name__, plain_text.of_exception(error))
    fields = ending.to_dict()
    fields["seconds"] = time.perf_counter() - start
    return Outcome(**fields)


class _Run:
    def __init__(self, case: Case, progress: Callable[[str], None]) -> None:
        self.case, self._progress = case, progress
        self.stage = "build"

    def _begin(self, stage: str) -> None:
        self.stage = stage
        self._progress(stage)

    def outcome(self) -> Outcome:
        case = self.case
        self._begin("build")
        try:
            case.checked()
        except CaseError as error:
            return Outcome(INVALID, "build", type(error).__name__, plain_text.of_exception(error))
        wanted = None
        if case.check != "compile":
            self._begin("reference")
            wanted = _called(case.graph.forward(), case.objects())
            if wanted.error is not None:
                return self._invalid(wanted.error)
        self._begin("compile")
        try:
            compiled = compile_case(case)
        except Exception as error:
            return _raised("compile_error", "compile", error)
        if wanted is None:
            return Outcome(PASSED)
        return self._calls(compiled, wanted)

    def _invalid(self, error: BaseException) -> Outcome:
        return Outcome(
            INVALID, self.stage, type(error).__name__, f"NumPy itself raises: {plain_text.of_exception(error)}"
        )

    def _calls(self, compiled: Callable[..., Any], wanted: _Call) -> Outcome:
        coarse = coarseness(self.case)
        first: _Call | None = None
        failure: Outcome | None = None
        for number in range(1, self.case.calls + 1):
            self._begin("run")
            got = _called(compiled, self.case.objects())
            self._begin("compare")
            if got.error is not None:
                return _raised("run_error", "run", got.error, call=number)
            failure = failure or self._judged(got, wanted, coarse, number)
            if first is not None:
                different = _difference(got, first, 0.0, number)
                if different is not None and different.kind != "warning":
                    message = "two calls with the same inputs give different results"
                    return Outcome("nondeterministic", "compare", message=message, call=number)
                own = [each for each in first.results if not any(_shares(each, given) for given in first.inputs)]
                failure = failure or given_again(got.results, got.inputs, own, number, 1)
            first = first or got
            if failure and self.case.calls == 1:
                return failure
        return failure or Outcome(PASSED)

    def _judged(self, got: _Call, wanted: _Call, coarse: float, number: int) -> Outcome | None:
        return _judged(self.case, got, wanted, coarse, number, compiler(self.case), owed=self.case.backend == "native")


class _Call:
    """What one call did: results, inputs afterwards, warnings, or the exception."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self.results: tuple[Any, ...] = ()
        self.warnings: list[str] = []
        self.error: Exception | None = None


def _called(function: Callable[..., Any], inputs: list[Any], ignores: bool = False) -> _Call:
    """ignores: warnings that the program's filters ignore are none."""
    call = _Call()
    call.inputs = inputs
    with warnings.catch_warnings(record=True) as caught:
        given_warnings.listen_always(keep=("ignore",) if ignores else ())
        try:
            results = function(*inputs)
            if not isinstance(results, tuple):
                raise TypeError(f"a compiled graph returns a tuple, not {type(results).__name__}")
            call.results = results
        except Exception as error:
            call.error = error
    call.warnings = given_warnings.texts_of(caught)
    return call


def _raised(kind: str, stage: str, error: BaseException, call: int = 0) -> Outcome:
    # What a backend wraps is what went wrong: `raise BackendCompilerFailed(...) from error`.
    cause = error.__cause__ if type(error).__name__ == "BackendCompilerFailed" and error.__cause__ else error
    kind = "oom" if isinstance(cause, MemoryError) else kind
    frames = traceback.walk_tb(cause.__traceback__)
    places = [f"{frame.f_code.co_filename}:{line}" for frame, line in frames][-_MOST_PLACES:]
    return Outcome(kind, stage, type(cause).__name__, plain_text.of_exception(cause), call=call, places=tuple(places))


def compile_case(case: Case) -> Callable[..., Any]:
    """The compiled graph of a case: callable(*inputs) -> tuple. Raises what the backend raises."""
    from suture import _backends
    from suture._config import config

    name, backend = case.backend, None
    if name != "native":
        name, backend = _backends.resolve(case.backend)
    return _core.compile_graph(
        case.graph,
        case.objects(),
        backend=name,
        backend_callable=backend,
        numerics=case.numerics,
        options=config.texts(dict(case.options)),
    )


def compiler(case: Case) -> Callable[[_core.Graph], Callable[..., Any]]:
    """Compiles other graphs with the settings of the case."""
    return lambda graph: compile_case(case.with_(graph_text=graph.to_text()))


# --- comparing ------------------------------------------------------------------------------------------------------------


@functools.cache
def _inexact_ops() -> frozenset[str]:
    return frozenset(op["name"] for op in _core.op_table() if op["ulp64"] or op["ulp32"])


def coarseness(case: Case) -> float:
    """The largest distance of 1 to the next number, of the floats to which ops of the graph round as they like: what was rounded to
    float32 has its places, whatever it becomes later. 0 when every op has one right result, bit for bit."""
    fast = case.numerics != "exact"
    rows = [row for row in case.graph.nodes if fast or row["op"] in _inexact_ops()]
    kinds = [np.dtype(row["dtype"]) for row in rows]
    floats = [float(np.finfo(kind).eps) for kind in kinds if kind.kind in "fc"]
    return max(floats, default=float(np.finfo(np.float64).eps) if rows else 0.0)


def compare(
    case: Case,
    results: tuple[Any, ...],
    inputs: list[Any],
    compile_graph: Callable[[_core.Graph], Callable[..., Any]] | None = None,
    *,
    given: Sequence[str] | None = None,
    owed: bool = False,
) -> Outcome | None:
    """How a call on the case's inputs differs from NumPy's: `results`, and `inputs` as the call left them. None: it does not, or
    NumPy itself raises. given: the warnings it gave, of those that the program does not ignore (given_warnings.py); None: they are
    not looked at. owed: those that NumPy gives have to be among them. compile_graph: compiles graphs as this one was; given, ops whose rounding may differ are looked at one by
    one, which compiles the graph once more when its results are not NumPy's bits."""
    wanted = _called(case.graph.forward(), case.objects(), ignores=True)
    if wanted.error is not None:
        return None
    got = _Call()
    got.results, got.inputs, got.warnings = results, inputs, wanted.warnings if given is None else list(given)
    return _judged(case, got, wanted, coarseness(case), 1, compile_graph, owed)


def _judged(
    case: Case,
    got: _Call,
    wanted: _Call,
    coarse: float,
    number: int,
    compile_graph: Callable[[_core.Graph], Callable[..., Any]] | None,
    owed: bool,
) -> Outcome | None:
    different = _difference(got, wanted, coarse, number)
    if different is None and owed:
        different = _missing_warning(got, wanted, number)
    if different is not None or case.check != "accuracy":
        return different
    from suture._minify import taps

    found = taps.first_wrong(case, got.results, got.inputs, compile_graph)
    if found is None:
        return None
    kind = found.kind if found.kind in KINDS else "wrong_value"
    return Outcome(kind, "compare", message=found.message, call=number)


def _missing_warning(got: _Call, wanted: _Call, number: int) -> Outcome | None:
    """The native backend promises NumPy's warnings; others may look at values only."""
    for warning in wanted.warnings:
        if warning not in got.warnings:
            return Outcome("warning", "run", message=f"{NOT_GIVEN}{warning}", call=number)
    return None


def _difference(got: _Call, wanted: _Call, coarse: float, number: int) -> Outcome | None:
    if len(got.results) != len(wanted.results):
        message = f"{len(got.results)} results instead of {len(wanted.results)}"
        return Outcome("run_error", "run", "TypeError", message, call=number)
    for index, (mine, right) in enumerate(zip(got.results, wanted.results, strict=True)):
        found = _value_difference(f"output {index}", mine, right, coarse)
        if found is None:
            mine_shares = [_shares(mine, each) for each in got.inputs]
            if mine_shares != [_shares(right, each) for each in wanted.inputs]:
                found = "wrong_alias", f"output {index} shares memory with inputs in another way than NumPy's"
        if found:
            return Outcome(found[0], "compare", message=found[1], call=number, output=index)
    for index, (mine, right) in enumerate(zip(got.inputs, wanted.inputs, strict=True)):
        found = _value_difference(f"input {index} after the call", mine, right, coarse)
        if found:
            return Outcome(found[0], "compare", message=found[1], call=number)
    new = [each for each in got.warnings if each not in wanted.warnings]
    return Outcome("warning", "run", message=new[0], call=number) if new else None


def given_again(
    results: Sequence[Any], inputs: Sequence[Any], earlier: Sequence[Any], call: int, of: int
) -> Outcome | None:
    """Memory of a result belongs to its caller: no later call may write into it. Views of what this call was given are the caller's
    own. earlier: what call `of` returned."""
    for index, result in enumerate(results):
        if any(_shares(result, each) for each in earlier) and not any(_shares(result, each) for each in inputs):
            message = f"output {index} lies in the memory of what call {of} returned"
            return Outcome("wrong_alias", "compare", message=message, call=call, output=index)
    return None


def _shares(result: Any, value: Any) -> bool:
    arrays = isinstance(result, np.ndarray) and isinstance(value, np.ndarray)
    return arrays and np.may_share_memory(result, value)


def _value_difference(what: str, mine: Any, right: Any, coarse: float) -> tuple[str, str] | None:
    """(kind, what differs), or None."""
    if other := other_type(what, mine, right):
        return other
    a, b = np.asarray(mine), np.asarray(right)
    if not _same_values(a, b, coarse):
        return "wrong_value", value_difference(what, mine, right).message
    if a.size and a.strides != b.strides:
        return "wrong_strides", f"{what} has the strides {a.strides}; NumPy gives {b.strides}"
    return None


def _same_values(a: np.ndarray, b: np.ndarray, coarse: float) -> bool:
    if not coarse or a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    return ulps_of_largest(a, b) <= TOLERANCE_ULP * max(1.0, coarse / float(np.finfo(a.dtype).eps))

"""The contract of a backend, as laws that are tested on small programs: suture.testing.check_backend.

How it works
    Every case (_contract_cases.py) is compiled with the backend and called four times: with two sets of values, then with the
    first again, beside NumPy on equal copies. A stand-in between compiler and backend sees the graph, the examples, and what
    comes back, so that a failure is laid to the law it breaks and shown with the graph. A case ends with its first failure.
"""

from __future__ import annotations

import copy
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suture import _backends
from suture._contract_cases import Case, all_cases
from suture._minify import plain_text
from suture._value_text import number, wrong_value

if TYPE_CHECKING:
    from suture._core import Graph

LAWS = {
    "compiles": "backend(graph, example_inputs) returns a callable, for every graph.",
    "compiling changes nothing": "The example inputs are the user's own objects: compiling writes into none of them.",
    "runs": "The callable raises nothing that NumPy does not raise.",
    "returns a tuple": "The callable returns a tuple with one item for every output of the graph, in their order.",
    "types": "An output is an array, a NumPy scalar or a Python number exactly where NumPy gives one.",
    "dtypes": "Outputs have the dtypes of the graph.",
    "shapes": "Outputs have the shapes of the graph.",
    "strides": "Outputs lie in memory as NumPy's, as the strides of the graph say.",
    "values": "Outputs have NumPy's values: bit for bit where ops are exact, else within the bound of docs/reference/ops.md.",
    "mutation": "Inputs change where the graph stores into them, and nowhere else.",
    "aliases": "Outputs share memory with inputs, and with each other, exactly where NumPy's do, and are as writeable.",
    "results stay": "A later call changes no result of an earlier one.",
    "deterministic": "The same inputs give the same bits.",
    "sizes": "A graph with symbols serves every size that satisfies its facts.",
    "conditions": "Floating-point conditions give the warnings and errors that np.errstate asks for.",
    "threads": "Calls of several threads do not disturb each other.",
}


_THREADS, _CALLS_OF_A_THREAD, _CALLS_AT_A_TIME = 4, 60, 4


class Failure(NamedTuple):
    law: str
    case: str
    message: str
    graph: str  # text; "" when none was captured
    nodes: int


class _Broken(Exception):
    def __init__(self, law: str, message: str) -> None:
        super().__init__(law, message)
        self.law, self.message = law, message


class BackendReport:
    """What check_backend found. `failures` has the first failure of every case."""

    def __init__(self, backend: str, cases: int, failures: list[Failure]) -> None:
        self.backend, self.cases, self.failures = backend, cases, failures

    @property
    def ok(self) -> bool:
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    @property
    def broken_laws(self) -> list[str]:
        """In the order of LAWS."""
        return [law for law in LAWS if any(failure.law == law for failure in self.failures)]

    def smallest(self, law: str) -> Failure:
        """The failure with the smallest graph. ValueError when the law holds."""
        return min((failure for failure in self.failures if failure.law == law), key=lambda failure: failure.nodes)

    def raise_if_failed(self) -> None:
        """AssertionError with the whole report, unless everything holds."""
        if self.failures:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        if self.ok:
            return f"backend {self.backend}: {self.cases} programs, every law holds"
        lines = [f"backend {self.backend}: {len(self.failures)} of {self.cases} programs break a law"]
        for law in self.broken_laws:
            failure = self.smallest(law)
            count = sum(each.law == law for each in self.failures)
            programs = f"{count} program{'' if count == 1 else 's'}"
            lines += ["", f"{law}: {LAWS[law]}", f"  {programs}, the smallest: {failure.case}"]
            lines += [f"  {line}" for line in [*failure.message.splitlines(), *failure.graph.splitlines()]]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<suture.testing.BackendReport: {self.cases} programs, {len(self.failures)} failures>"


class _Witness:
    """Stands between the compiler and the backend."""

    def __init__(self, backend: Callable[..., Any]) -> None:
        self._backend = backend
        self.graphs: list[Graph] = []
        self.broken: _Broken | None = None
        self.__name__ = _backends.name_of(backend)

    def _break(self, law: str, message: str) -> None:
        if self.broken is None:
            self.broken = _Broken(law, message)

    def __call__(self, graph: Graph, example_inputs: list[Any]) -> Any:
        self.graphs.append(graph)
        before = copy.deepcopy(example_inputs)
        try:
            made = self._backend(graph, example_inputs)
        except Exception as error:
            self._break("compiles", f"the backend raised {_named(error)}")
            raise
        if not callable(made):
            self._break("compiles", f"the backend returned {type(made).__name__}, which is not callable")
        if not all(map(_same_bits, before, example_inputs)):
            self._break("compiling changes nothing", "an example input has another value after compiling")
        return self._watched(graph, made) if callable(made) else made

    def _watched(self, graph: Graph, made: Callable[..., Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            result = made(*inputs)
            if not isinstance(result, tuple):
                self._break("returns a tuple", f"the callable returned {type(result).__name__}")
            elif len(result) != len(graph.outputs):
                self._break("returns a tuple", f"{len(result)} items for {len(graph.outputs)} outputs")
            return result

        return run


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _same_bits(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same_bits, a, b))
    return type(a) is type(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


# --- one call beside NumPy ------------------------------------------------------------------------------------------------


class _Outcome(NamedTuple):
    result: Any
    error: BaseException | None
    warnings: list[str]
    inputs: tuple[Any, ...]  # after the call


def _call(function: Callable[..., Any], inputs: tuple[Any, ...], mode: str) -> _Outcome:
    with warnings.catch_warnings(record=True) as caught, np.errstate(all=mode or "ignore"):  # type: ignore[arg-type]
        warnings.simplefilter("always")
        try:
            result, error = function(*inputs), None
        except Exception as raised:
            result, error = None, raised
    return _Outcome(result, error, sorted(str(each.message) for each in caught), inputs)


def _leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _compare_outcomes(expected: _Outcome, actual: _Outcome, ulp: int, original: tuple[Any, ...]) -> None:
    if type(expected.error) is not type(actual.error):
        law = "runs" if expected.error is None and not isinstance(actual.error, Warning) else "conditions"
        told = [_named(error) if error else "nothing" for error in (actual.error, expected.error)]
        raise _Broken(law, f"raises {told[0]}, NumPy raises {told[1]}")
    if expected.warnings != actual.warnings:
        raise _Broken("conditions", f"warns {actual.warnings}, NumPy warns {expected.warnings}")
    if expected.error is not None:
        return
    ours, theirs = _leaves(actual.result), _leaves(expected.result)
    if _aliases(ours, actual.inputs) != _aliases(theirs, expected.inputs):
        raise _Broken("aliases", _alias_sentence(_aliases(theirs, expected.inputs), _aliases(ours, actual.inputs)))
    for position, (a, e) in enumerate(zip(ours, theirs, strict=True)):
        _compare_value(e, a, ulp, f"output {position}")
    for position, (a, e) in enumerate(zip(actual.inputs, expected.inputs, strict=True)):
        if isinstance(e, np.ndarray) and not _close(e, a, ulp):
            stored = not _same_bits(e, original[position])
            what = "stored into wrongly" if stored else "changed, and the graph does not store into it"
            raise _Broken("mutation", f"input {position} is {what}: {_difference(f'input {position}', e, a)}")


def _compare_value(expected: Any, actual: Any, ulp: int, where: str) -> None:
    if type(expected) is not type(actual):
        both_numbers = isinstance(expected, np.generic) and isinstance(actual, np.generic)
        law = "dtypes" if both_numbers else "types"
        raise _Broken(law, f"{where} is {type(actual).__name__}, NumPy's is {type(expected).__name__}")
    if not isinstance(expected, (np.ndarray, np.generic)):
        if expected != actual and not (expected != expected and actual != actual):
            raise _Broken("values", f"{where} is {actual!r}, NumPy's is {expected!r}")
        return
    for law, attribute in (("dtypes", "dtype"), ("shapes", "shape")):
        if getattr(expected, attribute) != getattr(actual, attribute):
            told = f"{where} has {attribute} {getattr(actual, attribute)}, NumPy's has {getattr(expected, attribute)}"
            raise _Broken(law, told)
    if isinstance(expected, np.ndarray) and _layout(expected) != _layout(actual):
        raise _Broken("strides", f"{where} has strides {actual.strides}, NumPy's has {expected.strides}")
    if not _close(expected, actual, ulp):
        raise _Broken("values", _difference(where, expected, actual))
    if isinstance(expected, np.ndarray) and expected.flags.writeable != actual.flags.writeable:
        state = "writeable" if actual.flags.writeable else "read-only"
        raise _Broken("aliases", f"{where} is {state}, NumPy's is not")


def _layout(array: np.ndarray) -> list[int]:
    """Strides of the axes along which there is more than one element."""
    return [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1] if array.size else []


def _close(expected: Any, actual: Any, ulp: int) -> bool:
    e, a = np.asarray(expected), np.asarray(actual)
    same = (e == a) | ((e != e) & (a != a))
    if ulp and e.dtype.kind == "f":
        with np.errstate(all="ignore"):
            same |= np.abs(a - e) <= ulp * np.spacing(np.maximum(np.abs(e), np.abs(a)))
    return bool(np.all(same))


def _difference(where: str, expected: Any, actual: Any) -> str:
    e, a = np.asarray(expected), np.asarray(actual)
    wrong = ~((e == a) | ((e != e) & (a != a)))
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return wrong_value(where, number(a[at]), number(e[at]), at, wrong=int(wrong.sum()), size=e.size)


def _aliases(results: list[Any], inputs: tuple[Any, ...]) -> set[tuple[str, str]]:
    arrays = [(f"output {i}", each) for i, each in enumerate(results) if isinstance(each, np.ndarray)]
    others = arrays + [(f"input {i}", each) for i, each in enumerate(inputs) if isinstance(each, np.ndarray)]
    return {(name, other) for name, a in arrays for other, b in others if name < other and np.shares_memory(a, b)} | {
        (name, other) for name, a in arrays for other, b in others if other < name and np.shares_memory(a, b)
    }


def _alias_sentence(expected: set[tuple[str, str]], actual: set[tuple[str, str]]) -> str:
    missing, extra = sorted(expected - actual), sorted(actual - expected)
    told = [f"{a} does not share memory with {b}, as NumPy's does" for a, b in missing]
    told += [f"{a} shares memory with {b}, NumPy's does not" for a, b in extra]
    return "; ".join(told)


# --- one case -------------------------------------------------------------------------------------------------------------


def _examine(case: Case, witness: _Witness, ulp: int) -> None:
    """Raises _Broken at the first law that does not hold."""
    from suture._api import compile

    settings: dict[str, Any] = {"fullgraph": True, "dynamic": case.dynamic, "options": {"strict": True}}
    compiled = compile(backend=witness, **settings)(case.function)
    allowed = case.ulp + ulp

    def beside_numpy(call: int) -> _Outcome:
        original = case.inputs(call)
        actual = _call(compiled, copy.deepcopy(original), case.raises)
        if witness.broken:
            raise witness.broken
        _compare_outcomes(_call(case.function, copy.deepcopy(original), case.raises), actual, allowed, original)
        return actual

    first = beside_numpy(0)
    kept = copy.deepcopy(first.result)
    try:
        beside_numpy(1)
    except _Broken as broken:
        raise _Broken("sizes", broken.message) if case.dynamic else broken from None
    if not _same_bits_of(kept, first.result):
        raise _Broken("results stay", "the result of the first call has other values after the second call")
    for _ in range(2):
        if not _same_bits_of(beside_numpy(0).result, kept):
            raise _Broken("deterministic", "a call with the inputs of the first gives other bits")
    if len(witness.graphs) != 1:
        raise AssertionError(f"{case.name}: {len(witness.graphs)} graphs were compiled, expected 1")
    if case.threads:
        _examine_threads(compiled, case, allowed)


def _same_bits_of(a: Any, b: Any) -> bool:
    return all(map(_same_bits, _leaves(a), _leaves(b)))


def _examine_threads(compiled: Callable[..., Any], case: Case, ulp: int) -> None:
    """Threads change places as often as they can, so that what they share is written by one while another reads it."""
    together = Barrier(_THREADS)

    def calls(call: int) -> None:
        original = case.inputs(call)
        expected = case.function(*original)
        try:
            for number in range(_CALLS_OF_A_THREAD):
                if number % _CALLS_AT_A_TIME == 0:  # else one might be done before the next one has begun
                    together.wait()
                _compare_value(expected, compiled(*original), ulp, f"output of thread {call}")
        except BaseException:
            together.abort()
            raise

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            ends = [pool.submit(calls, call) for call in range(_THREADS)]
    finally:
        sys.setswitchinterval(interval)
    errors = [error for end in ends if (error := end.exception()) and not isinstance(error, BrokenBarrierError)]
    for error in errors:
        raise _Broken("threads", error.message if isinstance(error, _Broken) else f"raises {_named(error)}") from error


class BackendLaw:
    """A case as a test: law(backend) raises AssertionError when a law is broken."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.name = case.name

    def __call__(self, backend: Any, ulp: int = 0, without: Iterable[str] = ()) -> None:
        failure = _failure_of(self._case, backend, ulp, set(without))
        if failure:
            BackendReport(_name_of(backend), 1, [failure]).raise_if_failed()

    def __repr__(self) -> str:
        return self.name


def _name_of(backend: Any) -> str:
    return plain_text.printable(_backends.name_of(backend) if callable(backend) else str(backend))


def _failure_of(case: Case, backend: Any, ulp: int, without: set[str]) -> Failure | None:
    from suture import _backends

    if case.raises and "conditions" in without:
        return None
    witness = _Witness(_backends.callable_of(backend))
    try:
        _examine(case, witness, ulp)
    except _Broken as broken:
        if broken.law in without:
            return None
        graph = witness.graphs[0] if witness.graphs else None
        return Failure(broken.law, case.name, broken.message, _without_places(graph), len(graph.nodes) if graph else 0)
    return None


def _without_places(graph: Graph | None) -> str:
    return re.sub(r' ; "[^\n]*', "", graph.text) if graph else ""


def check_backend(
    backend: str | Callable[..., Any], *, ulp: int = 0, without: Iterable[str] = (), cases: str = ""
) -> BackendReport:
    """Runs a backend through the contract that suture.compile relies on: several hundred small programs beside NumPy, over all
    kinds of ops, dtypes, layouts, empty and 0-d arrays, views and aliases, stores, scalars, symbolic sizes, conditions, threads.

    backend  a name or a callable(graph, example_inputs)
    ulp      how far floats may be from NumPy's beyond the bound of their op, in units in the last place: a backend that adds
             in another order than NumPy needs some
    without  names of laws that the backend does not promise (suture.testing.BACKEND_LAWS)
    cases    only programs whose name contains this text

    Returns a report: `ok`, `broken_laws`, `failures`, `raise_if_failed()`; str() names each broken law with the smallest graph
    that breaks it, and it is true when none is broken. ValueError for a law that does not exist, or when no program has `cases`
    in its name. A backend that crashes or hangs takes the process along.
    """
    from suture import _core

    known, left_out = list(LAWS), set(without)
    for law in sorted(left_out):
        if law not in LAWS:
            raise ValueError(f"no law is named '{law}'{_core.did_you_mean(law, known, f'; known: {known}')}")
    chosen = [case for case in all_cases() if cases in case.name]
    if not chosen:
        raise ValueError(f"no program's name contains {cases!r}")
    failures = [_failure_of(case, backend, ulp, left_out) for case in chosen]
    return BackendReport(_name_of(backend), len(chosen), [failure for failure in failures if failure])


def backend_laws() -> list[BackendLaw]:
    """The programs of check_backend one by one, for pytest.mark.parametrize."""
    return [BackendLaw(case) for case in all_cases()]

"""suture.minify: from what a user has in hand to a case, and to the smallest one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from suture import _core
from suture._config import config
from suture._minify.case import Case
from suture._minify.defaults import BUDGET, RUN_SECONDS
from suture._minify.minimise import MAX_INPUT_BYTES, Progress, Result, minimise
from suture._minify.oracle import FLAKY_RUNS, Limits, MinifyError, NotReproduced, Oracle
from suture._minify.predicate import TestOracle
from suture._minify.signature import Outcome, Signature, is_wanted

_MOST_CASES = 64  # graphs of one call that are looked at


def minify(
    failing: Any,
    *inputs: Any,
    kwargs: Mapping[str, Any] | None = None,
    backend: str | Callable[..., Any] | None = None,
    numerics: str | None = None,
    options: Mapping[str, Any] | None = None,
    dynamic: bool | None = None,
    calls: int | None = None,
    check: str | None = None,
    signature: Signature | None = None,
    predicate: Callable[[Case], bool] | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | Path | None = None,
    time_limit: float = RUN_SECONDS,
    memory_limit: int | None = 8 << 30,
    budget: int = BUDGET,
    seconds: float | None = None,
    max_bytes: int = MAX_INPUT_BYTES,
) -> Result:
    """Reduces what fails under a backend to the smallest graph, inputs and settings that fail in the same way.

        result = suture.minify(f, x, 3.0)        # f: compiled with suture.compile, or a function
        result = suture.minify(graph, *inputs, backend="mine")
        print(result.case.graph.code)

    failing     a function (the graphs of the call f(*inputs, **kwargs) are tried in order, the first that fails is reduced), a
                suture.Graph, or a Case. It is never run with its backend in this process: crashes and hangs are fine.
    inputs      what the function, or the graph, is called with
    backend     a name or a callable(graph, inputs); default: that of the compiled function, else "native"
    numerics, options, dynamic   as for suture.compile; default: those of the compiled function
    calls       how often the compiled graph is called, with equal inputs each time (1)
    check       "compile": whether it compiles; "run" (default): also whether results are NumPy's; "accuracy": also whether they
                are as close to the exact ones as they should be
    signature   what counts as the same failure; default: that of the first failure
    predicate   says of a Case whether it is interesting, in place of a failure; called in as many threads as there are workers
    workers     processes that judge candidates; default: two, if there are two processors. The result does not depend on it
    progress    called with a Progress after every step; str() of it is a line for people
    checkpoint  a file that keeps verdicts: the same call goes on from there
    time_limit  seconds that one compile or one call may take; longer is a hang
    memory_limit  bytes that a run may ask for
    budget      oracle calls, and seconds: of the whole search; then the smallest case so far is the result
    max_bytes   largest inputs that are worked with; larger ones are cut if they still fail

    Returns a Result; Ctrl-C ends the search and the result is what was found (result.complete is False).
    Raises NotReproduced when nothing fails, MinifyError when inputs are too large or the checkpoint cannot be written, CaseError
    (a ValueError) for inputs that do not fit the graph.

    Algorithm: see minimise.py and src/toolbox/reduce.
    """
    settings: dict[str, Any] = {"calls": calls, "check": check, "numerics": numerics, "options": options}
    if workers is None:
        workers = min(2, len(os.sched_getaffinity(0)))
    limits = Limits(seconds=time_limit, memory=memory_limit)
    if isinstance(failing, Case):
        if inputs or kwargs:
            raise TypeError("minify: a Case has its inputs already")
        given = {name: value for name, value in settings.items() if value is not None}
        if backend is not None:
            given["backend"] = _name_of(backend)
        case = failing.with_(**given) if given else failing
    elif isinstance(failing, _core.Graph):
        if kwargs or dynamic is not None:
            raise TypeError("minify: kwargs and dynamic are for functions, not for graphs")
        given = {name: value for name, value in settings.items() if value is not None}
        case = Case.of(failing, inputs, backend=_name_of(backend or "native"), **given)
    elif callable(failing):
        cases = cases_of_call(failing, inputs, kwargs or {}, backend, dynamic, settings)
        case = (
            _first_failing(cases, signature, limits, max_bytes) if predicate is None else _first_kept(cases, predicate)
        )
    else:
        raise TypeError(f"minify: a function, a suture.Graph or a Case, not {type(failing).__name__}")
    return minimise(
        case,
        signature=signature,
        workers=workers,
        progress=progress,
        checkpoint=checkpoint,
        limits=limits,
        budget=budget,
        seconds=seconds,
        max_bytes=max_bytes,
        oracle=None if predicate is None else TestOracle(case, predicate, workers=workers),
    )


def _first_kept(cases: Sequence[Case], predicate: Callable[[Case], bool]) -> Case:
    kept = next((case for case in cases if predicate(case)), None)
    if kept is None:
        raise NotReproduced(f"the predicate refuses each of the {len(cases)} graphs of this call", [])
    return kept


def _name_of(backend: str | Callable[..., Any]) -> str:
    """The name under which child processes find a backend; a callable that has none is registered under its own."""
    from suture import _backends

    if not callable(backend):
        if backend != "native":
            _backends.resolve(backend)  # ValueError for a name that nobody knows
        return backend
    name, resolved = _backends.resolve(backend)
    for known, registered in _backends._registered.items():
        if registered is backend:
            return known
    if _backends.is_reserved(name):
        name = name.partition(":")[0] + "_of_the_program"
    unique, number = name, 1
    while unique in _backends.list_backends():
        number += 1
        unique = f"{name}_{number}"
    _backends.register_backend(unique, resolved)
    return unique


def _backend_of(known: Mapping[str, Any]) -> str:
    """Of a compiled function's settings, by name."""
    from suture import _backends

    name: str = known.get("backend", config.backend)
    given = known.get("backend_callable")
    if given is None:
        return name
    try:
        # A name with settings makes a new callable each time.
        same = _backends.is_installed(name, given) or _backends.resolve(name)[1] is given
    except ValueError:
        same = False
    return name if same else _name_of(given)


def cases_of_call(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    backend: str | Callable[..., Any] | None = None,
    dynamic: bool | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Case]:
    """One case per graph that a call of the function runs, with the inputs that the graph is given there. The call is made here,
    with NumPy as the backend."""
    from suture._api import compile

    known: dict[str, Any] = {}
    if _core.is_compiled(function):
        known = _core.settings(function)  # type: ignore[arg-type]
    name = _name_of(backend) if backend is not None else _backend_of(known)
    given = {
        "numerics": known.get("numerics", config.numerics),
        "options": config.values(known.get("options")) or {},
        **{name: value for name, value in (settings or {}).items() if value is not None},
    }
    cases: dict[str, Case] = {}

    def record(graph: _core.Graph, examples: list[Any]) -> Callable[..., tuple[Any, ...]]:
        forward = graph.forward()

        def run(*values: Any) -> tuple[Any, ...]:
            if len(cases) < _MOST_CASES:
                case = Case.of(graph, values, backend=name, **given)
                cases.setdefault(case.key, case)
            return forward(*values)

        return run

    options = {name: value for name, value in given["options"].items() if name != "disable"}
    dynamic = dynamic if dynamic is not None else known.get("dynamic")
    decorate = compile(backend=record, numerics=given["numerics"], options=options or None, dynamic=dynamic)
    try:
        decorate(function)(*inputs, **kwargs)
    except Exception as error:
        if not cases:
            raise MinifyError(
                f"the call raises {type(error).__name__} under NumPy already, before any graph: {error}"
            ) from error
    if not cases:
        raise MinifyError("the call runs no compiled graph: suture.explain(f)(...) tells why")
    return list(cases.values())


def _first_failing(cases: Sequence[Case], signature: Signature | None, limits: Limits, max_bytes: int) -> Case:
    if len(cases) == 1:
        return cases[0]
    endings: list[Outcome] = []
    with Oracle(cases[0], signature, limits) as oracle:
        for number, case in enumerate([*cases] * FLAKY_RUNS):  # what comes and goes may pass once
            if case.nbytes > max_bytes:
                return case  # minimise() cuts it, or says what to do
            ending = oracle.outcomes([case])[0]
            if is_wanted(ending, signature):
                return case
            if number < len(cases):
                endings.append(ending)
    how = "; ".join(f"graph {number}: {outcome}" for number, outcome in enumerate(endings, 1))
    raise NotReproduced(f"none of the {len(cases)} graphs of this call fails: {how}", endings)

"""A compiled graph whose failing runs leave a file (option repro_after).

A run fails when it raises where NumPy does not and, at repro_level 4, when its results or its warnings are not NumPy's, or results
lie in the memory of those of the call before. What NumPy raises as well is the program's own exception and goes through untouched.
A failing run whose inputs do not fit the graph is no fault of the graph: a guard let them through (frame_checks.py).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suture._minify import plain_text, run_case
from suture._minify.given_warnings import Heard
from suture._minify.signature import Outcome

if TYPE_CHECKING:
    from suture._minify.case import Case
    from suture._minify.launcher import Watched

Compiled = Callable[..., tuple[Any, ...]]


def checked(compiled: Compiled, watched: Watched) -> Compiled:
    """`compiled`, with failures turned into BackendCompilerFailed. At level 4 every call is also done by NumPy, and in the first
    each op is looked at."""
    compares = watched.level == 4
    looks = compares
    keeps_inputs = compares or any(node["kind"] == "Effect" for node in watched.graph.nodes)

    calls = 0
    earlier: list[weakref.ref[np.ndarray]] = []  # what the last call returned

    def run(*inputs: Any) -> tuple[Any, ...]:
        nonlocal calls, looks
        calls += 1
        case = watched.with_inputs(list(inputs)).case_of("accuracy" if compares else "run") if keeps_inputs else None
        heard = Heard()
        try:
            with heard if compares else nullcontext():
                outputs = compiled(*inputs)
        except Exception as error:
            if _is_for_the_frame(error):
                raise
            outcome = _raised_alone(watched, inputs if case is None else case.objects(), error)
            if outcome is None:
                raise
            words = f"raised {outcome.exception}: {outcome.message}"
            given = inputs if case is None else case.objects()
            raise _failure(watched, given, replace(outcome, call=calls), words, error) from error
        if compares and case is not None:
            fits = not _misfit(watched, case.objects())
            compile_graph, looks = watched.compiler(case) if looks and fits else None, False
            judged = case if fits else case.with_(check="run")  # no op is looked at alone
            owed = watched.is_native and heard.texts is not None
            wrong = run_case.compare(judged, tuple(outputs), list(inputs), compile_graph, given=heard.texts, owed=owed)
            kept = [each for reference in earlier if (each := reference()) is not None]
            wrong = wrong or run_case.given_again(outputs, inputs, kept, calls, calls - 1)
            earlier[:] = [weakref.ref(each) for each in outputs if isinstance(each, np.ndarray)]
            if wrong is not None:
                words = _in_words(wrong) + (_first_op(watched, case) if fits and wrong.kind != "warning" else "")
                raise _failure(watched, case.objects(), replace(wrong, call=calls), words, None)
        return outputs

    return run


def _misfit(watched: Watched, inputs: Sequence[Any]) -> str:
    """What of the inputs the graph was not compiled for; "" when it was."""
    try:
        watched.graph.check_inputs(*inputs)
    except (TypeError, ValueError) as error:
        return plain_text.of_exception(error)
    return ""


def _in_words(wrong: Outcome) -> str:
    if wrong.kind != "warning":
        return f"gave a wrong result: {wrong.message}"
    missing = wrong.message.removeprefix(run_case.NOT_GIVEN)
    if missing != wrong.message:
        return f"did not give a warning that NumPy gives: {missing}"
    return f"gave a warning that NumPy does not give: {wrong.message}"


def _first_op(watched: Watched, case: Case) -> str:
    from suture._minify import taps

    where = taps.first_op(case, watched.compiler(case))
    return f"\nThe first op that is wrong: {where}" if where else ""


def _failure(watched: Watched, inputs: Any, outcome: Outcome, words: str, cause: BaseException | None) -> BaseException:
    if misfit := _misfit(watched, inputs):
        from suture._minify import frame_checks

        return frame_checks.of_a_guard(watched.case, words, misfit, cause)
    return watched.with_inputs(list(inputs)).failure(outcome, words, cause)


def _is_for_the_frame(error: Exception) -> bool:
    """The compiled graph asks for its frame to be run by Python."""
    return type(error).__module__ == "suture" and type(error).__name__ == "FrameRerun"


def _raised_alone(watched: Watched, inputs: Any, error: Exception) -> Outcome | None:
    """The failure; None when NumPy raises this type as well, or there was no memory."""
    if isinstance(error, MemoryError):
        return None
    try:
        watched.graph.eval(*inputs)
    except Exception as own:
        if type(own) is type(error):
            return None
    return Outcome("run_error", "run", type(error).__name__, plain_text.of_exception(error), call=1)

"""Assertions for tests of code that is compiled with Suture, and the contract tests of backends.

Each of them also fails when nothing was compiled at all: a test that passes because everything ran in the interpreter
proves nothing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from suture import _core
from suture._api import compile
from suture._contract import LAWS as BACKEND_LAWS
from suture._contract import BackendReport, backend_laws, check_backend
from suture._explain import Explanation, explain
from suture._toolbox import escape_line

__all__ = [
    "BACKEND_LAWS",
    "BackendReport",
    "CompiledFrames",
    "assert_guard_budget",
    "assert_matches_numpy",
    "assert_max_recompiles",
    "assert_no_graph_breaks",
    "backend_laws",
    "check_backend",
    "frames_compiled",
]


class CompiledFrames:
    """Frames compiled so far: `count`, and `functions` with one name per compile."""

    def __init__(self) -> None:
        self.functions: list[str] = []

    @property
    def count(self) -> int:
        return len(self.functions)

    def __int__(self) -> int:
        return self.count

    def _event(self, line: str) -> None:
        self.functions.append(json.loads(line)["fields"].get("function", "?"))


@contextmanager
def frames_compiled(expected: int | None = None) -> Iterator[CompiledFrames]:
    """Counts the frames compiled inside the block; with `expected`, fails when the count is another one."""
    frames = CompiledFrames()
    token = _core.subscribe(["frame_done"], frames._event)
    try:
        yield frames
    finally:
        _core.unsubscribe(token)
    if expected is not None and frames.count != expected:
        raise AssertionError(f"{frames.count} frames were compiled, expected {expected}: {frames.functions}")


def _explanation(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
    if _core.is_compiled(fn) and not args and not kwargs:
        return Explanation.of(fn)
    if _core.is_compiled(fn):
        return Explanation.of(fn)(*args, **kwargs)
    return explain(fn)(*args, **kwargs)


def assert_no_graph_breaks(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Runs `fn` with the arguments (a compiled function without arguments: looks at its records) and fails on any
    graph break, on a function that was skipped, and when nothing was compiled."""
    explanation = _explanation(fn, args, kwargs)
    problems = [
        escape_line(f"{item['file']}:{item['line']}: {item['reason']} ({item['reason_id']}): {item['explanation']}")
        for item in explanation.break_reasons + explanation.skipped
    ]
    if problems:
        raise AssertionError(f"{len(problems)} graph breaks or skips:\n  " + "\n  ".join(problems))
    if explanation.graph_count == 0:
        raise AssertionError("nothing was compiled: the function has no graph")
    return explanation


def assert_max_recompiles(compiled: Callable[..., Any], limit: int) -> None:
    """Fails when a compiled function (its resume functions included) was compiled again more than `limit` times."""
    status = _core.status(compiled)  # type: ignore[arg-type]
    if not any(frame["compiles"] for frame in status["frames"]):
        raise AssertionError("nothing was compiled: the function was never called, or was skipped")
    if status["recompiles"] <= limit:
        return
    lines = [
        "  " + escape_line(f"{item['function']}: {failure}")
        for item in Explanation.of(compiled).recompiles
        for failure in item["failures"]
    ]
    raise AssertionError(f"{status['recompiles']} recompiles, at most {limit} allowed:\n" + "\n".join(lines))


def assert_guard_budget(
    compiled: Callable[..., Any], max_guards: int | None = None, max_ns: float | None = None
) -> None:
    """Fails when testing the guards of an entry of a compiled function (its resume functions included) is too expensive.

    max_guards  guards of one entry
    max_ns      nanoseconds that testing all of them takes with warm caches: the least of the samples, see Status

    The message names the costliest guards with what would make them unnecessary.
    """
    status = _core.status(compiled)  # type: ignore[arg-type]
    entries = [(frame, entry) for frame in status["frames"] for entry in frame["entries"] if entry["guard_costs"]]
    if not entries:
        raise AssertionError("nothing was compiled: the function was never called, or was skipped")
    unmeasured = [frame["function"] for frame, entry in entries if entry["guard_ns"] is None]
    if max_ns is not None and unmeasured:
        raise AssertionError(f"the guards of {unmeasured[0]} were not timed: an argument changed while it was compiled")
    problems = [
        _over_guard_budget(frame, entry, max_guards, max_ns)
        for frame, entry in entries
        if (max_guards is not None and len(entry["guards"]) > max_guards)
        or (max_ns is not None and (entry["guard_ns"] or 0) > max_ns)
    ]
    if problems:
        raise AssertionError("\n".join(problems))


_MOST_GUARDS_NAMED = 5


def _over_guard_budget(frame: _core.Frame, entry: _core.Entry, max_guards: int | None, max_ns: float | None) -> str:
    limits = [f"{max_guards} guards"] if max_guards is not None else []
    limits += [f"{max_ns:g} ns"] if max_ns is not None else []
    place = escape_line(f"{frame['function']} ({frame['file']}:{frame['line']})")
    lines = [
        f"{place}, entry {entry['number']}: {len(entry['guards'])} guards,"
        f" {_nanoseconds(entry['guard_ns'])}; at most {' and '.join(limits)} allowed. Costliest first:"
    ]
    costs = sorted(entry["guard_costs"], key=lambda guard: -(guard["ns"] or 0))
    for guard in costs[:_MOST_GUARDS_NAMED]:
        made = f"  # {guard['place']}" if guard["place"] else ""
        lines.append("  " + escape_line(f"{_nanoseconds(guard['ns'])}: {guard['check']}{made}"))
    removals = dict.fromkeys(guard["removal"] for guard in costs if guard["removal"])
    lines += [f"  To remove guards: {removal}" for removal in removals]
    if not removals:
        lines.append("  Every one of them is needed: pass fewer arguments, or allow more.")
    return "\n".join(lines)


def _nanoseconds(ns: float | None) -> str:
    return "not timed" if ns is None else f"{ns:.1f} ns"


def assert_matches_numpy(
    fn: Callable[..., Any],
    *args: Any,
    frames: int | None = None,
    ulp: int = 0,
    calls: int = 2,
    **kwargs: Any,
) -> Any:
    """Runs `fn` compiled and in the interpreter on equal copies of the arguments and compares results and arguments.

    frames  how many frames must be compiled; None: at least one
    ulp     greatest difference of floats, in units in the last place
    calls   how often to call: the second call runs the compiled entry
    """
    original = _core.wrapped(fn) if _core.is_compiled(fn) else fn  # type: ignore[arg-type]
    compiled = fn if _core.is_compiled(fn) else compile(fn)
    result = None
    with frames_compiled() as counted:
        for _ in range(calls):
            ours, theirs = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
            expected = original(*theirs[0], **theirs[1])
            result = compiled(*ours[0], **ours[1])
            _compare(expected, result, ulp, "result")
            _compare(theirs, ours, ulp, "arguments after the call")
    if frames is not None and counted.count != frames:
        raise AssertionError(f"{counted.count} frames were compiled, expected {frames}: {counted.functions}")
    if frames is None and not any(frame["compiles"] for frame in _core.status(compiled)["frames"]):  # type: ignore[arg-type]
        raise AssertionError("nothing was compiled")
    return result


def _compare(expected: Any, actual: Any, ulp: int, where: str) -> None:
    if type(expected) is not type(actual):
        raise AssertionError(f"{where}: type {type(actual).__name__}, expected {type(expected).__name__}")
    if isinstance(expected, (tuple, list)):
        if len(expected) != len(actual):
            raise AssertionError(f"{where}: {len(actual)} items, expected {len(expected)}")
        for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
            _compare(e, a, ulp, f"{where}[{i}]")
    elif isinstance(expected, dict):
        if list(expected) != list(actual):
            raise AssertionError(f"{where}: keys {list(actual)}, expected {list(expected)}")
        for key in expected:
            _compare(expected[key], actual[key], ulp, f"{where}[{key!r}]")
    elif isinstance(expected, (np.ndarray, np.generic, float)):
        _compare_arrays(np.asarray(expected), np.asarray(actual), ulp, where)
    elif type(expected).__eq__ is not object.__eq__ and expected != actual:
        raise AssertionError(f"{where}: {actual!r}, expected {expected!r}")


def _compare_arrays(expected: np.ndarray, actual: np.ndarray, ulp: int, where: str) -> None:
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        raise AssertionError(
            f"{where}: {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
        )
    if ulp and expected.dtype.kind == "f":
        np.testing.assert_array_max_ulp(actual, expected, ulp)
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=where)

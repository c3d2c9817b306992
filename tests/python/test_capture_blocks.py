"""try and with: array work inside them is compiled, and handlers see what NumPy would have left."""

from __future__ import annotations

import traceback
import warnings

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import check, frames_compiled

X = np.linspace(-2.0, 2.0, 12).reshape(3, 4)
ONES = np.ones(3)
ZEROS = np.array([1.0, 0.0, 3.0])


def raised_line(function, *arguments) -> tuple[type, str, int]:
    with pytest.raises(Exception) as info:
        function(*arguments)
    lines = [e.lineno for e in traceback.extract_tb(info.value.__traceback__) if e.filename == __file__]
    return info.type, str(info.value), lines[-1]


def in_try(x):
    try:
        y = x * 2
        y = y / (x + 3)
    except FloatingPointError:
        y = x - 1
    return y + 1


def in_finally(x, log):
    y = x
    try:
        y = y * 2 + 1
    finally:
        log.append("left")
    return y - 1


def handler_reads_what_was_done(x, log):
    y = x * 2
    try:
        y = y + 1
        log.append(1)
        y = 1 / x
        log.append(2)
    except FloatingPointError as error:
        log.append(str(error))
        return y
    return y * 2


def nested(x):
    try:
        try:
            y = np.sqrt(x)
        finally:
            z = x + 1
        return y + z
    except FloatingPointError:
        return x * 0


class Recorder:
    def __init__(self, log, swallows=()):
        self.log, self.swallows = log, swallows

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(("exit", kind))
        return kind is not None and issubclass(kind, self.swallows)


def in_with(x, log):
    y = x + 1
    with Recorder(log) as recorder:
        y = y * 2
        recorder.log.append(len(log))
    return y - 1


def swallowed(x, log):
    y = x + 1
    with Recorder(log, FloatingPointError):
        y = y * 2
        y = 1 / x
        log.append("not reached with zeros")
    return y - 1


def break_in_try(x, log):
    y = x * 2
    try:
        y = y + 1
        print(end="")
        y = y + log[3]
    except IndexError:
        y = y - 7
    else:
        y = y * 3
    return y + x


def loop_in_try(x, log):
    y = x
    try:
        for i in range(6):
            y = y + i
            log.append(i)
            print(end="")
            if i == 4:
                raise ValueError(i)
    except ValueError as error:
        y = y * 10 + error.args[0]
    return y


def loop_in_with(x, log):
    y = x
    with Recorder(log, ValueError):
        for i in range(6):
            y = y + i
            print(end="")
            if i == 4:
                raise ValueError(i)
    return y


def inlined(x):
    def safe(a):
        try:
            return 1 / a
        except FloatingPointError:
            return a * 0

    return safe(x) + safe(x + 1)


PROGRAMS = [
    # function, extra arguments, frames that compile with harmless values
    (in_try, 0, 1),
    (in_finally, 1, 1),
    (handler_reads_what_was_done, 1, 1),
    (nested, 0, 1),
    (in_with, 1, 3),
    (swallowed, 1, 3),
    (break_in_try, 1, 2),
    (loop_in_try, 1, 3),
    (loop_in_with, 1, 4),
    (inlined, 0, 1),
]


@pytest.mark.parametrize(("f", "logs", "frames"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
@pytest.mark.parametrize("state", ["ignore", "warn", "raise"])
def test_blocks_compile_and_handlers_see_what_numpy_leaves(f, logs, frames, state):
    compiled = suture.compile(f)
    with np.errstate(all=state):
        for x in (X, ZEROS):
            check(f, compiled, (x, [])[: 1 + logs])
    assert frames_compiled(compiled) >= frames, _core.status(compiled)["frames"]


class Box:
    def __init__(self):
        self.value = None


def effects_then_division(x, log, box, names):
    y = x + 1
    log.append("before")
    box.value = len(log)
    names["seen"] = 1
    y = y / x
    log.append("after")
    box.value = "after"
    return y


def test_effects_before_an_exception_of_numpy_are_kept_and_later_ones_are_not():
    compiled = suture.compile(effects_then_division)

    def run(function, x):
        log, box, names = [], Box(), {}
        with np.errstate(all="raise"):
            outcome = raised_line(function, x, log, box, names)
        return outcome, log, box.value, names

    log, box, names = [], Box(), {}
    compiled(ONES, log, box, names)
    assert (log, box.value, names) == (["before", "after"], "after", {"seen": 1})
    assert run(compiled, ZEROS) == run(effects_then_division, ZEROS)
    assert frames_compiled(compiled) == 1


def effects_break_division(x, log):
    log.append("first")
    print(end="")
    log.append("second")
    y = 1 / x
    log.append("third")
    return y


def test_effects_are_kept_when_the_exception_comes_after_a_break():
    compiled = suture.compile(effects_break_division)
    for function in (effects_break_division, compiled):
        log = []
        with np.errstate(all="raise"):
            kind, text, line = raised_line(function, ZEROS, log)
        assert (kind, line) == (FloatingPointError, effects_break_division.__code__.co_firstlineno + 4)
        assert log == ["first", "second"]
    compiled(ONES, [])
    assert frames_compiled(compiled) == 2


def stores_then_division(x, out):
    out[0] = 7.0
    y = 1 / x
    out[1] = 8.0
    return y


def test_stores_into_arguments_are_those_made_before_the_exception():
    compiled = suture.compile(stores_then_division)
    with np.errstate(all="raise"):
        check(stores_then_division, compiled, (X[0], np.zeros(2)))
        check(stores_then_division, compiled, (ZEROS, np.zeros(2)))
    assert frames_compiled(compiled) >= 1


def warns_in_an_inlined_function(x):
    def inverse(a):
        return 1 / a

    y = x * 2
    return inverse(y) + 1


def test_warnings_and_tracebacks_of_inlined_functions_are_those_of_python():
    compiled = suture.compile(warns_in_an_inlined_function)
    compiled(ONES)
    seen = []
    for function in (warns_in_an_inlined_function, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(ZEROS)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError) as info:
            function(ZEROS)
        entries = [(e.name, e.lineno) for e in traceback.extract_tb(info.value.__traceback__) if e.filename == __file__]
        seen.append(([(str(w.message), w.filename, w.lineno) for w in caught], entries))
    assert seen[0] == seen[1] and len(seen[0][1]) == 3
    assert frames_compiled(compiled) == 1


def error_states(x):
    with np.errstate(divide="raise", invalid="ignore"):
        a = np.sqrt(x)
        try:
            b = 1 / x
        except FloatingPointError as error:
            b = x * len(str(error))
    c = 1 / (x + 5)
    return a + b + c


def test_errstate_is_entered_and_left_around_compiled_work():
    compiled = suture.compile(error_states)
    for x in (X, ZEROS, -ZEROS):
        check(error_states, compiled, (x,))
    assert np.geterr()["divide"] == "warn"
    assert frames_compiled(compiled) >= 3


def test_errstate_of_wrong_arguments_raises_as_in_numpy():
    def f(x):
        with np.errstate(nonsense="ignore"):
            return x * 2

    def g(x):
        with np.errstate(all="nonsense"):
            return x * 2

    for function in (f, g):
        compiled = suture.compile(function)
        check(function, compiled, (X,))


def out_of_memory(x, n):
    try:
        return np.zeros(n) + x[0]
    except MemoryError:
        return x * 2


def test_a_handler_of_memory_errors_is_reached():
    compiled = suture.compile(out_of_memory, dynamic=True)
    check(out_of_memory, compiled, (ZEROS, 4))
    check(out_of_memory, compiled, (ZEROS, 1 << 55))
    assert frames_compiled(compiled) >= 1


def interrupted(x, log):
    try:
        y = x * 2
        log.append(1)
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        log.append(2)
    finally:
        log.append(3)
    return y


def test_exceptions_that_are_no_errors_reach_their_handlers():
    compiled = suture.compile(interrupted)
    check(interrupted, compiled, (X, []))
    assert frames_compiled(compiled) == 1

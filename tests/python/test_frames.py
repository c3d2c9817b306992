"""What a program sees of its own frames is what it sees without Suture."""

from __future__ import annotations

import inspect
import logging
import sys
import traceback
import warnings

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled

X = np.ones(3)


@suture.disable
def opaque(value):
    return value


def frame_code(x):
    y = x * 2
    opaque(1)
    frame = sys._getframe()
    return y, frame.f_code.co_name, sorted(frame.f_locals), frame.f_back.f_code.co_name


def current_frame(x):
    y = x * 2
    return y, inspect.currentframe().f_code.co_name, sorted(inspect.currentframe().f_locals)


def stack_names(x):
    y = x * 2
    opaque(1)
    return y, [entry.function for entry in inspect.stack()[:3]]


def local_names(x):
    y = x * 2
    opaque(1)
    return y, sorted(locals()), "stack_names" in globals()


def evaluated(x):
    y = x * 2
    return eval("y + x")


def evaluate_in_caller(text):
    return eval(text, {}, sys._getframe(1).f_locals)


def evaluated_by_a_callee(x):
    y = x * 2
    unused = y + 1
    opaque(1)
    return evaluate_in_caller("y * 3"), unused


CALLED = [frame_code, current_frame, stack_names, local_names, evaluated, evaluated_by_a_callee]


def results(function):
    first, *rest = function(X) if isinstance(function(X), tuple) else (function(X),)
    return first.tolist(), rest if all(not isinstance(r, np.ndarray) for r in rest) else [r.tolist() for r in rest]


@pytest.mark.parametrize("f", CALLED, ids=lambda f: f.__name__)
def test_frames_show_what_python_shows(f):
    assert results(suture.compile(f)) == results(f)


def entries(x):
    y = x * 2
    opaque(1)
    stack = [(e.name, e.lineno) for e in traceback.extract_stack(limit=2)]
    return y + 1, stack


def entries_in_a_loop(x):
    y, stacks = x * 2, []
    for i in range(3):
        y = y + i
        stacks.append([(e.name, e.lineno) for e in traceback.extract_stack(limit=2)])
    return y, stacks


@pytest.mark.parametrize(("f", "frames"), [(entries, 1), (entries_in_a_loop, 0)])
def test_extracted_stacks_are_those_of_python(f, frames):
    compiled = suture.compile(f)
    stacks = [function(X)[1] for function in (f, compiled)]
    assert stacks[0] == stacks[1]
    assert frames_compiled(compiled) >= frames


def warns(x):
    y = x * 2
    opaque(1)
    warnings.warn("about the caller", stacklevel=2)
    warnings.warn("about this line", stacklevel=1)
    return y + 1


def warns_in_a_loop(x):
    for i in range(3):
        x = x + i
        warnings.warn(f"step {i}", stacklevel=2)
    return x


@pytest.mark.parametrize(("f", "frames"), [(warns, 4), (warns_in_a_loop, 0)])
def test_warnings_are_blamed_on_the_line_that_python_blames(f, frames):
    compiled, seen = suture.compile(f), []
    for function in (f, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(X)
        seen.append([(str(w.message), w.filename, w.lineno) for w in caught])
    assert seen[0] == seen[1]
    assert frames_compiled(compiled) == frames


def raises_after_breaks(x):
    y = x * 2
    opaque(1)
    y = y + 1
    for i in range(3):
        y = y + i
        opaque(i)
    raise ValueError("here")


def raises_in_a_handler(x):
    y = x * 2
    try:
        opaque(1)
        raise KeyError(1)
    except KeyError:
        y = y + 1
        raise ValueError(y.tolist())


@pytest.mark.parametrize("f", [raises_after_breaks, raises_in_a_handler])
def test_tracebacks_show_the_function_once_with_its_name(f):
    compiled, seen = suture.compile(f), []
    for function in (f, compiled):
        with pytest.raises(ValueError) as info:
            function(X)
        inside = [e for e in traceback.extract_tb(info.value.__traceback__) if e.filename == __file__][1:]
        seen.append([(e.name, e.lineno, e.line) for e in inside])
    assert seen[0] == seen[1]
    assert frames_compiled(compiled) >= 1


def logs(x):
    y = x * 2
    logging.getLogger("frames").warning("once")
    for i in range(2):
        y = y + i
        logging.getLogger("frames").warning("loop")
    return y


def test_log_records_carry_name_and_line(caplog):
    compiled, seen = suture.compile(logs), []
    for function in (logs, compiled):
        caplog.clear()
        function(X)
        seen.append([(r.funcName, r.lineno, r.getMessage()) for r in caplog.records if r.name == "frames"])
    assert seen[0] == seen[1] and len(seen[0]) == 3
    assert frames_compiled(compiled) >= 2


def many_breaks(x, depth):
    for _ in range(2):
        opaque(1)
    if depth:
        return many_breaks(x + 1, depth - 1)
    return x


def test_recursion_is_as_deep_as_without_suture():
    limit = sys.getrecursionlimit()
    depth = len(inspect.stack(0)) + 200
    sys.setrecursionlimit(depth + 200)
    try:
        np.testing.assert_array_equal(suture.compile(many_breaks)(X, 60), many_breaks(X, 60))
    finally:
        sys.setrecursionlimit(limit)

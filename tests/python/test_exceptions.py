"""Exceptions and warnings: type, arguments, message, and every frame and place a user sees, as without Suture."""

from __future__ import annotations

import io
import re
import sys
import traceback
import warnings

import numpy as np
import pytest

import suture
from tests.support import helper_module
from tests.support.oracle import assert_same, clone, frames_compiled, run_with_places

ONES = np.ones(4)
ZEROS = np.zeros(4)
MIXED = np.array([1.0, 0.0, -1.0, 1e308])
INTS = np.array([3, 0, -7, 2])
BYTES = np.array([100, 27, -128, 0], np.int8)
model = helper_module.Model(np.zeros(4))


def inlined(x, y):
    def local(a, b):
        c = a - b
        return np.sqrt(c)

    return local(x, y) * 2


def in_another_module(x, y):
    return helper_module.outer(x, y) + 1


def two_levels_down(x, y):
    z = x + 1
    return helper_module.outer(z, y), helper_module.divide(z, y)


def through_an_instance(x, y):
    return model(x) + y


def in_a_comprehension(x, y):
    return [part / y for part in (x, x * 2)]


def in_place(x, y):
    x += 1
    x /= y
    return x


def in_place_of_a_helper(x, y):
    def change(a):
        a /= y

    change(x)
    return x


def over_several_lines(x, y):
    return (
        x
        + np.log(
            y
        )
    )  # fmt: skip


# name: (function, arguments, error state, frames that must compile)
CALLS = {
    "shapes": (lambda x, y: x * 2 + y, (ONES, np.ones(3)), {}, 1),
    "matmul shapes": (lambda x, y: (x * 2) @ y, (np.ones((2, 3)), np.ones((2, 3))), {}, 1),
    "axis": (lambda x, y: (x + y).sum(axis=3), (ONES, ONES), {}, 1),
    "axis twice": (lambda x, y: (x + y).sum(axis=(0, 0)), (ONES, ONES), {}, 1),
    "reshape": (lambda x, y: (x + y).reshape(3, 2), (ONES, ONES), {}, 1),
    "index": (lambda x, y: (x + y)[9], (ONES, ONES), {}, 1),
    "too many indices": (lambda x, y: (x + y)[0, 0], (ONES, ONES), {}, 1),
    "casting": (in_place, (np.arange(4), ONES), {}, 1),
    "out of another kind": (lambda x, y: np.add(x, y, out=np.zeros(4, int)), (ONES, ONES), {}, 1),
    "out of bounds int": (lambda x, y: (x + y) + 300, (BYTES.astype("u1"), BYTES.astype("u1")), {}, 1),
    "bool minus": (lambda x, y: (x > 0) - (y > 0), (ONES, ONES), {}, 1),
    "int to a negative power": (lambda x, y: (x + y) ** -2, (INTS, INTS), {}, 1),
    "ints to powers of which one is negative": (lambda x, y: (x + 1) ** (y - 2), (INTS, INTS), {}, 1),
    "a power that nobody reads": (lambda x, y: [x**y, x + y][1], (INTS, -INTS), {}, 1),
    "empty maximum": (lambda x, y: (x + y).max(), (np.ones(0), np.ones(0)), {}, 1),
    "read-only": (in_place, (np.broadcast_to(1.0, 4), ONES), {}, 1),
    "attribute": (lambda x, y: (x + y).nope, (ONES, ONES), {}, 1),
    "truth of an array": (lambda x, y: 1 if (x + y) else 2, (ONES, ONES), {}, 1),
    "bad dtype": (lambda x, y: (x + y).astype("nope"), (ONES, ONES), {}, 1),
    "float division": (lambda x, y: x / y, (ONES, ZEROS), {}, 1),
    "float division raises": (lambda x, y: x / y, (ONES, ZEROS), {"all": "raise"}, 1),
    "int division": (lambda x, y: x // y, (INTS, INTS * 0), {}, 1),
    "int division raises": (lambda x, y: x // y, (INTS, INTS * 0), {"divide": "raise"}, 1),
    "int remainder": (lambda x, y: x % y, (INTS, INTS * 0), {}, 1),
    "overflow": (lambda x, y: x * y, (MIXED, MIXED), {}, 1),
    "overflow raises": (lambda x, y: x * y, (MIXED, MIXED), {"over": "raise"}, 1),
    "underflow is watched": (lambda x, y: x * y, (ONES * 1e-300, ONES * 1e-300), {"under": "warn"}, 1),
    "domain": (lambda x, y: np.log(x) + np.arcsin(y + 5), (MIXED, MIXED), {}, 1),
    "domain raises": (lambda x, y: np.log(x) + np.sqrt(y), (MIXED, MIXED), {"invalid": "raise"}, 1),
    "cast overflow": (lambda x, y: (x * 1e300).astype(np.int32) + y, (ONES, ONES), {}, 1),
    "cast overflow raises": (lambda x, y: (x * 1e300).astype(np.int32), (ONES, ONES), {"invalid": "raise"}, 1),
    "scalar overflow": (lambda x, y: x[0] + y[0], (BYTES, BYTES), {}, 1),
    "scalar division": (lambda x, y: x[0] / y[0], (ONES, ZEROS), {}, 1),
    "mean of nothing": (lambda x, y: x.mean() + y.var(), (np.ones(0), np.ones(0)), {}, 1),
    "degrees of freedom": (lambda x, y: x.std(ddof=9) + y.sum(), (ONES, ONES), {}, 1),
    "inlined": (inlined, (ZEROS, ONES), {}, 1),
    "inlined raises": (inlined, (ZEROS, ONES), {"all": "raise"}, 1),
    "in another module": (in_another_module, (ONES, ZEROS), {}, 1),
    "in another module raises": (in_another_module, (ONES, ZEROS), {"all": "raise"}, 1),
    "two levels down": (two_levels_down, (ONES, ZEROS), {}, 1),
    "two levels down raises": (two_levels_down, (ONES, ZEROS), {"divide": "raise"}, 1),
    "through an instance": (through_an_instance, (ONES, ZEROS), {}, 1),
    "through an instance raises": (through_an_instance, (ONES, ZEROS), {"all": "raise"}, 1),
    "in a comprehension": (in_a_comprehension, (ONES, ZEROS), {}, 1),
    "in a comprehension raises": (in_a_comprehension, (ONES, ZEROS), {"all": "raise"}, 1),
    "in place": (in_place, (ONES, ZEROS), {}, 1),
    "in place raises": (in_place, (ONES, ZEROS), {"all": "raise"}, 1),
    "in place of a helper": (in_place_of_a_helper, (ONES, ZEROS), {}, 1),
    "in place of a helper raises": (in_place_of_a_helper, (ONES, ZEROS), {"all": "raise"}, 1),
    "over several lines": (over_several_lines, (ONES, ZEROS), {}, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_failing_calls_look_as_without_suture(name):
    function, arguments, state, frames = CALLS[name]
    compiled = suture.compile(function)
    for _ in range(3):
        ours, theirs = tuple(map(clone, arguments)), tuple(map(clone, arguments))
        with np.errstate(**state):
            expected_kind, expected, expected_warnings = run_with_places(function, theirs)
            kind, actual, caught = run_with_places(compiled, ours)
        assert kind == expected_kind, (actual, expected)
        assert caught == expected_warnings
        if kind == "error":
            assert actual == expected
        else:
            assert_same(expected, actual, ulp=2)
        for e, a in zip(theirs, ours, strict=True):
            assert_same(e, a, ulp=2)
    assert frames_compiled(compiled) >= frames


def test_a_handler_of_the_error_state_is_called_as_by_numpy():
    def f(x, y):
        return x / y + np.log(x)

    compiled = suture.compile(f)
    heard: list[tuple[str, int]] = []
    with np.errstate(all="call", call=lambda kind, flag: heard.append((kind, flag))):
        f(MIXED, ZEROS)
        expected = list(heard)
        heard.clear()
        compiled(MIXED, ZEROS)
        assert heard == expected
        heard.clear()
        compiled(MIXED, ZEROS)
        assert heard == expected
    assert frames_compiled(compiled) == 1


def test_a_log_of_the_error_state_is_written_as_by_numpy():
    def f(x, y):
        return x / y

    compiled = suture.compile(f)
    texts = []
    for function in (f, compiled, compiled):
        log = io.StringIO()
        with np.errstate(all="log", call=log):
            function(ONES, ZEROS)
        texts.append(log.getvalue())
    assert texts[1] == texts[2] == texts[0] != ""
    assert frames_compiled(compiled) == 1


def test_warnings_are_shown_once_per_place_as_by_default():
    def f(x, y):
        z = x / y
        return helper_module.divide(x, y) + z

    compiled = suture.compile(f)
    counts = []
    for function in (f, compiled):
        registries = [vars(sys.modules[name]) for name in (__name__, helper_module.__name__)]
        for registry in registries:
            registry.pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                function(ONES, ZEROS)
        counts.append([(w.filename, w.lineno) for w in caught])
    assert counts[1] == counts[0]
    assert len(counts[0]) == 2
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_a_traceback_shows_no_frame_of_suture(backend):
    def f(x, y):
        return helper_module.divide(x, y)

    compiled = suture.compile(f, backend=backend)
    with np.errstate(all="raise"):
        try:
            compiled(ONES, ZEROS)
        except FloatingPointError as error:
            frames = traceback.extract_tb(error.__traceback__)
    assert [frame.name for frame in frames] == ["test_a_traceback_shows_no_frame_of_suture", "f", "divide"]
    assert [frame.line for frame in frames][1:] == ["return helper_module.divide(x, y)", "return scaled / y"]
    assert frames_compiled(compiled) == 1


def test_recursion_errors_say_what_python_says():
    def f(x):
        return f(x + 1)

    def endless(x):
        return compiled(x + 1)

    compiled = suture.compile(endless)
    messages = []
    for function in (f, compiled):
        with pytest.raises(RecursionError) as caught:
            function(ONES)
        # Where the last frame stood depends on how deep the test runs itself.
        messages.append(re.sub(" (while calling a Python object|in comparison)$", "", str(caught.value)))
    assert messages[1] == messages[0] == "maximum recursion depth exceeded"
    assert frames_compiled(compiled) >= 1


def test_recursion_is_as_deep_as_without_suture():
    def plain(x, n):
        return x if n == 0 else plain(x, n - 1) + 1

    def deep(x, n):
        return x if n == 0 else compiled(x, n - 1) + 1

    def deepest(function):
        low, high = 1, sys.getrecursionlimit()
        while low < high:
            middle = (low + high + 1) // 2
            try:
                function(ONES, middle)
                low = middle
            except RecursionError:
                high = middle - 1
        return low

    compiled = suture.compile(deep)
    np.testing.assert_array_equal(compiled(ONES, 5), plain(ONES, 5))
    assert deepest(compiled) > deepest(plain) - 20
    assert frames_compiled(compiled) >= 1


def test_a_traceback_shows_the_variables_of_the_user():
    def f(x, n):
        y = x + 1
        count = n * 2
        total = y.sum()
        label = "between"
        fail(total)
        return y, count, total, label

    def fail(value):
        raise LookupError

    def variables(function):
        with pytest.raises(LookupError) as caught:
            function(ONES, 3)
        frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
        (frame,) = [frame for frame in frames if frame.f_code.co_name == "f"]
        return {name: repr(value) for name, value in frame.f_locals.items() if not name.startswith("__")}

    compiled = suture.compile(f)
    expected = variables(f)
    for _ in range(2):
        shown = variables(compiled)
        assert shown == {name: expected[name] for name in shown}
        assert {"x", "n", "y", "total"} <= set(shown)
    assert frames_compiled(compiled) >= 1

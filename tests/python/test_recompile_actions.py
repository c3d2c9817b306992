"""The action that a recompile record prints really stops the recompile: every one that holds code is applied here."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import frames_compiled


def double(x):
    return x * 2 + 1


def scale(x, n):
    return x * n


def recompiles(function, calls, prepare=None, **settings):
    """Records of the recompiles of a run; `prepare` is a statement that is applied to the arguments of every call."""
    compiled = suture.compile(function, **settings)
    events = []
    token = _core.subscribe(["recompile"], lambda line: events.append(json.loads(line)["fields"]))
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    try:
        for make in calls:
            arguments = dict(zip(names, make(), strict=True))
            if prepare:
                exec(prepare, {"np": np, "suture": suture}, arguments)
            values = [arguments[name] for name in names]
            expected = function(*values)
            # No copies of the arguments here: a mark belongs to one array.
            np.testing.assert_array_equal(compiled(*values), expected)
    finally:
        _core.unsubscribe(token)
    return events, frames_compiled(compiled)


# function, arguments of each call, kind of the guard that fails, the code that the action holds
CASES = [
    (double, [lambda: (np.ones(5),), lambda: (np.ones(6),)], "size", "suture.mark_dynamic(x, 0)"),
    (double, [lambda: (np.ones((2, 5)),), lambda: (np.ones((2, 6)),)], "size", "suture.mark_dynamic(x, 1)"),
    (scale, [lambda: (np.ones(3), 3), lambda: (np.ones(3), 4)], "constant", "dynamic=True"),
    (
        double,
        [lambda: (np.ones((4, 12))[:, ::2],), lambda: (np.ones((4, 18))[:, ::3],)],
        "stride",
        "x = np.ascontiguousarray(x)",
    ),
    (
        double,
        [lambda: (np.ones((4, 6)),), lambda: (np.ones((6, 4)).T,)],
        "contiguous",
        "x = np.ascontiguousarray(x)",
    ),
    (
        double,
        [lambda: (np.ones((6, 4)).T,), lambda: (np.ones((4, 6)),)],
        "contiguous",
        "x = np.asfortranarray(x)",
    ),
    (double, [lambda: (np.ones(4),), lambda: (np.ones(4, np.float32),)], "dtype", "x = x.astype('float64')"),
    (double, [lambda: (np.ones(4),), lambda: ([1.0, 2.0, 3.0, 4.0],)], "array", "x = np.asarray(x)"),
    (
        double,
        [lambda: (np.ones(4),), lambda: (np.ones(4, ">f8"),)],
        "array",
        "x = np.array(x, x.dtype.newbyteorder('='))",
    ),
    (scale, [lambda: (np.ones(3), 3.0), lambda: (np.ones(3), 3)], "type", "n = float(n)"),
]


@pytest.mark.parametrize(("function", "calls", "kind", "code"), CASES, ids=lambda value: str(value)[:30])
def test_the_printed_action_stops_the_recompile(function, calls, kind, code):
    if function is double and isinstance(calls[1]()[0], list):
        function = as_array
    events, before = recompiles(function, calls)
    assert len(events) == 1 and before == (1 if code.endswith("'='))") else 2)
    (event,) = events
    assert event["kinds"] == [kind] and event["entries"][0].endswith("/0")
    (action,) = event["actions"]
    (found,) = re.findall("`([^`]*)`", action)
    assert found == code
    if code == "dynamic=True":
        events, after = recompiles(function, calls, dynamic=True)
    else:
        events, after = recompiles(function, calls, prepare=code)
    assert events == [] and after == 1


def as_array(x):
    return np.multiply(x, 2)


def test_a_record_says_where_the_guard_comes_from_and_how_many_others_hold():
    (event,), _ = recompiles(double, [lambda: (np.ones(5),), lambda: (np.ones(6),)])
    assert event["sources"] == ["x"] and event["expected"] == ["5"] and event["actual"] == ["6"]
    assert event["places"] == [f"{__file__}:{double.__code__.co_firstlineno + 1}"]
    held, guards = map(int, event["passed"][0].split(" of "))
    assert 0 < held < guards
    assert "symbol" in event["actions"][0]


@pytest.mark.parametrize("size", [0, 1])
def test_sizes_zero_and_one_are_said_to_be_nothing_to_act_on(size):
    (event,), _ = recompiles(double, [lambda: (np.ones(5),), lambda: (np.ones(size),)])
    assert event["actions"][0].startswith("nothing to do: sizes 0 and 1")
    assert "mark_dynamic" not in event["actions"][0]


def test_a_marked_range_that_is_too_narrow_is_named():
    def narrow():
        x = np.ones(5)
        suture.mark_dynamic(x, 0, max=10)
        return (x,)

    (event,), _ = recompiles(double, [narrow, lambda: (np.ones(60),)])
    assert event["kinds"] == ["size_range"] and "one that holds 60" in event["actions"][0]


def test_objects_are_printed_with_the_place_of_their_code_and_no_address():
    def apply(x, g):
        return g(x) + 1

    first, second = (lambda v: v * 2), (lambda v: v * 3)
    (event,), _ = recompiles(apply, [lambda: (np.ones(3), first), lambda: (np.ones(3), second)])
    sentence = event["failures"][0]
    assert "0x" not in sentence and f"{__file__}:{first.__code__.co_firstlineno}" in sentence
    assert event["actions"][0] == "make `g` once and keep it, instead of a new one per call"


def test_a_failure_speaks_of_its_guard_in_the_words_of_the_table():
    """The guard expects that a global does not hide the builtin: no value that could be printed."""
    space = {"np": np, "__name__": "hidden"}
    exec("def longest(x, parts):\n    return x * len(parts)", space)
    compiled = suture.compile(space["longest"])
    np.testing.assert_array_equal(compiled(np.ones(2), (1, 2)), np.full(2, 2.0))
    space["len"] = lambda parts: 5
    events = []
    token = _core.subscribe(["recompile"], lambda line: events.append(json.loads(line)["fields"]))
    try:
        np.testing.assert_array_equal(compiled(np.ones(2), (1, 2)), np.full(2, 5.0))
    finally:
        _core.unsubscribe(token)
    (event,) = events
    assert event["kinds"] == ["absent"] and frames_compiled(compiled) == 2
    (sentence,), (subject,), (entry,) = event["failures"], event["subjects"], event["entries"]
    assert sentence == f"{entry}: {subject}. expected it to be absent, actual present"
    assert event["expected"] == ["it to be absent"] and event["actual"] == ["present"]


def test_the_limit_groups_the_reasons_of_all_entries():
    compiled = suture.compile(double, dynamic=False)
    for n in range(2, 12):
        compiled(np.ones(n))
    explanation = suture.explain(compiled)
    (limit,) = explanation.to_dict()["recompile_limits"]
    assert len(limit["reasons"]) == 8
    (grouped,) = limit["grouped"]
    assert grouped.startswith("array 'x' size mismatch at index 0. expected 2, 3, 4, 5, 6, 7, 8, 9, actual 10 (entries")
    assert {cause["action"] for cause in limit["causes"]} == {"`suture.mark_dynamic(x, 0)` before the first call"}
    assert grouped in str(explanation) and "To stop it: `suture.mark_dynamic(x, 0)`" in str(explanation)

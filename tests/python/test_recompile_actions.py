"""The action that a recompile record prints really stops the recompile: every one that holds code is applied here."""

from __future__ import annotations

import collections
import json
import numbers
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


def by_length(x, parts):
    return x * len(parts)


def tail(x):
    return x[1:]


def bump_both(x, y):
    x += y
    return x


def both(x, y):
    return x + y, y * 2


def apply(x, g):
    return g(x) + 1


def is_one(x, y):
    return x * 2 if x is y else x * 3


def which(x, y):
    return x * 2 if x.shape[0] == y.shape[0] else x * 3


def first_key(x, d):
    for key in d:
        return x * len(key)


def read_only(x):
    x.flags.writeable = False
    return x


def twice(x):
    return x, x


def by_abstract_class(x, n):
    return x * n if isinstance(n, numbers.Number) else x - 1


def registering():
    numbers.Number.register(type("Registered", (), {}))
    return np.ones(3), 2.0


def by_truth(x, p):
    return x * 2 if p else x * 3


ONE_LAMBDA = eval("lambda v: v * 2")
OTHER_LAMBDA = eval("lambda v: v * 3")

FEW_OBJECTS = (
    "nothing to do when the objects are few and kept: each has an entry of its own; with many, compile the function once for "
    "each: `suture.compile(functools.partial(apply, g=g))`"
)

# Actions that are words: function, arguments of two calls of which the second recompiles, kind, the action, and arguments
# of calls by a program that follows it.
IN_WORDS = [
    (
        apply,
        [lambda: (np.ones(3), np.sin), lambda: (np.ones(3), np.cos)],
        "identity",
        FEW_OBJECTS,
        [lambda: (np.ones(3), np.sin), lambda: (np.zeros(3), np.sin)],
    ),
    (
        apply,
        [lambda: (np.ones(3), ONE_LAMBDA), lambda: (np.ones(3), OTHER_LAMBDA)],
        "code",
        FEW_OBJECTS,
        [lambda: (np.ones(3), ONE_LAMBDA), lambda: (np.zeros(3), ONE_LAMBDA)],
    ),
    (
        double,
        [lambda: (np.ones(4),), lambda: (np.ones((4, 1)),)],
        "rank",
        "pass arrays with one number of axes; each number has an entry of its own",
        [lambda: (np.ones((4, 4)),), lambda: (np.zeros((4, 4)),)],
    ),
    (
        by_length,
        [lambda: (np.ones(2), (1, 2)), lambda: (np.ones(2), (1, 2, 3))],
        "length",
        "keep its length, or pass one array instead",
        [lambda: (np.ones(2), (1, 2)), lambda: (np.ones(2), (3, 4))],
    ),
    (
        first_key,
        [lambda: (np.ones(2), {"a": 1}), lambda: (np.ones(2), {"bc": 1})],
        "dict_keys",
        "keep its keys and their order",
        [lambda: (np.ones(2), {"a": 1}), lambda: (np.ones(2), {"a": 2})],
    ),
    (
        tail,
        [lambda: (read_only(np.ones(3)),), lambda: (np.ones(3),)],
        "writeable",
        "pass arrays that are all writeable, or none",
        [lambda: (read_only(np.ones(3)),), lambda: (read_only(np.zeros(3)),)],
    ),
    (
        double,
        [lambda: (np.ones((3, 1)),), lambda: (np.ones(3)[:, None],)],
        "new_strides",
        "pass a copy of it, or nothing: a second entry takes any strides along axes of extent 1 and of empty arrays",
        [lambda: (np.ones((3, 1)),), lambda: (np.ones(3)[:, None].copy(),)],
    ),
    (
        bump_both,
        [lambda: (np.ones(3), np.ones(3)), lambda: twice(np.ones(3))],
        "no_overlap",
        "pass arrays that share no memory, for example copies",
        [lambda: (np.ones(3), np.ones(3)), lambda: (np.ones(3), twice(np.ones(3))[1].copy())],
    ),
    (
        both,
        [lambda: twice(np.ones(3)), lambda: (np.ones(3), np.ones(3))],
        "same_object",
        "pass the same object twice at every call, or never",
        [lambda: twice(np.ones(3)), lambda: twice(np.zeros(3))],
    ),
    (
        is_one,
        [lambda: (np.ones(3), np.ones(3)), lambda: twice(np.ones(3))],
        "not_same_object",
        "pass different objects at every call",
        [lambda: (np.ones(3), np.ones(3)), lambda: (np.ones(3), np.zeros(3))],
    ),
    (
        which,
        [lambda: (np.ones(6), np.ones(6)), lambda: (np.ones(4), np.ones(5))],
        "shape",
        "nothing to do when the outcomes of `x.shape[0] == y.shape[0]` are few: it decides what is compiled, and each has an "
        "entry of its own",
        [lambda: (np.ones(6), np.ones(6)), lambda: (np.ones(4), np.ones(4))],
    ),
    (
        by_abstract_class,
        [lambda: (np.ones(3), 2.0), registering],
        "registrations",
        "register classes and import modules before the first call",
        [registering, lambda: (np.ones(3), 2.0)],
    ),
]


@pytest.mark.parametrize(
    ("function", "calls", "kind", "action", "followed"), IN_WORDS, ids=lambda value: str(value)[:30]
)
def test_an_action_in_words_stops_the_recompile(function, calls, kind, action, followed):
    settings = {"dynamic": True} if kind == "shape" else {}
    events, before = recompiles(function, calls, **settings)
    assert [event["kinds"] for event in events] == [[kind]] and before == 2
    assert events[0]["actions"] == [action]
    events, after = recompiles(function, followed, **settings)
    assert events == [] and after == 1


def test_every_guard_kind_has_an_action_that_some_test_applies():
    elsewhere = {
        "absent",  # test_a_failure_speaks_of_its_guard_in_the_words_of_the_table
        "size_range",  # test_a_marked_range_that_is_too_narrow_is_named
        "int_range",  # test_ints_beyond_64_bits_are_told_to_stay_within
        "stride_range",  # its action is that of `stride`
        "not_plain",  # nothing to do
        "tuple_operations",  # test_a_namedtuple_class_is_given_its_methods_before_the_first_call
    }
    covered = {case[2] for case in CASES} | {case[2] for case in IN_WORDS}
    assert covered | elsewhere == {name for name, *_ in _core.guard_table()}


def test_a_namedtuple_class_is_given_its_methods_before_the_first_call():
    pair = collections.namedtuple("Pair", ["a", "b"])(1, 2)
    calls = [lambda: (np.ones(3), pair), lambda: (np.zeros(3), pair)]

    def changing():
        type(pair).__bool__ = lambda self: False
        return np.ones(3), pair

    events, before = recompiles(by_truth, calls)
    assert events == [] and before == 1
    events, before = recompiles(by_truth, [calls[0], changing])
    assert [event["kinds"] for event in events] == [["tuple_operations"]] and before == 3  # Python is asked
    assert events[0]["actions"] == ["give the class its methods before the first call"]
    events, after = recompiles(by_truth, calls)
    assert events == [] and after == 2


def test_ints_beyond_64_bits_are_told_to_stay_within():
    numbers = [lambda n=n: (np.ones(3), n) for n in (3, 4, 2**70)]
    events, before = recompiles(scale, numbers)
    assert events[-1]["kinds"] == ["constant", "int_range"] and before == 3
    assert set(events[-1]["actions"]) == {"pass integers that fit 64 bits; each value beyond has an entry of its own"}
    events, after = recompiles(scale, [*numbers[:2], lambda: (np.ones(3), 2**62)])
    assert len(events) == 1 and after == 2


def as_array(x):
    return np.multiply(x, 2)


def test_two_sizes_that_change_need_two_marks():
    (event,), before = recompiles(double, [lambda: (np.ones((4, 5)),), lambda: (np.ones((6, 7)),)])
    marks = re.findall("`([^`]*)`", event["actions"][0])
    assert marks == ["suture.mark_dynamic(x, 0)", "suture.mark_dynamic(x, 1)"] and before == 2
    assert event["actions"][0].count("from now on it is a symbol") == 1
    calls = [lambda: (np.ones((4, 5)),), lambda: (np.ones((6, 7)),)]
    assert recompiles(double, calls, prepare="\n".join(marks)) == ([], 1)
    assert recompiles(double, calls, prepare=marks[0])[1] == 2


def test_an_argument_of_another_rank_is_told_about_its_rank_only():
    (event,), _ = recompiles(double, [lambda: (np.ones((4, 5)),), lambda: (np.ones(6, np.float32),)])
    assert event["actions"] == [
        "`x = x.astype('float64')` before the call, where results of float64 will do; each dtype has an entry of its own; "
        "pass arrays with one number of axes; each number has an entry of its own"
    ]


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
    assert event["actions"][0] == FEW_OBJECTS


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


def test_the_log_of_the_limit_groups_the_reasons_and_says_what_stops_them(caplog):
    compiled = suture.compile(double, dynamic=False)
    with caplog.at_level("INFO", logger="suture"), suture.set_logs("recompiles"):
        for n in range(2, 11):
            compiled(np.ones(n))
    assert frames_compiled(compiled) == 8
    text = caplog.records[-1].getMessage()
    assert text.startswith("Recompile limit (8) reached for function double in ")
    assert text.count("size mismatch") == 1 and "expected 2, 3, 4, 5, 6, 7, 8, 9, actual 10" in text
    assert text.count("To stop it: `suture.mark_dynamic(x, 0)` before the first call") == 1
    costs = [r.getMessage() for r in caplog.records if r.getMessage().startswith("Recompiled function double in ")]
    assert len(costs) == 7

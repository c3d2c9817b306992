"""Objects die when CPython lets them die: at `del`, when a name is bound anew, at the end of the function; not before."""

from __future__ import annotations

import functools
import weakref

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled

LOG: list = []


class Mortal:
    def __init__(self, name):
        self.name = name
        LOG.append(("made", name))

    def __del__(self):
        LOG.append(("died", self.name))


@suture.disable
def note(value):
    LOG.append(value)


@suture.disable
def make(name):
    return Mortal(name)


@suture.disable
def big(x):
    return np.array(x) + 1


@suture.disable
def alive(reference):
    LOG.append(("alive", reference() is not None))


def deleted_behind_a_break(x):
    t = x * 2
    r = weakref.ref(t)
    del t
    return r() is None


def deleted_behind_work(x):
    t = x * 2
    r = weakref.ref(t)
    z = t * 3
    del t
    alive(r)
    return z


def bound_anew(x):
    t = x * 2
    r = weakref.ref(t)
    t = t * 3
    alive(r)
    return t


def bound_anew_in_a_resume_function(x):
    t = big(x)
    r = weakref.ref(t)
    z = t * 3
    t = z + 1
    alive(r)
    z = z * t
    alive(r)
    return t, z


def bound_and_never_read_again(x):
    t = big(x)
    r = weakref.ref(t)
    alive(r)
    y = x * 2
    alive(r)
    return y


def graph_value_never_read_again(x):
    t = x + 1
    r = weakref.ref(t)
    alive(r)
    return x * 2


def holder(x):
    lock = make("lock")  # noqa: F841 - it is there to be held
    note("a")
    y = x * 2
    note("b")
    return y


def two_holders(x):
    b, a = make("b"), make("a")  # noqa: F841
    y = x * 2
    note("mid")
    z = y + 1
    note("end")
    return z


def ended_one_by_one(x):
    a = make("a")
    b = make("b")
    y = x * 2
    note(1)
    del a
    note(2)
    y = y + 1
    note(3)
    b = None  # noqa: F841
    note(4)
    return y * 2


def never_bound(x):
    make("t")
    note(1)
    y = x + 1
    make("u")
    note(2)
    return y


def deleted_in_a_loop(x):
    for k in range(3):
        t = make(k)
        x = x + 1
        del t
        note(k)
    note("after")
    return x


def bound_before_a_loop(x):
    g = make("g")  # noqa: F841
    x = x + 1
    for k in range(2):
        note(k)
        x = x + k
    note("after")
    return x


def inside_a_list(x):
    items = [make("l"), x + 1]
    note(1)
    x = x * 2
    del items[0]
    note(2)
    return x + 1


def cleared_list(x):
    items = [make("l")]
    note(1)
    x = x * 2
    items.clear()
    note(2)
    return x + 1


def held_while_an_exception_is_handled(x):
    g = make("g")  # noqa: F841
    try:
        x = x + 1
        note(1)
        raise ValueError("v")
    except ValueError:
        note("handler")
    note("end")
    return x * 2


def bound_anew_by_a_break(x):
    b = make("b")
    a = make("a")  # noqa: F841
    y = x + 1
    note(0)
    y = y + 1
    b = make("b2")  # noqa: F841
    note(1)
    return y


FUNCTIONS = [
    deleted_behind_a_break,
    deleted_behind_work,
    bound_anew,
    bound_anew_in_a_resume_function,
    bound_and_never_read_again,
    graph_value_never_read_again,
    holder,
    two_holders,
    ended_one_by_one,
    never_bound,
    deleted_in_a_loop,
    bound_before_a_loop,
    inside_a_list,
    cleared_list,
    held_while_an_exception_is_handled,
    bound_anew_by_a_break,
]


def story(function):
    LOG.clear()
    result = function(np.ones(3))
    told = list(LOG)
    return told, [np.asarray(part).tolist() for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_objects_die_when_cpython_lets_them(function):
    expected = story(function)
    compiled = suture.compile(function)
    for _ in range(3):
        assert story(compiled) == expected
    assert frames_compiled(compiled) >= 2
    assert not compiled.status()["skipped"]


def forgets_its_argument(x, mortal):
    y = x + 1
    mortal = None
    LOG.append("forgotten")
    note("break")
    return y


def test_the_caller_keeps_arguments_as_through_any_callable_that_is_no_function():
    """Only a call of a Python function hands its arguments over (CPython moves them into the frame)."""
    compiled = suture.compile(forgets_its_argument)
    logs = []
    for call in (functools.partial(forgets_its_argument), compiled, compiled):
        LOG.clear()
        call(np.ones(3), Mortal("argument"))
        logs.append(list(LOG))
    assert logs[1] == logs[2] == logs[0]
    assert logs[0] == [("made", "argument"), "forgotten", "break", ("died", "argument")]
    assert frames_compiled(compiled) >= 1

"""A call works with what it found when it started, whatever handlers that run in the middle of it change."""

from __future__ import annotations

import types
import warnings

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled

NUMBER, ARRAY = 1, np.array([1.0, 2.0])
PLACE = types.SimpleNamespace(number=1, array=np.array([1.0, 2.0]))
LIST, DICT = [1], {"number": 1}
ZERO_AND_ONE = np.array([0.0, 1.0])


def cell_and_writer():
    number = 1

    def with_cell(x):
        g = number
        y = 1 / x
        if y[1] > 100:
            return None
        return y * g, g

    def write(value):
        nonlocal number
        number = value

    return with_cell, write


with_cell, write_cell = cell_and_writer()


def set_all(value):
    global NUMBER, ARRAY
    NUMBER, ARRAY = value, np.array([value, 2.0])
    PLACE.number, PLACE.array = value, np.array([value, 2.0])
    LIST[0] = DICT["number"] = value
    write_cell(value)


def with_global(x):
    g = NUMBER
    y = 1 / x
    if y[1] > 100:
        return None
    return y * g, g


def with_attribute(x):
    g = PLACE.number
    y = 1 / x
    if y[1] > 100:
        return None
    return y * g, g


def with_item(x):
    g = LIST[0]
    y = 1 / x
    if y[1] > 100:
        return None
    return y * g, g


def with_key(x):
    g = DICT["number"]
    y = 1 / x
    if y[1] > 100:
        return None
    return y * g, g


def with_arrays(x):
    g, h = ARRAY, PLACE.array
    y = 1 / x
    if y[1] > 100:
        return None
    return y * g * h, g, h


def with_a_loop(x):
    g = NUMBER
    y = 1 / x
    total = 0.0
    for k in range(int(y[1]) + 2):
        total = total + y[1] * g + k
    return total, g


def with_an_effect(x):
    g = NUMBER
    y = 1 / x
    DICT["seen"] = g
    return y * g, g


def without_a_break(x):
    g = NUMBER
    y = 1 / x
    return y * g, g


def call_next_number(kind, flag):
    set_all(NUMBER + 10)


def results(function, calls=4):
    set_all(1)
    return [repr(function(ZERO_AND_ONE)) for _ in range(calls)]


PROGRAMS = {
    with_global: 2,
    with_attribute: 2,
    with_item: 2,
    with_key: 2,
    with_cell: 2,
    with_arrays: 2,
    with_a_loop: 3,
    with_an_effect: 1,
    without_a_break: 1,
}


@pytest.mark.parametrize(("function", "frames"), PROGRAMS.items(), ids=lambda p: getattr(p, "__name__", ""))
def test_an_error_handler_changes_what_the_next_call_sees(function, frames):
    compiled = suture.compile(function)
    old = np.seterrcall(call_next_number)
    try:
        with np.errstate(all="call"):
            assert results(compiled) == results(function)
    finally:
        np.seterrcall(old)
    assert frames_compiled(compiled) >= frames


@pytest.mark.parametrize(("function", "frames"), PROGRAMS.items(), ids=lambda p: getattr(p, "__name__", ""))
def test_a_handler_of_warnings_changes_what_the_next_call_sees(function, frames, monkeypatch):
    compiled = suture.compile(function)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("always")
        warnings.showwarning = lambda *args, **kwargs: set_all(NUMBER + 10)
        assert results(compiled) == results(function)
    assert frames_compiled(compiled) >= frames


def test_the_size_of_an_array_that_a_handler_replaces_is_the_one_of_the_call():
    place = types.SimpleNamespace(array=np.zeros(2))

    def sized(x):
        n = place.array.shape[0] + 1
        y = 1 / x
        if y[1] > 100:
            return None
        return y * n, n, place.array.shape[0]

    def grow(kind, flag):
        place.array = np.zeros(place.array.shape[0] + 1)

    def run(function):
        place.array = np.zeros(2)
        return [repr(function(ZERO_AND_ONE)) for _ in range(4)]

    compiled = suture.compile(sized)
    old = np.seterrcall(grow)
    try:
        with np.errstate(all="call"):
            assert run(compiled) == run(sized)
    finally:
        np.seterrcall(old)
    assert frames_compiled(compiled) >= 2

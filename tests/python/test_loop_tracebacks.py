"""A traceback shows one frame for each function of the user's, also where a loop runs its body in a function of ours."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled

X = np.ones(6)


@suture.disable
def tick(value):
    return value


@suture.disable
def boom(value, at):
    if value == at:
        raise ValueError("boom")
    return 1.0


class Failing:
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return self

    def __next__(self):
        self.count -= 1
        if self.count < 0:
            raise KeyError("no more")
        return self.count


def in_a_loop(x):
    for k in range(5):
        x = x + tick(k)
        boom(k, 3)
    return x


def in_nested_loops(x):
    for k in range(3):
        tick(k)
        for j in range(3):
            tick(j)
            for m in range(3):
                x = x + tick(m)
                boom(j + k + m, 3)
    return x


def in_a_while_loop(x):
    n = 0
    while n < 5:
        x = x + tick(1)
        boom(n, 3)
        n += 1
    return x


def by_numpy(x):
    y = x * 2
    for k in range(3):
        y = y + tick(k)
        if k == 1:
            y.reshape(7, 9)
    return y


def by_the_iterator(x):
    for k in Failing(2):
        x = x + tick(k)
    return x


def by_a_function_that_the_iterator_calls(x, n=0):
    if n:
        return boom(n, 2)
    for k in map(lambda n: by_a_function_that_the_iterator_calls(x, n), range(1, 4)):
        x = x + tick(k)
    return x


def loop_with_argument(x, n):
    for k in range(n):
        x = x + tick(k)
        boom(k, 2)
    return x


def in_a_callee(x):
    y = loop_with_argument(x * 2, 5)
    return y + 1


def in_a_callee_of_a_loop(x):
    for k in range(4):
        x = loop_with_argument(x, k)
    return x


def in_a_recursion(x, n=3):
    for k in range(2):
        tick(k)
        x = x + 1
        if n == 0:
            boom(3, 3)
        in_a_recursion(x, n - 1)
    return x


def in_a_try_in_a_loop(x):
    for k in range(5):
        try:
            boom(k, 3)
            x = x + tick(k)
        except KeyError:
            x = x + 5
    return x


def in_a_loop_in_a_try(x):
    try:
        for k in range(5):
            x = x + tick(k)
            boom(k, 3)
    except KeyError:
        x = x + 5
    return x


def raised_again(x):
    try:
        for k in range(5):
            x = x + tick(k)
            boom(k, 3)
    except ValueError:
        raise
    return x


def raised_from(x):
    try:
        for k in range(5):
            x = x + tick(k)
            boom(k, 3)
    except ValueError as error:
        raise TypeError("other") from error
    return x


def behind_a_finally(x):
    try:
        for k in range(5):
            x = x + tick(k)
            boom(k, 3)
    finally:
        tick(9)
    return x


def in_a_resume_function(x):
    y = x * 2
    tick(1)
    y = y + 1
    return y.reshape(7, 9)


FUNCTIONS = [
    in_a_loop,
    in_nested_loops,
    in_a_while_loop,
    by_numpy,
    by_the_iterator,
    by_a_function_that_the_iterator_calls,
    in_a_callee,
    in_a_callee_of_a_loop,
    in_a_recursion,
    in_a_try_in_a_loop,
    in_a_loop_in_a_try,
    raised_again,
    raised_from,
    behind_a_finally,
    in_a_resume_function,
]


def chain(function):
    """(type, text, [(name, line)]) of the exception and of what it came from."""
    links = []
    try:
        function(X)
    except Exception as error:
        link: BaseException | None = error
        while link is not None:
            entries = traceback.extract_tb(link.__traceback__)
            links.append((type(link), str(link), [(e.name, e.lineno) for e in entries if e.filename == __file__][1:]))
            link = link.__cause__ or link.__context__
    return links


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_traceback_shows_every_function_once(function):
    expected = chain(function)
    assert expected
    compiled = suture.compile(function)
    for _ in range(3):
        assert chain(compiled) == expected
    assert frames_compiled(compiled) >= 1


def test_a_loop_that_runs_in_the_interpreter_has_one_frame_too():
    """Nothing in the body can be compiled, so the iteration function is skipped; it still is the same user function."""

    def f(x):
        y = x * 2
        for k in range(100):
            boom(k, 70)
        return y

    expected = chain(f)
    compiled = suture.compile(f)
    for _ in range(3):
        assert chain(compiled) == expected
    assert frames_compiled(compiled) >= 1

"""Generators that a compiled function consumes: what they return, and what they do when they are left early."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from tests.support.oracle import check, frames_compiled

X = np.arange(3.0)


def returning():
    yield 1
    return 7


def delegating():
    value = yield from returning()
    yield value


def delegating_twice():
    first = yield from delegating()
    second = yield from returning()
    yield (first, second)
    return second


def of_an_exhausted_one():
    inner = returning()
    for _ in inner:
        pass
    value = yield from inner
    yield value


@pytest.mark.parametrize("generator", [delegating, delegating_twice, of_an_exhausted_one], ids=lambda g: g.__name__)
def test_yield_from_gives_what_the_generator_returned(generator):
    def f(x):
        a, *rest = generator()
        return (
            x + 1,
            list(generator()),
            tuple(generator()),
            a,
            rest,
            [v for v in generator()],
            list(zip(generator(), "ab")),
        )

    compiled = suture.compile(f)
    check(f, compiled, (X,))
    assert frames_compiled(compiled) == 1


def left_early(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("finally")


def closed(log):
    try:
        yield 1
        yield 2
    except GeneratorExit:
        log.append("closed")
        raise


@pytest.mark.parametrize("generator", [left_early, closed], ids=lambda g: g.__name__)
def test_a_generator_that_is_left_early_ends_as_in_cpython(generator):
    def broken_out_of(x, log):
        for v in generator(log):
            break
        log.append("after")
        return x + v

    def returned_from(x, log):
        for v in generator(log):
            return x + v

    def asked_once(x, log):
        v = next(generator(log))
        log.append("after")
        return x + v

    def zipped(x, log):
        pairs = list(zip(generator(log), [5]))
        log.append("after")
        return x + pairs[0][0]

    def consumed(x, log):
        return x + sum(generator(log))

    for f in (broken_out_of, returned_from, asked_once, zipped, consumed):
        compiled = suture.compile(f)
        check(f, compiled, (X, []))
        assert frames_compiled(compiled) >= 1, f.__name__


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (
            lambda x: sum(np.roll(x, k) for k in range(3)),
            "`np.roll` is called in the interpreter: there is no kernel for it yet; from here on compiled code cannot "
            "continue the function, because a generator is not finished and cannot be handed over.",
        ),
        (
            lambda x: [(k for k in range(3)), x + 1][1],
            None,  # the generator is dropped
        ),
        (
            lambda x: ((k for k in range(3)), x + 1),
            "The result is built here; from here on compiled code cannot continue the function, because a generator is "
            "not finished and cannot be handed over.",
        ),
    ],
)
def test_a_generator_that_stops_capture_is_explained_from_its_cause_on(function, says):
    explanation = suture.explain(function)(np.ones(4))
    reasons = [skip["explanation"] for skip in explanation.skipped if skip["reason_id"] == "SB506"]
    assert reasons == ([says] if says else [])
    assert explanation.graph_count == (0 if says else 1), "frames that compile"

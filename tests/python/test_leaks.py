"""Nothing is kept alive: weak references to inputs, results, callables; allocated blocks over 1,000 calls."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled


def one_graph(x):
    return np.sin(x) * 2 + x.sum()


def with_break(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y - 1


def with_loop(x):
    for i in range(3):
        x = x + i
        str(i)
    return x


def with_replay(x):
    return np.sqrt(x - 10)


def with_views(x):
    return x[1:], (x.T, [x])


def with_mutation(x):
    x += 1
    return x


FUNCTIONS = [one_graph, with_break, with_loop, with_replay, with_views, with_mutation]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_blocks_do_not_grow_over_a_thousand_calls(function):
    compiled = suture.compile(function)
    x = np.ones((4, 4))
    with np.errstate(all="ignore"):
        for _ in range(50):
            compiled(x)
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(1000):
            compiled(x)
        gc.collect()
        after = sys.getallocatedblocks()
    assert after - before < 50, f"{after - before} blocks in 1,000 calls"
    assert frames_compiled(compiled) >= 1


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_inputs_and_results_die(function):
    compiled = suture.compile(function)
    x = np.ones((4, 4))
    with np.errstate(all="ignore"):
        compiled(x)
        result = compiled(x)
    dead_input = weakref.ref(x)
    dead_result = weakref.ref(result) if isinstance(result, np.ndarray) else None
    references = sys.getrefcount(x)
    assert references <= 6
    del x, result
    gc.collect()
    assert dead_input() is None
    assert dead_result is None or dead_result() is None


def test_compiled_functions_die_with_their_entries():
    big = np.ones(1000)

    def make():
        captured = big[:]

        def f(x):
            y = x + captured
            if y.sum() > 0:
                y = y * 2
            return y

        return f, weakref.ref(captured)

    f, dead_capture = make()
    compiled = suture.compile(f)
    compiled(np.ones(1000))
    assert frames_compiled(compiled) == 2
    dead_function, dead_compiled = weakref.ref(f), weakref.ref(compiled)
    del f, compiled
    gc.collect()
    assert dead_compiled() is None
    assert dead_function() is None
    assert dead_capture() is None


def test_failed_compiles_do_not_leak():
    def f(x):
        return x + np.ones(7)

    compiled = suture.compile(f)

    def fail():
        with pytest.raises(ValueError):
            compiled(np.ones(3))

    for _ in range(20):
        fail()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(300):
        fail()
    gc.collect()
    assert sys.getallocatedblocks() - before < 100

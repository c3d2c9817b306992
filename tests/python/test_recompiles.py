"""Guards, recompiles, automatic dynamic sizes and ints, limits, fullgraph."""

from __future__ import annotations

import json

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import check, frames_compiled


class Events:
    def __init__(self, *names):
        self.lines = []
        self.token = _core.subscribe(list(names), self.lines.append)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _core.unsubscribe(self.token)

    @property
    def fields(self):
        return [json.loads(line)["fields"] for line in self.lines]


def double(x):
    return x * 2 + 1


def test_one_entry_serves_equal_inputs():
    compiled = suture.compile(double)
    for _ in range(3):
        check(double, compiled, (np.ones((3, 4)),))
    assert frames_compiled(compiled) == 1


def test_sizes_become_symbols_after_one_change():
    compiled = suture.compile(double)
    with Events("recompile") as events:
        for n in (5, 6, 7, 100, 1000):
            check(double, compiled, (np.arange(float(n)),))
    assert frames_compiled(compiled) == 2
    assert events.fields[0]["failures"][0].endswith("array 'x' size mismatch at index 0. expected 5, actual 6")


def test_sizes_zero_and_one_stay_static():
    compiled = suture.compile(double)
    for n in (5, 6, 1, 0, 9):
        check(double, compiled, (np.arange(float(n)),))
    assert frames_compiled(compiled) == 4


@pytest.mark.parametrize("dynamic, frames", [(True, 1), (False, 4), (None, 2)])
def test_dynamic_option(dynamic, frames):
    compiled = suture.compile(double, dynamic=dynamic)
    for n in (5, 6, 7, 8):
        check(double, compiled, (np.arange(float(n)),))
    assert frames_compiled(compiled) == frames


def test_mark_dynamic_and_mark_static():
    compiled = suture.compile(double)
    x = np.ones((4, 3))
    suture.mark_dynamic(x, 0)
    compiled(x)
    check(double, compiled, (np.ones((9, 3)),))
    assert frames_compiled(compiled) == 1
    with pytest.raises((ValueError, IndexError)):
        suture.mark_dynamic(x, 2)


def scale(x, n):
    return x * n


def test_ints_become_symbols_after_one_change():
    compiled = suture.compile(scale)
    for n in (3, 4, 5, -7, 0, 1, 10**6):
        check(scale, compiled, (np.arange(4.0), n))
    assert frames_compiled(compiled) == 2


def test_ints_that_do_not_fit_the_dtype_raise_as_numpy_does():
    compiled = suture.compile(scale)
    for n in (3, 4, 5, 300, -1, 2**70):
        check(scale, compiled, (np.arange(4, dtype=np.uint8), n))
    assert frames_compiled(compiled) == 3


def test_floats_are_inputs_from_the_start():
    compiled = suture.compile(scale)
    for n in (3.0, 4.5, float("nan"), -0.0):
        check(scale, compiled, (np.arange(4.0), n))
    assert frames_compiled(compiled) == 1


def test_bool_int_and_float_are_different_inputs():
    compiled = suture.compile(scale)
    for n in (True, 1, 1.0, np.float32(1), np.int8(1)):
        check(scale, compiled, (np.arange(4, dtype=np.int16), n))
    assert frames_compiled(compiled) == 5


@pytest.mark.parametrize(
    "first, second, word",
    [
        (np.ones(4), np.ones(4, np.float32), "dtype"),
        (np.ones(4), np.ones((4, 1)), "rank"),
        (np.ones((4, 4)), np.ones((4, 4)).T, "layout"),
        (np.ones(4), [1.0, 2.0], "array"),
    ],
)
def test_each_change_is_named(first, second, word):
    compiled = suture.compile(double)
    compiled(first)
    with Events("recompile") as events:
        try:
            compiled(second)
        except TypeError:
            pass
    sentence = events.fields[0]["failures"][0]
    assert "'x'" in sentence and word in sentence and "expected" in sentence and "actual" in sentence, sentence


def test_recompile_limit_runs_eagerly_and_says_so():
    compiled = suture.compile(double, dynamic=False)
    with Events("recompile_limit", "frame_skipped") as events:
        for n in range(2, 14):
            check(double, compiled, (np.ones(n),), calls=1)
    assert frames_compiled(compiled) == 8
    assert events.fields[0]["limit"] == 8 and len(events.fields[0]["reasons"]) == 8


def test_fullgraph_raises_the_whole_message():
    def f(x):
        y = x + 1
        if y.sum() > 0:
            return y * 2
        return y

    compiled = suture.compile(f, fullgraph=True)
    with pytest.raises(suture.GraphBreak) as caught:
        compiled(np.ones(3))
    message = str(caught.value)
    for part in (
        "Graph break in user code at",
        __file__.rsplit("/", 1)[1],
        "Data-dependent branching",
        "Explanation:",
        "Hint:",
    ):
        assert part in message
    assert np.array_equal(suture.compile(double, fullgraph=True)(np.ones(3)), double(np.ones(3)))


SCALE = 2.0
TABLE = {"k": np.arange(3.0)}


def test_globals_are_guarded():
    global SCALE

    def f(x):
        return x * SCALE + TABLE["k"]

    compiled = suture.compile(f)
    check(f, compiled, (np.ones(3),))
    SCALE = 5.0
    check(f, compiled, (np.ones(3),))
    TABLE["k"] = np.ones(3)
    check(f, compiled, (np.ones(3),))
    TABLE["k"] = 7
    check(f, compiled, (np.ones(3),))
    assert frames_compiled(compiled) >= 2


def test_closures_and_attributes_are_guarded():
    class Config:
        def __init__(self):
            self.gain = 2.0
            self.bias = np.ones(3)

    config = Config()
    factor = 3.0

    def f(x):
        return x * config.gain * factor + config.bias

    compiled = suture.compile(f)
    check(f, compiled, (np.ones(3),))
    config.gain = 4
    check(f, compiled, (np.ones(3),))
    factor = 9.0
    check(f, compiled, (np.ones(3),))
    config.bias = np.zeros(3)
    check(f, compiled, (np.ones(3),))
    assert frames_compiled(compiled) == 2


def test_monkeypatched_functions_are_noticed():
    import math

    def helper(x):
        return x + 1

    namespace = {"helper": helper, "np": np, "math": math}
    exec("def f(x):\n    return helper(x) * 2", namespace)
    f = namespace["f"]
    compiled = suture.compile(f)
    check(f, compiled, (np.ones(3),))
    namespace["helper"] = lambda x: x - 1
    check(f, compiled, (np.ones(3),))
    helper.__code__ = (lambda x: x * 5).__code__
    namespace["helper"] = helper
    check(f, compiled, (np.ones(3),))
    assert frames_compiled(compiled) == 3

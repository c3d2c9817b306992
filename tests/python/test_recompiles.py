"""Guards, recompiles, automatic dynamic sizes and ints, limits, fullgraph."""

from __future__ import annotations

import builtins
import functools
import json
import math
import operator
import types

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


def other_module(**attributes):
    module = types.ModuleType("other")
    vars(module).update(attributes)
    return module


NUMPY_ATTRIBUTES = {
    "np.sin": ("np.sin(x) + 1", np, "sin", np.cos),
    "np.sin, a Python function": ("np.sin(x) + 1", np, "sin", lambda x: x * 3),
    "np.pi": ("x * np.pi", np, "pi", 3.0),
    "np.linalg": ("np.linalg.norm(x) + x", np, "linalg", other_module(norm=np.sum)),
    "np.linalg.norm": ("np.linalg.norm(x) + x", np.linalg, "norm", np.sum),
    "np.float64": ("x.astype(np.float64) * 2", np, "float64", np.float32),
    "math.sqrt": ("x * math.sqrt(2.0)", math, "sqrt", abs),
    "operator.add": ("operator.add(x, 1)", operator, "add", np.multiply),
    "functools.reduce": ("functools.reduce(np.add, [x, x])", functools, "reduce", lambda f, xs: xs[0] * 7),
    "np, imported inside": ("g(x)", np, "cos", np.exp),
}


@pytest.mark.parametrize("case", NUMPY_ATTRIBUTES)
def test_replaced_attributes_of_known_modules_are_noticed(case, monkeypatch):
    expression, module, name, other = NUMPY_ATTRIBUTES[case]
    namespace = {"np": np}
    exec(
        "import functools, math, operator\n"
        "def g(x):\n    import numpy\n    return numpy.cos(x) * 2\n"
        f"def f(x):\n    return {expression}\n",
        namespace,
    )
    f = namespace["f"]
    compiled = suture.compile(f)
    x = np.linspace(0.5, 2.0, 5)
    check(f, compiled, (x,), ulp=1)
    monkeypatch.setattr(module, name, other)
    check(f, compiled, (x,), ulp=1)
    monkeypatch.undo()
    before = frames_compiled(compiled)
    check(f, compiled, (x,), ulp=1)
    assert frames_compiled(compiled) == before >= 2, "the first entry serves again"


def test_a_replaced_function_does_not_reach_into_replays(monkeypatch):
    """x.sum() calls NumPy's own sum, and so does what runs again under NumPy to warn."""

    def f(x):
        return 1 / x.sum(), (x / x)[0]

    monkeypatch.setattr(np, "sum", lambda *a, **k: 5.0)
    monkeypatch.setattr(np, "divide", lambda *a, **k: 5.0)
    compiled = suture.compile(f)
    check(f, compiled, (np.zeros(3),))
    assert frames_compiled(compiled) == 1


def test_an_unrelated_attribute_of_numpy_costs_no_recompile(monkeypatch):
    def f(x):
        return np.sin(x)

    compiled = suture.compile(f)
    for value in range(3):
        monkeypatch.setattr(np, "attribute_of_this_test", value, raising=False)
        check(f, compiled, (np.ones(3),), ulp=1)
    assert frames_compiled(compiled) == 1


# What passes make of an op may ask about sizes what capture did not ask: the answers are guarded, too.
LOWERED_WITH_QUESTIONS = [
    "np.logical_and(0.5, y)",
    "np.logical_or(y, 3)",
    "np.float_power(y, y[::-1])",
    "np.clip(y, 0, 2.5)",
    "np.round(y, 1)",
    "y.astype('f4') * y.T.astype('f4').T",
    "np.where(y > 0, y, 1)",
    "np.power(y, 3) + y ** 2",
    "y.mean(axis=0) + y.var(axis=0)",
    "np.linspace(0.0, 1.0, y.shape[0])",
]


@pytest.mark.parametrize("expression", LOWERED_WITH_QUESTIONS)
def test_facts_found_while_lowering_are_guarded(expression):
    namespace = {"np": np}
    exec(f"def f(y):\n    return {expression}\n", namespace)
    f = namespace["f"]
    compiled = suture.compile(f, options={"recompile_limit": 99})
    big = np.arange(1.0, 400.0).reshape(19, 21)
    with suture.config.patch(strict=True):
        for y in (
            np.ones((3, 2)),
            big[0:6:2, 0:8:2],
            big[0:9:3, 0:8:4],
            big[::-1, ::-2],
            np.asfortranarray(big[:5, :7]),
            big[2:9].T,
            big[:1],
            big[:, :0],
            np.broadcast_to(big[0], (4, 21)),
            big[::2, 1::3],
            big.astype("f4")[::2, ::2],
        ):
            check(f, compiled, (y,), ulp=2, calls=1)
    assert 2 <= frames_compiled(compiled) <= 11


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_fullgraph_names_the_generator_it_refuses(kind):
    text = f"\n\n{kind} produce(x):\n    yield x\n"
    names = {}
    exec(builtins.compile(text, "generators.py", "exec"), names)
    compiled = suture.compile(names["produce"], fullgraph=True)
    with pytest.raises(suture.GraphBreak, match=r"^Graph break in user code at generators\.py:3\n"):
        compiled(np.ones(2))
    assert frames_compiled(compiled) == 0

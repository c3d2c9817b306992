"""Warnings and exceptions of every operation that can report a condition, whatever happens to its result.

Kernels compute with the status flags cleared and the graph is replayed under NumPy when one is set. A compiler that
drops, moves or folds an operation loses its flag, so each producer (from the op table) is put in front of consumers that
need its value, need it for some elements only, or not at all, on operands that may be constants on some path.
"""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import frames_compiled

PRODUCERS = [
    op
    for op in _core.op_table()
    if op["kind"] == "Elementwise" and op["numpy"] and op["name"] not in ("clip", "where", "round", "copy")
]

OPERANDS = {
    "loaded": "x",
    "other": "y",
    "bool": "(x > y)",
    "integer": "i",
    "zero of integers": "(i * 0)",
    "selected": "np.where(x > 0, x, 0)",
    "constants": "np.where(x > 0, 1.0, 0.0)",
    "sign": "np.sign(x)",
    "limited": "np.minimum(x, 0)",
    "zero": "0.0",
    "huge": "1e300",
    "negated constants": "-np.where(x > y, 1.0, 0.0)",
    "rounded": "np.floor(x)",
    "converted": "i.astype(np.float32)",
    "index": "np.arange(x.shape[0])",
    "python float": "s",
    "numpy float": "t",
    "total": "x.sum()",
    "single": "f",
    "step": "np.heaviside(x, 0.0)",
}

CONSUMERS = {
    "returned": "v",
    "where true": "np.where(x > 0, v, 0)",
    "where false": "np.where(y > 0, 0.0, v)",
    "where condition": "np.where(v > 0, 1, 2)",
    "maximum": "np.maximum(v, 0)",
    "minimum second": "np.minimum(0.5, v)",
    "fmax": "np.fmax(v, y)",
    "greater": "v > 0",
    "equal to itself": "v == v",
    "isnan": "np.isnan(v)",
    "to bool": "np.asarray(v).astype(bool)",
    "sign": "np.sign(v)",
    "logical": "np.logical_and(v, y)",
    "sum": "np.sum(v)",
    "sum compared": "np.sum(v) > 0",
    "max": "np.max(v)",
    "any": "np.any(v)",
    "argmax": "np.argmax(v)",
    "unused": "x",
    "unused beside a sum": "x.sum()",
    "first element": "np.asarray(v)[..., :1]",
    "where in where": "np.where(x > 0, np.where(y > 0, v, 1.0), 0.0)",
    "power zero": "np.power(v, 0)",
    "used in an empty loop": "np.empty((0,)) * np.sum(v)",
    "divided again": "1.0 / np.where(v > 0, v, 0)",
    "single": "np.asarray(v).astype(np.float32)",
}
BODIES = {name: f"    v = {{call}}\n    return {text}\n" for name, text in CONSUMERS.items()} | {
    "overwritten": "    a = x.copy()\n    a[...] = {call}\n    a[...] = 1\n    return a\n",
    "left in a copy": "    a = x.copy()\n    a /= {call}\n    return x\n",
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-300, -1e300, 5e-324, 3.0, -7.5, 1e200]


def program(op, first: str, second: str, consumer: str):
    operands = [OPERANDS[first], OPERANDS[second]][: op["arity"]]
    call = f"{op['numpy']}({', '.join(operands)})"
    text = "def f(x, y, i, f, s, t):\n" + BODIES[consumer].format(call=call)
    namespace = {"np": np}
    exec(compile(text, "<conditions>", "exec"), namespace)
    return namespace["f"], text


def values(size: int, rng: random.Random):
    def floats():
        kind = rng.randrange(3)
        if kind == 0:
            return np.array([rng.choice(SPECIAL) for _ in range(size)])
        if kind == 1:  # one element that may matter
            data = np.array([rng.choice([1.0, 2.0, 0.5, 3.0]) for _ in range(size)])
            data[rng.randrange(size)] = rng.choice(SPECIAL)
            return data
        return np.array([rng.uniform(-3, 3) for _ in range(size)])

    x, y = floats(), floats()
    i = np.array([rng.choice([0, 1, 2, -3, 5]) for _ in range(size)])
    with np.errstate(all="ignore"):
        f = floats().astype(np.float32)
    return x, y, i, f, rng.choice([0.0, 1.0, -2.0]), np.float64(rng.choice([0.0, 1.0, -1.0, np.inf]))


def outcome(function, arguments):
    arguments = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(*arguments)
            error = None
        except Exception as raised:
            error = (type(raised), str(raised))
    return error, sorted((w.category.__name__, str(w.message)) for w in caught)


def expect_same_conditions(op, first, second, consumer, rng, options=None) -> bool:
    """Whether anything compiled: some operands leave the dtypes that kernels hold."""
    function, text = program(op, first, second, consumer)
    compiled = suture.compile(function, options=options)
    for size in (rng.randrange(1, 10), rng.randrange(1, 10), 100, 3000):
        arguments = values(size, rng)
        with np.errstate(over="warn", divide="warn", invalid="warn", under=rng.choice(["ignore", "warn"])):
            expected, actual = outcome(function, arguments), outcome(compiled, arguments)
        assert actual == expected, f"{text}with {size} elements"
    return frames_compiled(compiled) > 0


@pytest.mark.parametrize("op", PRODUCERS, ids=lambda op: op["name"])
def test_conditions_do_not_depend_on_what_happens_to_the_result(op):
    rng = random.Random(op["name"])
    compiled = 0
    for consumer in rng.sample(list(BODIES), 10 if op["signals"] != "Never" else 3):
        first, second = rng.choice(list(OPERANDS)), rng.choice(list(OPERANDS))
        compiled += expect_same_conditions(op, first, second, consumer, rng)
    if op["name"] not in ("bitand", "bitor", "bitxor", "invert", "shl", "shr"):  # most operands are floats
        assert compiled >= 1


CASES = {
    "where with a small array": (lambda y: np.where(y > 0, 1 / y, 0), np.array([1.0, 0.0, 2.0])),
    "division by a comparison": (lambda i: 255 / (i < 2), np.array([1, 5])),
    "unused in-place division": (lambda x: _left_in_a_copy(x), np.array([1.0, 2.0])),
    "overwritten": (lambda x: _overwritten(x), np.array([1.0, 2.0])),
    "hidden zero": (lambda x: 1 / np.where(x > 0, x, 0), np.array([-1.0, 2.0, 3.0] * 40)),
    "sign": (lambda x: 1 / np.sign(x), np.array([0.0, 1.0] * 50)),
    "range": (lambda x: 1 / np.arange(x.shape[0]), np.zeros(1)),
    "root compared": (lambda x: np.sqrt(x) < 0, np.array([-1.0] * 9)),
    "scalar": (lambda x: x[0] / x[1] > 0, np.array([1.0, 0.0])),
    "filled": (lambda x: np.full(3, x[0], dtype=np.float32)[:0], np.array([1e300])),
}


def _left_in_a_copy(x):
    v = x.copy()
    v /= 0 * v
    return x


def _overwritten(x):
    a = x.copy()
    a /= 0
    a[:] = 1
    return a


@pytest.mark.parametrize("name", CASES)
def test_a_warning_is_not_lost(name):
    function, argument = CASES[name]
    compiled = suture.compile(function)
    expected = outcome(function, (argument,))
    assert expected[1], "the case must warn"
    assert outcome(compiled, (argument,)) == expected
    assert frames_compiled(compiled) >= 1

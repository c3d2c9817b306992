"""Python numbers beside arrays: operators follow CPython to the last bit, also where it raises or turns complex."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

import suture
from tests.support.oracle import check, frames_compiled

X = np.linspace(-2.0, 3.0, 7)
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -8.0, 1 / 3, 1e200, -1e200, 5e-324, 1e-300]
SPECIAL = [float("inf"), float("-inf"), float("nan")]


def power(x, a, b):
    return x, a**b


def power_of_expression(x, a, b):
    return x / b**2 + a, (a + 1.0) ** (b - 0.5)


def square(x, a, b):
    return x * a**2, x - b**-1, (a + b) ** 3


def power_of_a_constant(x, a, b):
    return x * 2**a, 10.0**b


@pytest.mark.parametrize(
    "function", [power, power_of_expression, square, power_of_a_constant], ids=lambda f: f.__name__
)
def test_powers_are_those_of_cpython(function):
    compiled = suture.compile(function)
    check(function, compiled, (X, 1.25, 2.5))
    for a, b in itertools.product(FLOATS + SPECIAL, FLOATS + SPECIAL):
        check(function, compiled, (X, a, b), calls=1)
    assert frames_compiled(compiled) == 1
    assert compiled.status()["graph_break_count"] == 0


def test_powers_have_the_last_bit_of_the_c_library():
    def f(x, a, b):
        return x, a**2, a**b, 2.0**b, a**0.5, a**-1, a**-2.0, a**1

    compiled = suture.compile(f)
    rng = np.random.default_rng(5)
    for a, b in zip(rng.uniform(0.001, 50, 2000).tolist(), rng.uniform(-9, 9, 2000).tolist(), strict=True):
        assert f(X, a, b)[1:] == compiled(X, a, b)[1:], (a, b)
    assert frames_compiled(compiled) == 1


def test_a_power_that_raises_names_the_users_line():
    def f(x, a):
        y = x * 2
        z = a**-1.0
        return y + z

    compiled = suture.compile(f)
    check(f, compiled, (X, 4.0))
    with pytest.raises(ZeroDivisionError, match=r"0\.0 cannot be raised to a negative power") as caught:
        compiled(X, 0.0)
    frame = caught.traceback[-1]
    assert (frame.lineno + 1, frame.name) == (f.__code__.co_firstlineno + 2, "f")
    with pytest.raises(OverflowError) as overflow:
        suture.compile(power)(X, 1e200, 2.0)
    assert overflow.value.args == (34, "Numerical result out of range")
    assert frames_compiled(compiled) == 1


def test_a_complex_power_goes_on_as_in_python():
    def f(x, a, b):
        return x + a**b

    compiled = suture.compile(f)
    check(f, compiled, (X, 8.0, 1 / 3))
    assert check(f, compiled, (X, -8.0, 1 / 3)).dtype == np.complex128
    assert frames_compiled(compiled) == 1


def test_power_of_a_size_and_a_float():
    def f(x, a):
        return x * len(x) ** a, x.shape[0] ** -0.5 * x

    compiled = suture.compile(f)
    for n in (4, 5, 6, 7, 900):
        check(f, compiled, (np.arange(float(n)), 0.5 + n))
    assert frames_compiled(compiled) == 2


SCALARS = [
    np.int8(100),
    np.int8(-128),
    np.uint8(200),
    np.int64(2**62),
    np.float32(3e38),
    np.float64(1e308),
    np.int16(0),
]
BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "lt",
    "eq",
]


def of_constants(name, a, b):
    function = getattr(operator, name)

    def f(x):
        return x + 1, function(a, b)

    return f


@pytest.mark.parametrize("name", BINARY)
def test_folded_operators_warn_once_per_call(name):
    """NumPy's warnings for constants belong to the call, not to the capture."""
    for a, b in itertools.product(SCALARS, SCALARS):
        function = of_constants(name, a, b)
        compiled = suture.compile(function)
        check_warnings(function, compiled)
        assert frames_compiled(compiled) >= 1, (name, a, b)


@pytest.mark.parametrize("name", ["neg", "pos", "invert", "abs"])
def test_folded_unary_operators_warn_once_per_call(name):
    for a in SCALARS:
        function = getattr(operator, name)

        def f(x, a=a, function=function):
            return x + 1, function(a)

        compiled = suture.compile(f)
        check_warnings(f, compiled)
        assert frames_compiled(compiled) >= 1, (name, a)


def test_folded_functions_warn_once_per_call():
    constant = np.int8(100)

    def f(x):
        return x + 1, np.add(constant, constant), divmod(constant, np.int8(0)), abs(np.int8(-128)), np.float32(1e300)

    compiled = suture.compile(f)
    check_warnings(f, compiled)
    assert frames_compiled(compiled) >= 1


def test_the_error_state_at_the_first_call_is_not_compiled_in():
    a = np.int8(100)

    def f(x):
        return x + 1, a + a

    compiled = suture.compile(f)
    with np.errstate(over="ignore"):
        check(f, compiled, (X,))
    with np.errstate(over="raise"):
        check(f, compiled, (X,))
    check(f, compiled, (X,))
    assert frames_compiled(compiled) == 1


def check_warnings(function, compiled):
    """Two calls each: results, exceptions, and the list of warnings with their places, not only the set."""
    from tests.support.oracle import assert_same, run_with_places

    for _ in range(2):
        expected_kind, expected, expected_warnings = run_with_places(function, (X.copy(),))
        kind, actual, caught = run_with_places(compiled, (X.copy(),))
        assert (kind, caught) == (expected_kind, expected_warnings)
        if kind == "value":
            assert_same(expected, actual)
        else:
            assert actual == expected


@pytest.mark.parametrize(
    "name", "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift contains is_ is_not".split()
)
def test_operator_module_functions_compile(name):
    function = getattr(operator, name)
    in_place = name not in ("contains", "is_", "is_not")
    dtype = int if name in ("iand", "ior", "ixor", "ilshift", "irshift") else float

    def f(x, y):
        return function(x, y) if in_place else (x * 2, function((1, 2), 2))

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(1, 6).astype(dtype), np.arange(1, 6).astype(dtype)))
    assert frames_compiled(compiled) == 1
    assert compiled.status()["graph_break_count"] == 0


def test_operators_of_user_classes_are_inlined():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def __matmul__(self, x):
            return x * self.factor

        def __iadd__(self, x):
            return x + self.factor

        def __neg__(self):
            return -self.factor

    scaled = Scaled(2.5)

    def f(x):
        s = scaled
        s += x
        return scaled @ x, s, -scaled * x

    compiled = suture.compile(f)
    check(f, compiled, (X,))
    assert frames_compiled(compiled) == 1
    assert compiled.status()["graph_break_count"] == 0


# Builtins and operators of one or two Python numbers. The second value says whether the whole function is one graph.
OF_NUMBERS = {
    "abs(a)": True,
    "abs(-a) * x.astype(np.float32)": True,
    "operator.abs(a * 2.0)": True,
    "abs(a < b)": True,
    "abs(1.5 * x.shape[0])": True,
    "isinstance(abs(a), np.float64), type(abs(a))": True,
    "-a, +a, -(a < b), +(a < b)": True,
    "float(a * 2.0)": True,
    "sum((a, b)), sum([a, b], 1.0)": True,
    "round(a), round(a, 1)": False,
    "min(a, b), max(a, 2.0)": False,
    "pow(a, 2), pow(2.0, b), divmod(a, b)": False,
    "int(a), bool(a), not a, complex(a)": False,
    "a.real, a.imag, a.conjugate(), a.is_integer(), a.as_integer_ratio()": False,
}


@pytest.mark.parametrize("expression", OF_NUMBERS)
def test_builtins_of_python_numbers_give_python_numbers(expression):
    names: dict = {"np": np, "operator": operator}
    exec(f"def f(x, a, b):\n    y = x * 2\n    return y, {expression}\n", names)
    compiled = suture.compile(names["f"])
    for a, b in [(1.25, 2.5), (-1.25, 0.5), (-0.0, 3.0), (2.5, -1.0), (1e300, 7.0)]:
        check(names["f"], compiled, (X, a, b), calls=1)
    status = compiled.status()
    assert (status["graph_break_count"] == 0) == OF_NUMBERS[expression]
    assert frames_compiled(compiled) >= 1
    assert not OF_NUMBERS[expression] or frames_compiled(compiled) == 1


def test_abs_of_a_python_float_that_is_replayed():
    """An error state that raises runs the graph again from its NumPy text."""

    def f(x, a):
        abs = None  # noqa: F841 - the text must not find the user's name
        return (x / (a - a)) * operator.abs(a)

    compiled = suture.compile(f)
    with np.errstate(divide="raise", invalid="raise"):
        check(f, compiled, (X, -2.0))
    check(f, compiled, (X, -2.0))
    assert frames_compiled(compiled) == 1


def test_numpy_ints_made_of_python_ints_stay_numpy_ints():
    def f(x, n):
        k = np.int64(n)
        return x + 1, k * 2, k + 1, k**2, k * n, np.int64(len(x)) * 2, np.int64(n) * x.shape[0]

    compiled = suture.compile(f)
    for n in (3, 4, 5, 9):  # a size and an int that become symbols
        check(f, compiled, (np.arange(float(n)), n), calls=1)
    assert frames_compiled(compiled) == 2
    assert compiled.status()["graph_break_count"] == 0


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "bool"])
def test_reductions_in_the_small_dtype_of_their_operand(dtype):
    def f(x):
        return x.sum(dtype=dtype), np.sum(x, dtype=dtype, axis=0), np.prod(x, dtype=dtype), x.sum()

    compiled = suture.compile(f)
    for shape in ((5, 7), (6, 3), (130, 2)):
        check(f, compiled, (np.arange(np.prod(shape)).reshape(shape).astype(dtype),), calls=1)
    assert frames_compiled(compiled) >= 1
    assert compiled.status()["graph_break_count"] == 0

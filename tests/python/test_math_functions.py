"""Functions of `math` on Python numbers beside arrays: CPython's values to the last bit, its types and its exceptions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import suture
from tests.support.oracle import check, frames_compiled

X = np.linspace(-2.0, 3.0, 7)
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.0, -3.5, 41.5, 1e-8, 710.0, -745.5, 1e22, -1e22, 1e300, 5e-324, 2.0**53]
SPECIAL = [math.inf, -math.inf, math.nan]
OF_ONE = (
    "sqrt exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh fabs "
    "floor ceil trunc isnan isinf isfinite radians degrees"
).split()
OF_TWO = "pow fmod atan2 copysign log".split()


def of_one(name):
    function = getattr(math, name)

    def f(x, a):
        return x * 2.0, function(a)

    return f


def of_two(name):
    function = getattr(math, name)

    def f(x, a, b):
        return x * 2.0, function(a, b)

    return f


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_number(name):
    function = of_one(name)
    compiled = suture.compile(function)
    for a in NUMBERS + SPECIAL:
        check(function, compiled, (X, a), calls=1)
    assert frames_compiled(compiled) == 1
    assert compiled.status()["graph_break_count"] == 0


@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_numbers(name):
    function = of_two(name)
    compiled = suture.compile(function)
    check(function, compiled, (X, 1.25, 2.5))
    for a in NUMBERS + SPECIAL:
        for b in NUMBERS + SPECIAL:
            check(function, compiled, (X, a, b), calls=1)
    assert frames_compiled(compiled) == 1
    assert compiled.status()["graph_break_count"] == 0


def test_values_have_the_last_bit_of_the_c_library():
    def f(x, a):
        return x, math.exp(a), math.sin(a), math.log(a), math.tan(a), math.atan2(a, 3.0), math.pow(a, 1.7), math.sinh(a)

    compiled = suture.compile(f)
    for a in np.random.default_rng(8).uniform(1e-3, 40.0, 2000).tolist():
        assert f(X, a)[1:] == compiled(X, a)[1:], a
    assert frames_compiled(compiled) == 1


def test_an_exception_comes_from_math_at_the_users_line():
    def f(x, a):
        y = x * 2.0
        return y + math.log(a)

    compiled = suture.compile(f)
    compiled(X, 2.0)
    with pytest.raises(ValueError, match="math domain error") as raised:
        compiled(X, -1.0)
    assert raised.traceback[-1].lineno == f.__code__.co_firstlineno + 1
    assert frames_compiled(compiled) == 1


def test_results_go_on_into_arrays_and_numbers():
    def f(x, a, b):
        scale = math.sqrt(a * a + b * b)
        return x.astype(np.float32) * scale + math.floor(b) + math.degrees(a) / (1.0 + math.exp(-b))

    compiled = suture.compile(f)
    for a, b in [(0.5, 1.5), (3.0, -4.0), (-2.0, 0.0), (1e10, 3.7)]:
        check(f, compiled, (X, a, b), calls=1)
    assert frames_compiled(compiled) == 1


def test_pow_of_ints_is_a_float():
    def f(x, a):
        return x * math.pow(x.shape[0], 2), math.pow(math.floor(a), 2)

    compiled = suture.compile(f, dynamic=True)
    for n, a in ((4, 2.5), (7, -3.5)):
        check(f, compiled, (np.arange(n, dtype=float), a), calls=1)
    assert frames_compiled(compiled) == 1
    assert compiled.status()["graph_break_count"] == 0


def test_sizes_stay_symbolic():
    def f(x):
        n = x.shape[0]
        return x / math.sqrt(n) + math.log(n, 2) + math.ceil(n)

    compiled = suture.compile(f, dynamic=True)
    for n in (4, 5, 9, 1000):
        check(f, compiled, (np.arange(n, dtype=float),), calls=1)
    assert frames_compiled(compiled) == 1


def test_a_scalar_of_numpy_becomes_a_python_number_in_a_break():
    def f(x):
        return x * math.sqrt(x.sum())

    compiled = suture.compile(f)
    check(f, compiled, (np.abs(X),))
    [reason] = suture.explain(compiled).break_reasons
    assert reason["reason_id"] == "SB103" and "`math.sqrt(sum)`" in reason["explanation"]
    assert frames_compiled(compiled) == 2


@pytest.mark.parametrize(
    ("function", "code", "text"),
    [
        (
            lambda x, a: x * math.hypot(a, 1.0),
            "SB308",
            "`math.hypot` with a Python number that is known only at run time",
        ),
        (
            lambda x, a: x * divmod(a, 2.0)[0],
            "SB308",
            "`divmod(a, ...)` with a Python number that is known only at run time",
        ),
    ],
)
def test_what_is_not_compiled_says_so(function, code, text):
    compiled = suture.compile(function)
    check(function, compiled, (X, 1.5))
    reasons = suture.explain(compiled).break_reasons
    assert not any("iterator" in reason["explanation"] for reason in reasons)
    assert [reason["reason_id"] for reason in reasons] == [code]
    assert text in reasons[0]["explanation"]
    assert frames_compiled(compiled) == 2


def test_source_of_the_graph_calls_math():
    def f(x, a):
        return x + math.tanh(a)

    sources = []

    def keep(graph, example_inputs):
        sources.append(graph.code)
        return suture.backends.eager(graph, example_inputs)

    compiled = suture.compile(f, backend=keep)
    check(f, compiled, (X, 0.5))
    assert frames_compiled(compiled) == 1
    [source] = sources
    assert source.startswith("import math\n\nimport numpy as np\n") and "math.tanh(a)" in source


# lowered_eager computes on where math raises.
@pytest.mark.parametrize(("backend", "most"), [("eager", 1e5), ("lowered_eager", 7.0), ("native", 1e5)])
def test_backends_agree(backend, most):
    def f(x, a):
        return x + math.tanh(a), math.exp(a), math.trunc(a), math.isnan(a)

    compiled = suture.compile(f, backend=backend)
    for a in (0.5, -3.25, most):
        check(f, compiled, (X, a), calls=1)
    assert frames_compiled(compiled) == 1


def test_sine_and_cosine_of_one_number():
    """One frame compiles. The C++ compiler makes one call (sincos) of the two."""

    def f(x, a):
        return x * math.sin(a) + math.cos(a)

    compiled = suture.compile(f, options={"strict": True})
    for a in NUMBERS:
        np.testing.assert_array_equal(compiled(X, a), f(X, a))
    assert frames_compiled(compiled) == 1

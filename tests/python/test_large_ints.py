"""Python ints have no largest value: what leaves 64 bits in a compiled function is the int that CPython computes.

Ints become symbols once they change, so every test calls its function with several values first.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suture
from tests.support.oracle import check, frames_compiled

X = np.linspace(-2.0, 3.0, 7)
LARGE = [3, 4, 5, 10**6, 2**31, 3 * 10**9, 2**62, 2**63 - 1, -(2**63), 2**63, 10**30, -7, 0]


def compiled_over(function, values):
    """`function` compiled, called with each value and compared with CPython; none of the calls may run eagerly first."""
    compiled = suture.compile(function, options={"recompile_limit": 64})
    for value in values:
        check(function, compiled, (X, value), calls=1)
    assert frames_compiled(compiled) >= 2, "the first value, and a symbol"
    assert not compiled.status()["skipped"], compiled.status()["reason"]
    return compiled


def multiplied_in_a_loop(x, n):
    a = n
    for _ in range(60):
        a *= 3
    return x + 1, a, a % 7, x[a % 7]


def fibonacci(x, n):
    a, b = n, n + 1
    for _ in range(40):
        a, b = b, a + b
    return x * 2, a, b, a % 5


def factorial(x, n):
    r, k = 1, min(n, 30)
    while k > 1:
        r *= k
        k -= 1
    return x + 1, r


def falling_product(x, n):
    r = 1
    for _ in range(8):
        r *= n
        n -= 1
    return x - 1, r, n


def powers(x, n):
    return x + 1, n * n, n * n * n, n * n * n * n, -n, abs(n), n + n, n - 2**62 - 2**62, n * 2**40


def compared_with_constants(x, n):
    return (
        x + 1,
        n * n > 10**12,
        n > 10**30,
        n < -(10**30),
        n == 2**63,
        n != 2**64,
        2**63 <= n,
        n * n * n * n > 10**30,
        -n == 2**63,
    )


def quotients(x, n):
    m = n * 9 - 4
    return x + 1, m // 10, m % 10, (-n) // 1000, (n - 2**62) // 7, min(n, m) % 11, max(n, -m) // 3


@pytest.mark.parametrize(
    "function",
    [multiplied_in_a_loop, fibonacci, factorial, falling_product, powers, compared_with_constants, quotients],
    ids=lambda f: f.__name__,
)
def test_ints_beyond_64_bits_are_those_of_cpython(function):
    compiled_over(function, LARGE)
    compiled_over(function, [20, 19, 21, 25, 2, 1, 0, -3, 10**18])


def test_a_size_times_large_numbers():
    def f(x):
        n = x.size
        return x + 1, n**7 * n * 10**15, n * n * 10**15, n * n * n * n > 10**30, (n * 10**17) // 3

    compiled = suture.compile(f)
    for size in (8, 9, 10, 100, 1000, 3, 2, 1, 0, 5000):
        check(f, compiled, (np.arange(size, dtype=np.float64),), calls=1)
    assert frames_compiled(compiled) >= 1


def test_an_array_scaled_by_an_int_that_left_64_bits():
    def f(x, n):
        return x * (n * n)

    compiled_over(f, [3, 4, 5, 2**31, 2**40, 10**200])


def test_an_index_computed_from_a_large_product():
    def f(x, n):
        return x[(n * 1234567891) % 7], x[(n * n) % 5 :] + 1

    compiled_over(f, [3, 4, 5, 2**40, 2**62, 2**63, -(2**61)])


def test_one_guard_for_a_whole_chain_of_products():
    def f(x, n):
        a = n
        for _ in range(10):
            a *= 3
        return x * 2, a

    compiled = compiled_over(f, [3, 4, 5])
    fits = [guard for guard in compiled.status()["guards"] if "fits" in str(guard)]
    assert len(fits) == 1, fits
    check(f, compiled, (X, 2**60), calls=1)


def test_int_arithmetic_that_feeds_itself_is_bounded():
    """Collatz: every turn doubles the expression of n. Capture has to end, with CPython's numbers."""

    def f(x, n, m):
        c = 0
        while n != 1 and c < m:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            c += 1
            x[c % 4] += 1
        return n, c

    compiled = suture.compile(f)
    for n in (6, 7, 27, 97, 871, 6171, 10**30 + 1):
        check(f, compiled, (np.zeros(4), n, 60), calls=1)
    assert frames_compiled(compiled) >= 1


def test_long_sums_of_quotients_are_bounded():
    def f(x, n):
        s = 0
        for i in range(1, 15):
            s = s * (n // i) + n % (i + 1)
            s = (s * s) // (n + i * i)
        return x + s % 100, s

    compiled_over(f, [30, 31, 32, 33, 7])


def test_a_large_int_between_small_ones():
    def f(x, n):
        return x + 1, n, x[n % 7]

    compiled_over(f, [0, 0, 2**63, 1, -(2**70), 2, 3])


def test_sequences_repeated_a_large_number_of_times():
    def f(x, n):
        return x + 1, [1.0] * n, (2,) * n, "ab" * n

    compiled = suture.compile(f)
    for n in (2, 3, 0, -4, 10**30, -(10**30), 2**62):
        check(f, compiled, (X, n), calls=1)
    assert frames_compiled(compiled) >= 1


# --- random arithmetic --------------------------------------------------------------------------------------
LEAVES = ["n", "m", "x.size", "n", "m", "3", "7", "2**40", "2**62", "-1", "10**19"]


def expressions(depth: int) -> st.SearchStrategy[str]:
    leaf = st.sampled_from(LEAVES)
    if depth == 0:
        return leaf
    inner = expressions(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(st.sampled_from("+-*"), inner, inner).map(lambda t: f"({t[1]} {t[0]} {t[2]})"),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.sampled_from(["7", "10**6", "-3", "(m * m + 1)"])).map(
            lambda t: f"({t[1]} {t[0]} {t[2]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        inner.map(lambda e: f"(-{e})"),
        inner.map(lambda e: f"abs({e})"),
        st.tuples(st.sampled_from(["<", "<=", "==", ">"]), inner, inner, inner, inner).map(
            lambda t: f"({t[1]} if {t[3]} {t[0]} {t[4]} else {t[2]})"
        ),
    )


VALUES = st.one_of(st.integers(-20, 20), st.integers(-(2**66), 2**66), st.sampled_from(LARGE))


@settings(max_examples=60, deadline=None)
@given(expressions(4), st.lists(st.tuples(VALUES, VALUES), min_size=4, max_size=6))
def test_random_int_arithmetic_is_that_of_cpython(expression, calls):
    namespace = {"np": np}
    exec(f"def f(x, n, m):\n    v = {expression}\n    return x + 1, v, x[v % 7]\n", namespace)  # noqa: S102
    f = namespace["f"]
    compiled = suture.compile(f, options={"recompile_limit": 64})
    for n, m in calls:
        check(f, compiled, (X, n, m), calls=1)
    assert frames_compiled(compiled) >= 1

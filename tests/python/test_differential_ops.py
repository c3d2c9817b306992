"""Every op of the table against NumPy: values, dtypes, layouts, warnings, exceptions."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import DTYPES, arrays, broadcastable, values

import suture
from suture import _core
from tests.support.oracle import assert_same, check, frames_compiled

WIDE = {"int32", "int64", "float32", "float64"}
SETTINGS = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
TABLE = {op["name"]: op for op in _core.op_table()}
ELEMENTWISE = [
    op
    for op in TABLE.values()
    if op["kind"] == "Elementwise" and op["numpy"] and op["name"] not in ("clip", "where", "round", "copy")
]
REDUCTIONS = [op for op in TABLE.values() if op["kind"] == "Reduce"]


def callable_of(op):
    return getattr(np, op["numpy"].removeprefix("np."))


def bound(op, result) -> int:
    """The op's ULP bound; both sides may err, so twice the bound of ours covers NumPy's own error."""
    dtype = np.asarray(result[0] if isinstance(result, tuple) else result).dtype
    return {4: 2 * op["ulp32"], 8: 2 * op["ulp64"]}.get(dtype.itemsize, 0) if dtype.kind == "f" else 0


def expect_frames(compiled, function, arguments, compiled_dtypes=WIDE):
    """One frame compiles, unless NumPy refuses the operands or answers in a dtype that kernels do not hold. Operands of
    one wide dtype that are not empty leave no reason for a break either."""
    with np.errstate(all="ignore"):
        try:
            supported = np.asarray(function(*arguments)).dtype.name in DTYPES
        except Exception:
            supported = False
    if not supported:
        return
    assert frames_compiled(compiled) >= 1, _core.status(compiled)["reason"]
    dtypes = {x.dtype.name for x in arguments}
    if len(dtypes) == 1 and dtypes <= compiled_dtypes and all(x.size for x in arguments):
        assert not suture.explain(compiled).break_reasons


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op["name"])
def test_elementwise_op_equals_numpy(op):
    numpy_function = callable_of(op)
    if op["arity"] == 1:

        def function(x):
            return numpy_function(x)
    else:

        def function(x, y):
            return numpy_function(x, y)

    @SETTINGS
    @given(broadcastable(op["arity"]))
    def run(operands):
        compiled = suture.compile(function)
        with np.errstate(all="ignore"):
            try:
                ulp = bound(op, function(*operands))
            except Exception:
                ulp = 0
        check(function, compiled, operands, ulp)
        # Powers of ints that may raise and of exponents that stand still are calls of NumPy at a break.
        expect_frames(compiled, function, operands, set() if op["name"] == "pow" else WIDE)

    run()


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op["name"])
@pytest.mark.parametrize("method", [False, True], ids=["function", "method"])
def test_reduction_equals_numpy(op, method):
    name = op["numpy"].removeprefix("np.")

    @SETTINGS
    @given(arrays(), st.data())
    def run(x, data):
        axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()))
        keepdims = data.draw(st.booleans())

        def function(x):
            if method:
                return getattr(x, name)(axis=axis, keepdims=keepdims)
            return getattr(np, name)(x, axis=axis, keepdims=keepdims)

        compiled = suture.compile(function)
        check(function, compiled, (x,))
        expect_frames(compiled, function, (x,))

    run()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 127, 128, 129, 1000, 4097, 8192, 8193, 20000])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
def test_sums_have_numpys_bits_at_every_length(name, dtype, n):
    x = np.random.default_rng(n).standard_normal(n).astype(dtype)

    def function(x):
        return getattr(x, name)()

    compiled = suture.compile(function)
    check(function, compiled, (x,))
    check(function, compiled, (x[::-1],))
    assert frames_compiled(compiled) >= 1


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("order", ["C", "F", "K021"])
def test_axis_sums_have_numpys_bits(axis, order):
    x = np.random.default_rng(1).standard_normal((13, 17, 37))
    x = x.transpose(0, 2, 1).copy().transpose(0, 2, 1) if order == "K021" else np.array(x, order=order)

    def function(x):
        return x.sum(axis=axis), x.mean(axis=axis, keepdims=True)

    compiled = suture.compile(function)
    check(function, compiled, (x,))
    assert frames_compiled(compiled) == 1


@SETTINGS
@given(broadcastable(3))
def test_where_equals_numpy(operands):
    def function(c, a, b):
        return np.where(c > 0, a, b)

    compiled = suture.compile(function)
    check(function, compiled, operands)
    assert frames_compiled(compiled) >= 1


@SETTINGS
@given(broadcastable(3))
def test_clip_equals_numpy(operands):
    def function(x, low, high):
        return np.clip(x, low, high), x.clip(low), np.clip(x, None, high)

    compiled = suture.compile(function)
    check(function, compiled, operands)
    expect_frames(compiled, lambda *a: function(*a)[0], operands)


@SETTINGS
@given(arrays(), st.sampled_from(DTYPES))
def test_astype_equals_numpy(x, dtype):
    def function(x):
        return x.astype(dtype), x.astype(dtype, copy=False)

    compiled = suture.compile(function)
    check(function, compiled, (x,))
    assert frames_compiled(compiled) >= 1


@pytest.mark.parametrize("exponent", [2.0, 1.0, 0.5, -1.0, 0.0, 3.0, -0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_with_an_exponent_known_at_run_time_take_numpys_loop(dtype, exponent):
    """np.power has loops of its own for 2, 1, 0.5 and -1, whose bits are not those of pow()."""
    x = values(dtype, 2000, np.random.default_rng(3), special=True)

    def function(x, p):
        return x**p, np.power(x, p)

    compiled = suture.compile(function)
    ulp = 2 * TABLE["pow"]["ulp32" if dtype == "float32" else "ulp64"]
    check(function, compiled, (x, 1.25), ulp)
    check(function, compiled, (x, exponent), 0 if exponent in (2.0, 1.0, 0.5, -1.0, 0.0) else ulp)
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize("name", ["fmax", "fmin", "maximum", "minimum"])
@pytest.mark.parametrize("n", [1, 3, 7, 9, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_of_zeros_have_numpys_sign(name, n, dtype):
    numpy_function = getattr(np, name)

    def function(x, y):
        return numpy_function(x, y)

    compiled = suture.compile(function)
    zero = np.zeros(n, dtype)
    for x, y in [(zero, -zero), (-zero, zero), (zero[::-1], -zero)]:
        check(function, compiled, (x, y))
    assert frames_compiled(compiled) >= 1


@SETTINGS
@given(arrays(["float32", "float64", "int32", "int64"]), st.integers(-3, 4))
def test_round_equals_numpy(x, decimals):
    def function(x):
        return np.round(x, decimals), x.round(), np.around(x, decimals=decimals)

    compiled = suture.compile(function)
    check(function, compiled, (x,))
    assert frames_compiled(compiled) >= 1  # np.round leaves unusual layouts to NumPy


@SETTINGS
@given(arrays(), st.sampled_from("CFAK"))
def test_copies_have_numpys_layout(x, order):
    def function(x):
        return x.copy(), np.copy(x), x.copy(order=order), np.array(x)

    compiled = suture.compile(function)
    check(function, compiled, (x,))
    expect_frames(compiled, lambda x: function(x)[0], (x,))


@SETTINGS
@given(arrays(shape=(3, 4, 2)), st.permutations(range(3)), st.integers(-3, 2))
def test_views_equal_numpys(x, axes, axis):
    def function(x):
        v = x.transpose(axes)
        return v, x.T, x[1:, ::-2], x[..., None, 0], x.swapaxes(axis, 0), np.expand_dims(x, axis), x[:1].squeeze(0)

    compiled = suture.compile(function)
    check(function, compiled, (x,))
    expect_frames(compiled, lambda x: x, (x,))


@SETTINGS
@given(arrays(shape=(2, 6)), st.sampled_from([(12,), (3, 4), (2, 3, 2), (-1, 2)]))
def test_reshapes_equal_numpys(x, shape):
    def function(x):
        return x.reshape(shape) + x.dtype.type(1), np.ravel(x) == 0, np.broadcast_to(x, (2, 2, 6)).sum(axis=0)

    compiled = suture.compile(function)
    check(function, compiled, (x,))
    expect_frames(compiled, lambda x: function(x)[0], (x,))


@SETTINGS
@given(st.integers(0, 20), st.sampled_from([d for d in DTYPES if d != "bool"]), st.floats(-4, 4), st.floats(0.1, 2))
def test_created_arrays_equal_numpys(n, dtype, start, step):
    def function(x, start, step):
        a, b = np.zeros(n, dtype), np.ones((n, 2), dtype)
        c, d = np.full(n, 3, dtype), np.arange(n, dtype=dtype)
        e, f = np.linspace(start, step, n), np.zeros_like(x)
        return a + x[0], b, c, d, e, f, np.full_like(x, 2), np.arange(start, start + n * 0.25, 0.25)

    compiled = suture.compile(function)
    x = np.arange(3).astype(dtype)
    check(function, compiled, (x, start, step))
    assert frames_compiled(compiled) >= 1


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_over_zeros_of_both_signs_have_numpys_sign(name, dtype):
    rng = np.random.default_rng(5)

    def function(x):
        return getattr(x, name)(), getattr(x, name)(axis=0), getattr(x, name)(axis=1)

    compiled = suture.compile(function)
    side = -1.0 if name == "max" else 1.0
    for shape in [(1, 5), (2, 9), (3, 17), (4, 100), (2, 3000)]:
        for _ in range(4):
            x = rng.choice([0.0, -0.0, side, 2 * side], shape).astype(dtype)
            check(function, compiled, (x,), calls=1)
    assert frames_compiled(compiled) >= 1


INTEGERS = ["int8", "uint8", "int16", "int32", "int64", "uint64", "bool"]


@pytest.mark.parametrize("backend", ["native", "lowered_eager"])
@pytest.mark.parametrize("exponents", INTEGERS)
@pytest.mark.parametrize("bases", INTEGERS)
def test_integers_to_powers_known_at_run_time(bases, exponents, backend):
    """A negative exponent raises, also where it is one of many, and in the layouts where loops differ."""
    base = np.arange(-3, 9).astype(bases)
    powers = (np.arange(12) % 7).astype(exponents)

    def f(a, b):
        return (a + a) ** b

    compiled = suture.compile(f, backend=backend)
    for a, b in (
        (base, powers),
        (base[::2], powers[::-1][::2]),
        (base[:, None], powers),
        (base, powers[3:4].reshape(())),
        (base, -powers.astype(exponents) if exponents != "bool" else powers),
    ):
        with np.errstate(all="ignore"):
            try:
                expected = f(a, b)
            except (ValueError, TypeError) as error:
                with pytest.raises(type(error), match=re.escape(str(error))):
                    compiled(a, b)
            else:
                result = compiled(a, b)
                assert_same(expected, result, ulp=2 if expected.dtype.kind == "f" else 0)  # uint64 with signed: floats
    if np.result_type(base, powers).kind in "iu" and "bool" not in (bases, exponents):
        assert compiled.status()["graph_count"] >= 1 and not compiled.status()["skipped"]
        assert compiled.status()["graph_break_count"] == 0

"""Every op of the table against NumPy: values, dtypes, layouts, warnings, exceptions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import DTYPES, arrays, broadcastable

import suture
from suture import _core
from tests.support.oracle import check, frames_compiled

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


def expect_frames(compiled, function, arguments):
    """One frame compiles, unless NumPy refuses the operands or answers in a dtype that kernels do not hold."""
    with np.errstate(all="ignore"):
        try:
            supported = np.asarray(function(*arguments)).dtype.name in DTYPES
        except Exception:
            supported = False
    if supported:
        assert frames_compiled(compiled) >= 1, _core.status(compiled)["reason"]


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
        expect_frames(compiled, function, operands)

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

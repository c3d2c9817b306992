"""What NumPy users write, expression by expression: compiled whole, and equal to NumPy on every layout and dtype."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from tests.support.oracle import check, frames_compiled

MATRIX = np.arange(12.0).reshape(3, 4) * 0.75 - 4


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same values in other places of memory."""
    wide = np.repeat(x, 2, axis=-1)
    return {
        "c": np.ascontiguousarray(x),
        "fortran": np.asfortranarray(x),
        "reversed": np.ascontiguousarray(x[::-1])[::-1],
        "strided": wide[..., ::2],
        "broadcast": np.broadcast_to(x[:1], x.shape),
    }


def compiled_of(expression: str, statements: str = ""):
    source = f"def f(x):\n{statements}    return {expression}\n"
    namespace = {"np": np}
    exec(compile(source, "<expression>", "exec"), namespace)
    return namespace["f"], suture.compile(namespace["f"])


def expect_one_graph(compiled, expression):
    status = compiled.status()
    assert frames_compiled(compiled) >= 1, f"{expression} was not compiled: {status['reason']}"
    assert status["graph_break_count"] == 0, f"{expression} breaks"


# ufuncs of two operands in every spelling; the operands are chosen so that no dtype refuses them
BINARY = "add subtract multiply divide floor_divide remainder fmod minimum maximum fmin fmax copysign arctan2 hypot"
COMPARE = "less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor"
UNARY = "negative positive absolute fabs sign square rint floor ceil trunc isnan isinf isfinite signbit deg2rad rad2deg"
FLOATING = "sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 cbrt"
DTYPES = ["float64", "float32", "int64", "int32", "int16"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY.split() + COMPARE.split())
def test_binary_ufunc(name, dtype):
    x = MATRIX.astype(dtype)
    function, compiled = compiled_of(f"np.{name}(x, x[0] + x.dtype.type(20)), np.{name}(x, 3)")
    ulp = 4 if name in ("arctan2", "hypot") else 0
    check(function, compiled, (x,), ulp)
    expect_one_graph(compiled, name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY.split() + FLOATING.split())
def test_unary_ufunc(name, dtype):
    function, compiled = compiled_of(f"np.{name}(x)")
    check(function, compiled, (MATRIX.astype(dtype),), 8 if name in FLOATING.split() else 0)
    expect_one_graph(compiled, name)


EXPRESSIONS = [
    # selection and rounding
    "np.where(x > 0, x, -x)", "np.where(x, 1.0, x)", "np.where(x[0] > 1, x, 0)", "np.clip(x, -1, 1)", "x.clip(0)",
    "np.clip(x, None, 2)", "np.clip(x, x[0], x[1])", "np.clip(x, a_min=-2, a_max=x[:, :1])", "x.round()", "np.round(x * 1.234, 2)",
    "np.around(x * 1000, -2)",
    # reductions
    "x.sum()", "np.sum(x, axis=0)", "x.sum(axis=(0, 1), keepdims=True)", "x.sum(-1, dtype=np.float64)", "x.prod(axis=1)",
    "x.mean()", "x.mean(axis=0)", "np.mean(x, -1, keepdims=True)", "x.var()", "x.std(axis=1, ddof=1)", "np.var(x, axis=0, ddof=0.5)",
    "x.max()", "np.amin(x, axis=1)", "x.min(axis=(0, 1))", "(x > 0).any()", "np.all(x > -9, axis=0)", "x.argmax()",
    "np.argmin(x, axis=1)", "x.argmax(axis=0, keepdims=True)",
    # shapes
    "x.reshape(4, 3)", "x.reshape(-1)", "x.reshape((2, 6)) + 1", "x.ravel()", "x.flatten()", "x.T", "x.T + 1", "x.transpose(1, 0)",
    "np.swapaxes(x, 0, 1) * 2", "np.moveaxis(x, 0, -1)", "x[:, None].squeeze()", "x.squeeze() is x, x + 0", "np.expand_dims(x, (0, 3)).shape",
    "np.broadcast_to(x, (2, 3, 4))", "np.shape(x), np.ndim(x), np.size(x), x.size, x.itemsize, x.nbytes, x.dtype, x + 0",
    # indices
    "x[0]", "x[-1, 2]", "x[..., 1]", "x[:, None, 1:]", "x[::-1, ::2]", "x[1:, :-1] - x[:-1, 1:]", "x[:, 3:0:-1]", "x[5:]", "x[()]",
    # creation
    "np.zeros(3)", "np.ones((2, 3), dtype=np.int32)", "np.full((2, 2), 7)", "np.zeros_like(x)", "np.ones_like(x, dtype=bool)",
    "np.full_like(x, 3)", "np.empty_like(x).shape", "np.arange(5)", "np.arange(2, 11, 3)", "np.arange(0, 1, 0.25)", "np.arange(4.0) + x[0]",
    "np.linspace(0, 1, 7)", "np.linspace(1, 2, 5, endpoint=False)", "np.linspace(0, x.sum(dtype=np.float64), 4)",
    # conversions and copies
    "x.astype(np.float32)", "x.astype('i4')", "x.astype(bool)", "x.astype(x.dtype, copy=False) is x, x + 0", "x.copy()", "np.copy(x)",
    "np.array(x)", "np.asarray(x) is x, x + 0", "np.ascontiguousarray(x)", "np.float64(x.sum())",
    # matrix products
    "x @ x.T", "np.dot(x, x[0])", "x.dot(x.T)", "np.matmul(x[0], x[1])",
    # operators
    "x ** 2", "x ** 3", "2 * x - 1", "x / 3", "x // 2", "x % 3", "-x, +x, abs(x)", "(x > 0) & (x < 3)", "~(x > 0)", "(x > 0) ^ (x < 2)",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression_on_every_layout(expression, dtype):
    function, compiled = compiled_of(expression)
    for x in layouts(MATRIX.astype(dtype)).values():
        check(function, compiled, (x,))
    expect_one_graph(compiled, expression)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.0, 0.5, 1.0, 2.0, -1.0, -0.5, 2.5])
@pytest.mark.parametrize("spelling", ["x ** p", "np.power(x, p)"])
def test_powers_of_special_values(spelling, exponent):
    x = np.array([-np.inf, -2.0, -0.0, 0.0, 0.25, 9.0, np.inf, np.nan])
    function, compiled = compiled_of(spelling.replace("p)", f"{exponent!r})").replace("** p", f"** {exponent!r}"))
    check(function, compiled, (x,), ulp=2)
    check(function, compiled, (x.astype("f4"),), ulp=4)
    assert frames_compiled(compiled) == 2
    expect_one_graph(compiled, spelling)


STATEMENTS = {
    "add in place": "    x += 1\n",
    "mixed dtypes in place": "    x *= np.float32(0.5)\n" if False else "    x *= 2\n",
    "row": "    x[1] = x[0]\n",
    "element": "    x[1, 2] = 9\n",
    "overlap": "    x[1:] = x[:-1]\n",
    "overlap in place": "    x[1:] += x[:-1]\n",
    "reversed": "    x[:] = x[::-1]\n",
    "mask": "    x[x > 1] = 0\n",
    "column from a slice": "    x[:, 0] = x[:, 1] * 2\n",
    "out": "    np.multiply(x, 3, out=x)\n",
    "fill": "    x.fill(4)\n",
    "through a view": "    v = x.T\n    v[0] = 5\n    x = v + 0\n",
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_writes_change_the_argument_as_numpy_does(name, dtype):
    function, compiled = compiled_of("x", STATEMENTS[name])
    for layout, x in layouts(MATRIX.astype(dtype)).items():
        if layout != "broadcast":
            check(function, compiled, (x,))
    expect_one_graph(compiled, name)


@pytest.mark.parametrize(
    "expression",
    [
        "x + 300",
        "x.reshape(5)",
        "x[7]",
        "np.sum(x, axis=3)",
        "x - np.ones(7)",
        "np.add(x > 0, -(x > 0))",
        "x.max(axis=0)[9]",
        "x ** -1",
    ],
)
def test_errors_are_numpys_own(expression):
    function, compiled = compiled_of(f"{expression}, x + 1")
    check(function, compiled, (MATRIX.astype("u1"),))
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0), (1, 1), (2, 1, 3)])
@pytest.mark.parametrize(
    "expression",
    ["x + 1, np.sin(x)", "x.sum(), x.prod()", "x.mean()", "x.var()", "np.where(x > 0, x, 1)", "np.clip(x, 0, 1)", "x.copy(), x.T, x.ravel()",
     "np.zeros_like(x), x.astype('f4')", "x.any(), x.all()", "x.max()", "x.argmin()", "x[...], x[None]", "x.round(1), -x"],
)  # fmt: skip
def test_unusual_shapes(shape, expression):
    function, compiled = compiled_of(expression)
    check(function, compiled, (np.ones(shape) * 1.5,))
    assert frames_compiled(compiled) >= 1

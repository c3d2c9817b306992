"""Views: whose memory they show, whether they may be written, and every flag, as NumPy makes them."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from tests.support.oracle import clone, frames_compiled

VIEWS = """
x[::-1]; x.T; x[1:]; x[:-1]; x[::2]; x[...]; x[None]; x[..., None]; x[0]; x[-1:]; x[0:0]; x[..., 0]; x[..., ::-1]; x[1::3]
x.transpose(); np.transpose(x); x.swapaxes(0, -1); np.moveaxis(x, 0, -1); np.expand_dims(x, 0); np.squeeze(x[None]); x.squeeze()
x.reshape(-1); x.ravel(); x.reshape(x.shape); x.reshape(1, *x.shape); x.reshape(*x.shape, 1); x.T.reshape(-1); x[::-1].ravel()
np.broadcast_to(x, (2, *x.shape)); np.broadcast_to(x, x.shape); np.broadcast_to(x, (2, *x.shape))[0]; np.broadcast_to(x, x.shape).T
np.broadcast_to(x[:1], x.shape)[1:]; np.broadcast_to(x[:1], x.shape).reshape(-1)
x[1:][::-1].T; x.T.T; x[::2][1:]; x[None][0]; x.T[::-1].T; x.reshape(-1)[1:].reshape(-1); x.copy()[1:]; (x + 1)[1:]; (x + 1).T
x.flatten(); x.copy(); x.copy(order="F"); x.astype(x.dtype, copy=False); np.asarray(x); np.ascontiguousarray(x); np.array(x)
np.linspace(0.0, 1.0, 1); np.linspace(0.0, 1.0, 1, endpoint=False); np.linspace(0.0, 1.0, 0); np.linspace(0.0, 1.0, 2)
np.linspace(0.0, 1.0, x.shape[0]); np.linspace(0, 5, 3, dtype="f4"); np.zeros_like(x); np.full_like(x, 3.0); np.arange(5.0)
""".replace("\n", ";").split(";")
EXPRESSIONS = [expression.strip() for expression in VIEWS if expression.strip()]


def inputs() -> dict[str, np.ndarray]:
    grid = np.arange(60.0).reshape(6, 10)
    as_strided = np.lib.stride_tricks.as_strided
    frozen = np.arange(12.0).reshape(3, 4)
    frozen.flags.writeable = False
    return {
        "C": np.arange(12.0).reshape(3, 4),
        "F": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "strided": grid[::2, 1::3],
        "reversed": grid[::-1, ::-2],
        "transposed slice": grid[1:4].T,
        "repeated rows": as_strided(np.arange(9.0), (4, 4), (0, 8)),
        "repeated columns": as_strided(np.arange(9.0), (4, 4), (8, 0)),
        "overlapping rows": as_strided(np.arange(9.0), (4, 3), (8, 8)),
        "one value": as_strided(np.arange(1.0), (3, 2), (0, 0)),
        "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
        "read-only": frozen,
        "read-only view": frozen[1:],
        "one dimension": np.arange(7.0),
        "one element": np.arange(1.0),
        "unit axes": np.arange(4.0).reshape(1, 4, 1),
        "new column": np.arange(3.0)[:, None],
        "column": np.ones((3, 1)),
        "column of a matrix": grid[:, 3:4],
        "row of a reversed matrix": grid[::-1][2:3],
        "transposed row": grid[1:2].T,
        "empty": np.ones((0, 5)),
        "empty slice": grid[:0],
        "empty column": grid[:, :0][::-2],
        "rank 3": np.arange(24.0).reshape(2, 3, 4)[:, ::-1],
    }


def owner(base: object, result: np.ndarray, argument: np.ndarray) -> str:
    known = {id(None): "nobody", id(argument): "the argument", id(argument.base): "the argument's base"}
    if argument.base is None:
        known[id(None)] = "nobody"
    return known.get(id(base), "something else")


def seen(result: np.ndarray, argument: np.ndarray) -> dict[str, object]:
    flags = result.flags
    return {
        "flags": (flags.writeable, flags.owndata, flags.c_contiguous, flags.f_contiguous, flags.aligned),
        "dtype, shape": (result.dtype, result.shape),
        "strides": result.strides,
        "base": owner(result.base, result, argument),
        "is the argument": result is argument,
        "shares memory": np.shares_memory(result, argument),
        "values": result.tolist(),
    }


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_views_are_numpys_in_every_respect(expression):
    namespace: dict[str, object] = {"np": np}
    exec(f"def f(x):\n    return x.sum(), {expression}\n", namespace)
    f = namespace["f"]
    compiled = suture.compile(f, dynamic=False, options={"recompile_limit": 99})
    served = 0
    for name, original in inputs().items():
        argument, other = clone(original), clone(original)
        try:
            expected = f(argument)[1]
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                compiled(other)
            continue
        served += 1
        for _ in range(2):
            assert seen(compiled(other)[1], other) == seen(expected, argument), name
    assert served >= 10
    assert frames_compiled(compiled) >= 10
    assert compiled.status()["graph_break_count"] <= len(inputs()) - served, "breaks stand for NumPy's exceptions only"


def test_a_repeated_row_can_be_written_through_its_view():
    def f(x):
        return x[::-1], x.T, x[1:]

    compiled = suture.compile(f)
    x = np.lib.stride_tricks.as_strided(np.arange(9.0), (4, 4), (0, 8))
    for view in compiled(x):
        view[0, 0] += 10
    assert x[2, 0] == 30.0
    assert frames_compiled(compiled) == 1


def test_views_follow_the_writeable_flag_of_each_call():
    def f(x):
        return x[1:], np.broadcast_to(x, (2, 3))

    compiled = suture.compile(f)
    x = np.arange(3.0)
    for writeable in (True, False, True):
        x.flags.writeable = writeable
        part, wide = compiled(x)
        assert (part.flags.writeable, wide.flags.writeable) == (writeable, False)
    assert frames_compiled(compiled) == 2


@pytest.mark.parametrize(
    "statement", ["y[1:] = y[1:]", "y[5:2] = y[5:2]", "y[...] = y[...]", "y[::2] = y[::2]", "y[:] = y", "y[5:2] = 1.0"]
)
def test_a_write_that_changes_nothing_asks_for_permission(statement):
    namespace: dict[str, object] = {}
    exec(f"def f(y):\n    {statement}\n    return y + 1\n", namespace)
    compiled = suture.compile(namespace["f"])
    y = np.arange(4.0)
    assert compiled(y).tolist() == (y + 1).tolist()
    assert frames_compiled(compiled) == 1
    y.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            compiled(y)


STRIDES = """
x[:].strides; x.T.strides; (x + 1).strides; x.sum(axis=0, keepdims=True).strides; x.max(axis=-1, keepdims=True).strides; x[:, None].strides
x[None].T.strides; np.broadcast_to(x, x.shape).strides; np.broadcast_to(x, (2, *x.shape)).strides; x.reshape(1, -1).strides; x.copy().strides
np.expand_dims(x, 0).strides; np.expand_dims(x, (0, 2)).strides; x[:1].strides; x[:1].T.strides; (x[:1] + x).strides; np.zeros_like(x).strides
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
@pytest.mark.parametrize("expression", [expression.strip() for expression in STRIDES if expression.strip()])
def test_strides_that_lead_nowhere_are_numpys_too(expression, dtype):
    """Along axes of extent 1: read in the function, and of the array that it returns."""
    array = expression.removesuffix(".strides")
    namespace: dict[str, object] = {"np": np}
    exec(f"def f(x):\n    return {expression}, {array}\n", namespace)
    f = namespace["f"]
    compiled = suture.compile(f)
    grid = np.ones((6, 5), dtype)
    for x in (grid, grid[:, :1], grid[:1], grid[:1].T, grid[0][None], np.ones((3, 1), dtype), np.asfortranarray(grid)):
        (expected, result), (actual, made) = f(x), compiled(x)
        assert (actual, made.strides) == (expected, result.strides), (x.shape, x.strides)
    assert frames_compiled(compiled) >= 3
    assert compiled.status()["graph_break_count"] == 1, "reading .strides"


def test_arrays_with_a_unit_axis_take_two_entries_at_most():
    """One for the strides of a new array, one for all others."""

    def f(x):
        return x[:], x.T + 1

    compiled = suture.compile(f)
    for stride in (8, 0, 24, 40, -8, 8):
        x = np.lib.stride_tricks.as_strided(np.ones(3), (3, 1), (8, stride))
        assert [part.strides for part in compiled(x)] == [(8, stride), (24, 8)]
    assert frames_compiled(compiled) == 2


def test_an_empty_array_shares_no_memory_with_itself():
    def f(x):
        x += 1
        return x.T

    compiled = suture.compile(f)
    for x in (np.ones((6, 5))[:0].copy(), np.ones((6, 5))[:0], np.ones((6, 5))[:0].copy()):
        assert compiled(x).strides == x.strides[::-1]
    assert frames_compiled(compiled) == 2
    assert compiled.status()["graph_break_count"] == 0

"""Arrays whose last axes are short (points, colours, small matrices): blocks of rows are one loop.

Values, dtypes and flags are those of NumPy; no element that does not exist raises a flag, so nothing runs again under NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import frames_compiled

PROGRAMS = {
    "row operand": lambda x, row, column: x / row + 1,
    "column operand": lambda x, row, column: np.log(x) * column,
    "both": lambda x, row, column: (x - row) / column,
    "several results": lambda x, row, column: (x / row, x * column, np.sqrt(x)),
    "squared distance": lambda x, row, column: ((x - row) ** 2).sum(axis=-1),
    "distance": lambda x, row, column: np.sqrt(((x / row) ** 2).sum(axis=-1)),
    "sum beside elements": lambda x, row, column: ((x / row).sum(axis=-1), x / row),
    "largest": lambda x, row, column: (np.log(x) / row).max(axis=-1),
    "where the largest is": lambda x, row, column: (x / row).argmax(axis=-1),
    "of the columns": lambda x, row, column: (x / row).sum(axis=0),
    "mean of columns": lambda x, row, column: (x / row).mean(axis=0) * 2,
    "mask": lambda x, row, column: np.where(x > row, x / row, 0.0),
    "of the last two axes": lambda x, row, column: (x / row).sum(axis=tuple(range(x.ndim))[-2:]),
    "of the first and last axis": lambda x, row, column: (x / row).sum(axis=(0, -1)),
    "of everything": lambda x, row, column: ((x / row).sum(), (x - row).max()),
    "normalised": lambda x, row, column: x / x.sum(axis=-1, keepdims=True),
}
SHAPES = [
    (40, 2),
    (33, 3),
    (700, 3),
    (168, 3),
    (169, 3),
    (257, 4),
    (61, 5),
    (64, 7),
    (30, 15),
    (90, 16),
    (20, 3, 3),
    (5, 50, 3),
    (300, 2, 2),
]


def short_rows_in(compiled) -> bool:
    return any(" at a time" in record for record in _core.explain_records(compiled))


def arguments_of(shape, dtype, layout):
    values = np.random.default_rng(sum(shape))
    x = values.uniform(0.5, 4.0, (*shape[:-1], shape[-1] + 1)).astype(dtype)
    x = {
        "C": x[..., 1:].copy(),
        "F": np.asfortranarray(x[..., 1:]),
        "slice": x[..., 1:],
        "reversed": x[::-1, ..., :-1],
    }[layout]
    row = values.uniform(0.5, 2.0, shape[-1:]).astype(dtype)
    column = values.uniform(0.5, 2.0, (*shape[:-1], 1)).astype(dtype)
    return x, row, column


def within(got, expected):
    """Bitwise, but for functions whose last bit is not NumPy's."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape and got.strides == expected.strides
    np.testing.assert_allclose(
        got, expected, rtol=8 * np.finfo(expected.dtype).eps if expected.dtype.kind == "f" else 0
    )


@pytest.mark.parametrize("layout", ["C", "F", "slice", "reversed"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_short_rows_equal_numpy_and_raise_no_flag_of_their_own(name, dtype, layout):
    program = PROGRAMS[name]
    for shape in SHAPES[:: 1 if layout == "C" and dtype == "f8" else 3]:
        arguments = arguments_of(shape, dtype, layout)
        compiled = suture.compile(program)
        expected = program(*arguments)
        for _ in range(2):
            got = compiled(*arguments)
            if not isinstance(expected, tuple):
                got, wanted = (got,), (expected,)
            else:
                wanted = expected
            for mine, its in zip(got, wanted, strict=True):
                within(mine, its)
        assert frames_compiled(compiled) == 1
        assert [frame["replays"] for frame in compiled.status()["frames"]] == [0], (shape, name)


@pytest.mark.parametrize("name", ["row operand", "column operand", "squared distance", "of the columns"])
def test_a_last_axis_of_three_is_walked_in_blocks(name):
    compiled = suture.compile(PROGRAMS[name])
    compiled(*arguments_of((700, 3), "f8", "C"))
    assert frames_compiled(compiled) == 1
    assert short_rows_in(compiled)


def test_sizes_that_vary_keep_their_blocks():
    compiled = suture.compile(PROGRAMS["distance"], dynamic=True)
    for rows in (7, 168, 500, 1000):
        arguments = arguments_of((rows, 3), "f8", "C")
        within(compiled(*arguments), PROGRAMS["distance"](*arguments))
    assert frames_compiled(compiled) == 1


def test_flags_of_real_elements_still_count():
    compiled = suture.compile(PROGRAMS["row operand"])
    x, row, column = arguments_of((700, 3), "f8", "C")
    compiled(x, row, column)
    row[1] = 0.0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        got = compiled(x, row, column)
    with np.errstate(divide="ignore"):
        within(got, PROGRAMS["row operand"](x, row, column))
    assert frames_compiled(compiled) == 1


def test_a_value_of_the_long_axis_is_checked_as_ever():
    compiled = suture.compile(lambda x, y: x * (1.0 / y))
    x, y = np.ones((100, 3)), np.zeros((100, 1))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        got = compiled(x, y)
    assert np.isinf(got).all()
    assert frames_compiled(compiled) == 1

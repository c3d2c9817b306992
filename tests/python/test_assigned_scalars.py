"""NumPy scalars assigned to integer arrays: signed items are made of int(value), which may not fit; unsigned ones wrap."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from tests.support.oracle import check, frames_compiled

VALUES = {
    "bool": [True],
    "int8": [-128, 127],
    "uint8": [200],
    "int16": [-300, 300],
    "uint16": [60000],
    "int32": [-(2**31), 2**31 - 1],
    "uint32": [2**32 - 1],
    "int64": [-(2**63), 2**63 - 1, 2**40, 200, -1],
    "uint64": [2**63, 2**64 - 1, 300],
    "float32": [200.7, -1.5, 2.0**31, np.inf, np.nan],
    "float64": [
        127.9,
        128.0,
        -128.9,
        -129.0,
        200.7,
        70000.0,
        2.0**31 - 0.5,
        -(2.0**31) - 0.5,
        2.0**63,
        -(2.0**63),
        1e300,
        np.nan,
    ],
}
TARGETS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
STORES = {
    "element": "y[0] = x[0]",
    "slice": "y[1:] = x[0]",
    "whole": "y[...] = x[0]",
    "nothing": "y[5:2] = x[0]",
    "fill": "y.fill(x[0])",
    "reduction": "y[0] = x.max()",
    "0-d": "z = y[0, ...]; z[()] = x[0]",
}


def written(statement: str):
    namespace: dict[str, object] = {"np": np}
    exec(f"def f(x, y):\n    {statement}\n    return y + 0\n", namespace)
    return namespace["f"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", STORES)
def test_a_scalar_that_does_not_fit_a_signed_array_raises_as_in_numpy(name, target):
    function = written(STORES[name])
    for source, values in VALUES.items():
        compiled = suture.compile(function, dynamic=False)
        for value in values:
            check(function, compiled, (np.array([value], source), np.zeros(3, target)), calls=1)
        assert frames_compiled(compiled) == 1, source
        assert compiled.status()["graph_break_count"] == 0, source


def test_the_write_before_the_one_that_raises_is_seen():
    def f(x, y):
        for i in range(2):
            y[i] = x[i].sum()

    compiled = suture.compile(f)
    x, y = np.array([[1, 2], [20000, 20000]]), np.zeros(2, np.int16)
    with pytest.raises(OverflowError, match="Python integer 40000 out of bounds for int16"):
        compiled(x, y)
    assert y.tolist() == [3, 0]
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize(
    "statement", ["y[0] += x[0]", "y[1:] = x", "y[y == 0] = x[0]", "y[...] = np.array(x[0])", "y[0] = np.int64(300)"]
)
def test_the_siblings_of_such_an_assignment(statement):
    """In place, arrays, a mask and 0-d arrays wrap; a constant of the program is assigned like any scalar."""
    function = written(statement)
    compiled = suture.compile(function)
    check(function, compiled, (np.array([300, 2]), np.zeros(3, np.int8)))
    assert frames_compiled(compiled) == 1


def test_the_reference_interpreter_says_what_numpy_says():
    compiled = suture.compile(written("y[0] = x[0]"), backend="lowered_eager")
    for value, message in (
        (np.int64(200), "Python integer 200 out of bounds for int8"),
        (np.uint64(2**63), "Python int too large to convert to C long"),
        (np.nan, "cannot convert float NaN to integer"),
        (-np.inf, "cannot convert float infinity to integer"),
    ):
        with pytest.raises(ValueError, match=message):
            compiled(np.array([value]), np.zeros(3, np.int8))
    assert compiled(np.array([7.9]), np.zeros(3, np.int8)).tolist() == [7, 0, 0]
    assert frames_compiled(compiled) == 3, "one per dtype"

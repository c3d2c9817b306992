"""Writing into an input: what the call overwrites is saved for a run under NumPy, no more, and comes back where NumPy raises."""

import logging
import re

import numpy as np
import pytest

import suture


def one_element(x):
    x[0] += 1.0


def row_and_column(x):
    x[2] = x[1] * 2
    x[:, -1] = x[:, 0] + 1


def every_other_backwards(x):
    x[::-2, 3:1:-1] *= 2


def whole(x):
    x += 1


def overlapping_parts(x):
    x[1:4] += 1
    x[2:6] *= 3
    x[1:4] -= 0.5


def only_moves(x):
    x[0] = x[1]
    x[:, 0] = 7


def reduced(x):
    x[0, :] = x.sum(axis=0)


# bytes saved for an array of 8 x 6 float64
SAVED = {
    one_element: 6 * 8,
    row_and_column: (6 + 8) * 8,
    every_other_backwards: 4 * 2 * 8,
    whole: 48 * 8,
    overlapping_parts: (3 + 4) * 6 * 8,  # the first and the third are the same part
    only_moves: 0,
    reduced: 6 * 8,
}
LAYOUTS = {
    "C": lambda: np.arange(1.0, 49.0).reshape(8, 6),
    "F": lambda: np.asfortranarray(np.arange(1.0, 49.0).reshape(8, 6)),
    "strided": lambda: np.arange(1.0, 193.0).reshape(16, 12)[::-2, ::2],
}


@pytest.mark.parametrize("function", SAVED)
def test_no_more_is_saved_than_what_is_overwritten(function, caplog):
    compiled = suture.compile(function)
    with suture.set_logs("memory_plan"), caplog.at_level(logging.DEBUG, "suture"):
        compiled(LAYOUTS["C"]())
    assert compiled.status()["graph_count"] == 1 and not compiled.status()["skipped"]
    (text,) = [record.getMessage() for record in caplog.records if "Memory of" in record.getMessage()]
    found = re.search(r"(\d+) bytes of inputs that are overwritten", text)
    assert int(found[1] if found else 0) == SAVED[function]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", SAVED)
def test_results_are_numpys_also_where_it_raises(function, layout):
    compiled = suture.compile(function)
    for filled in (lambda x: x, lambda x: np.full_like(x, 1.7e308)):  # the second overflows where something is computed
        expected, actual = LAYOUTS[layout](), LAYOUTS[layout]()
        expected[...], actual[...] = filled(expected), filled(actual)
        with np.errstate(over="raise"):
            raised = [type(raising(function, expected)), type(raising(compiled, actual))]
        assert raised[0] is raised[1]
        assert expected.tobytes() == actual.tobytes()
    assert compiled.status()["graph_count"] == 1 and not compiled.status()["skipped"]


def raising(function, array):
    try:
        function(array)
    except FloatingPointError as error:
        return error
    return None

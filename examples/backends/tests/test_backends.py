"""The contract of a backend, and what is particular to these two."""

from __future__ import annotations

import numpy as np
from suture_example_backends.c_elementwise import c_source

import suture
from suture.testing import check_backend


def wave(x, k):
    return np.sin(x) * k + np.sqrt(np.abs(x)) / 2


def test_contract(suture_backend_law):
    suture_backend_law("c_elementwise")


def test_printing_keeps_the_contract():
    check_backend("printing").raise_if_failed()


def test_both_are_found_by_name():
    assert {"printing", "c_elementwise"} <= set(suture.list_backends())


def sources(function, *inputs):
    """What c_elementwise makes of the graphs of a function."""
    seen = []

    def noting(graph, example_inputs):
        seen.append(c_source(graph))
        return graph.forward()

    suture.compile(function, backend=noting)(*inputs)
    return seen


def test_an_elementwise_graph_is_one_loop():
    (source,) = sources(wave, np.ones((3, 4)), 2.5)
    assert source.count("for (") == 1 and "sin(x_v)" in source


def test_other_graphs_are_left_to_the_native_compiler():
    assert sources(lambda x: x.sum(axis=0), np.ones((3, 4))) == [None]
    assert sources(lambda x: x + 1, np.ones(3, np.int64)) == [None]


def test_floats_of_32_bits():
    x = np.linspace(0.1, 2, 5, dtype=np.float32)
    np.testing.assert_array_max_ulp(suture.compile(wave, backend="c_elementwise")(x, 2.5), wave(x, 2.5), 4)


def test_printing_prints(capsys):
    suture.compile(wave, backend="printing")(np.ones(3), 2.0)
    assert "# wave: 2 inputs, 1 outputs" in capsys.readouterr().err

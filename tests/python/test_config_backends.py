"""Backends: built-in ones, registered ones, callables, and what happens when one fails."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from suture import _backends, _core


def f(x):
    return (np.sqrt(x) + 1).sum(axis=0)


@pytest.mark.parametrize("backend", ["native", "eager", "lowered_eager"])
def test_built_in_backends_agree_bit_for_bit(backend):
    x = np.linspace(0, 9, 12).reshape(3, 4)
    compiled = suture.compile(f, backend=backend)
    with suture.testing.frames_compiled(expected=1):
        np.testing.assert_array_equal(compiled(x), f(x))
    assert compiled.status()["backend"] == backend


def test_a_callable_backend_gets_the_graph_and_example_inputs():
    seen = []

    def backend(graph, example_inputs):
        seen.append((graph, example_inputs))
        return graph.forward()

    x = np.ones((2, 3))
    np.testing.assert_array_equal(suture.compile(f, backend=backend)(x), f(x))
    (graph, inputs) = seen[0]
    assert isinstance(graph, suture.Graph) and len(seen) == 1
    assert [node["target"] for node in graph.nodes if node["op"] != "placeholder" and node["target"]][:2] == [
        "np.sqrt",
        "+",
    ]
    assert "def forward(" in graph.code
    assert len(inputs) == len(graph.placeholders)
    np.testing.assert_array_equal(graph.eval(x)[0], f(x))


def test_registered_names_are_listed_and_can_be_replaced():
    calls = []

    @suture.register_backend("counting")
    def counting(graph, example_inputs):
        calls.append(graph)
        return graph.forward()

    try:
        assert {"native", "eager", "lowered_eager", "counting"} <= set(suture.list_backends())
        suture.compile(f, backend="counting")(np.ones((2, 2)))
        assert len(calls) == 1
        suture.register_backend("counting", _backends.eager)
        suture.compile(f, backend="counting")(np.ones((2, 2)))
        assert len(calls) == 1
    finally:
        del _backends._registered["counting"]


def test_bad_backends_are_refused_at_once():
    with pytest.raises(ValueError, match="no backend is named 'eagr'; did you mean 'eager'"):
        suture.compile(f, backend="eagr")
    with pytest.raises(TypeError):
        suture.compile(f, backend=3)
    with pytest.raises(ValueError, match="cannot be replaced"):
        suture.register_backend("native", f)
    with pytest.raises(TypeError, match="callable"):
        suture.register_backend("x", 3)


def test_a_backend_that_raises_costs_nothing_but_a_record():
    def broken(graph, example_inputs):
        raise RuntimeError("cannot handle sqrt")

    compiled = suture.compile(f, backend=broken)
    np.testing.assert_array_equal(compiled(np.ones((2, 2))), f(np.ones((2, 2))))
    status = compiled.status()
    assert status["skipped"] and "cannot handle sqrt" in status["reason"]


def test_the_option_backend_is_the_default():
    with suture.config.patch(backend="eager"):
        compiled = suture.compile(f)
    assert compiled.status()["backend"] == "eager"


def _double(x):
    return x * 2


def test_disable_can_be_switched_on_and_off_at_any_time():
    import numpy as np

    x = np.ones(3)
    first = suture.compile(_double)
    with suture.config.patch(disable=True):
        first(x)
    assert _core.status(first)["frames"][0]["compiles"] == 0
    first(x)
    assert _core.status(first)["frames"][0]["compiles"] == 1
    hits = _core.status(first)["hits"]
    with suture.config.patch(disable=True):
        np.testing.assert_array_equal(first(x), x * 2)
    assert _core.status(first)["hits"] == hits


def test_options_of_a_function_name_only_what_they_change():
    function = suture.compile(_double, options={"max_unroll": 3})
    with suture.config.patch(fusion=False):
        assert _core.settings(function)["options"] == {"max_unroll": "3"}
    with pytest.raises(ValueError, match="one value for the process"):
        suture.compile(_double, options={"toolchain": "clang"})


@pytest.mark.parametrize("backend", ["native", "eager", "lowered_eager", lambda graph, inputs: graph.interpreter()])
def test_a_graph_that_needs_one_of_two_ints_gets_that_one(backend):
    def rows(n, k):
        if k > 5:
            return 0
        return np.ones((n, 3))

    compiled = suture.compile(rows, backend=backend)
    with suture.testing.frames_compiled(expected=2):
        assert [compiled(*ints).shape for ints in ((1, 1), (2, 3), (4, 5), (7, 4))] == [(1, 3), (2, 3), (4, 3), (7, 3)]

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


def test_matrix_products_of_the_interpreter_are_numpys():
    """One frame per dtype and layout. BLAS rounds in another order than a loop over rows and columns does."""
    rng = np.random.default_rng(0)
    f = suture.compile(lambda a, b, v: (a @ b, b.T @ a.T, a @ v, v @ b, v @ v), backend="lowered_eager")
    for dtype in (np.float64, np.float32, np.int64):
        for order in "CF":
            a, b = (np.asarray(10 * rng.normal(size=(37, 37)), dtype, order) for _ in range(2))
            v = np.asarray(10 * rng.normal(size=37), dtype)
            got = f(a, b, v)
            assert all(np.array_equal(x, y) for x, y in zip(got, (a @ b, b.T @ a.T, a @ v, v @ b, v @ v), strict=True))
    assert f.status()["graph_count"] >= 1 and not f.status()["graph_break_count"]


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


# --- overrides -------------------------------------------------------------------------------------------------------------

OVERRIDDEN = """\
import numpy as np
import suture

def mine(graph, inputs):
    return graph.forward()

@suture.compile(backend=mine, options={"fusion": False})
def f(x):
    return np.sqrt(np.abs(x) + 1) * 2

f(np.ones(5))
status = f.status()
print(status["backend"], status["graph_count"])
"""


@pytest.mark.parametrize(
    ("overrides", "backend", "told"),
    [
        ("", "mine", ""),
        ("backend=eager", "eager", ""),
        ("backend=native;fusion=True;kernel_opt=O0", "native", ""),
        ("fusion=1", "mine", ""),
        ("backend=nobody", "mine", "SUTURE_OVERRIDES is left out; no backend is named 'nobody'"),
        ("fusion", "mine", "SUTURE_OVERRIDES is left out; overrides: 'fusion' is no name=value"),
        ("fusoin=1", "mine", "no option is named 'fusoin'; did you mean 'fusion'?"),
        ("kernel_opt=O9", "mine", "option 'kernel_opt' cannot be 'O9'"),
        ("toolchain=clang", "mine", "'toolchain' is an option of the process"),
    ],
)
def test_settings_from_outside_win_over_those_of_the_program(run_python, write_program, overrides, backend, told):
    """One frame compiles whatever the environment says."""
    done = run_python(str(write_program(OVERRIDDEN)), SUTURE_OVERRIDES=overrides)
    assert done.returncode == 0 and done.stdout == f"{backend} 1\n", done
    assert told in done.stderr and bool(told) == bool(done.stderr)


def test_overrides_that_are_none_are_refused_in_config():
    with pytest.raises(ValueError, match="'toolchain' is an option of the process"):
        suture.config.overrides = "toolchain=clang"
    assert suture.config.overrides == ""
    with suture.config.patch(overrides="backend=eager"):
        f = suture.compile(lambda x: np.exp(x) + 1, backend="native")
    f(np.ones(3))
    assert f.status()["backend"] == "eager" and f.status()["graph_count"] == 1

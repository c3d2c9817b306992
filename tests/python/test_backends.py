"""The registry of backends, `native` as a callable, the backend that explains, and the list on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import suture
from suture import _backends, backends

X = np.linspace(0.0, 1.0, 12).reshape(3, 4)


def f(x):
    y = np.sin(x) + 1
    return np.maximum(y, 0) * y.sum()


def test_native_can_be_called_by_other_backends():
    seen = []

    def noting(graph, inputs):
        seen.append(graph)
        return backends.native(graph, inputs)

    compiled = suture.compile(f, backend=noting)
    with suture.testing.frames_compiled(expected=1):
        result = compiled(X)
    np.testing.assert_array_equal(result, suture.compile(f, backend="native")(X))
    assert len(seen) == 1


def test_what_native_relied_on_about_sizes_becomes_guards_of_the_frame():
    def spaced(x, n):
        return x + np.linspace(0.0, 1.0, n)[-1]

    reference = suture.compile(spaced, dynamic=True)
    through = suture.compile(spaced, backend=backends.native, dynamic=True)
    for n in (5, 2, 1, 7):
        expected = spaced(X, n)
        np.testing.assert_array_equal(reference(X, n), expected)
        np.testing.assert_array_equal(through(X, n), expected)
    entries = [len(each.status()["entries"]) for each in (reference, through)]
    assert entries[0] == entries[1]
    assert [e["guards"] for e in reference.status()["entries"]] == [e["guards"] for e in through.status()["entries"]]


def test_explain_counts_what_the_seed_counts(capsys):
    def seed(x, n):
        y = np.sin(x) + 1
        if y.sum() > 0:
            y = y * 2
        return np.maximum(y, 0) * n

    backend = backends.Explain()
    compiled = suture.compile(seed, backend=backend)
    with suture.testing.frames_compiled(expected=2):
        compiled(X, 3.0)
    explanation = suture.explain(compiled)
    assert (backend.graph_count, backend.op_count) == (explanation.graph_count, explanation.op_count)
    assert backend.ops_per_graph[1] == ["*", "np.maximum", "*"]
    assert str(backend).startswith(
        f"Graph Count: 2\nOp Count: {backend.op_count}\nOps per Graph:\n  Ops 1:\n    np.sin\n"
    )
    printed = capsys.readouterr().err
    line = seed.__code__.co_firstlineno + 1
    assert "graph 1: seed, " in printed and f"np.sin       f64[3, 4]  # {__file__}:{line}\n" in printed
    backend.reset()
    assert backend.graph_count == 0


@pytest.mark.parametrize(("what", "text"), [("code", "np.sin(x)"), ("graph", "= sin"), ("none", "")])
def test_what_explain_prints(what, text, capsys):
    with suture.testing.frames_compiled(expected=1):
        suture.compile(f, backend=f"explain:print={what},base=eager")(X)
    printed = capsys.readouterr().err
    assert text in printed and bool(printed) == (what != "none")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("explain:prnt=ops", "backend 'explain:prnt=ops' has no setting 'prnt'; did you mean 'print'?"),
        ("explain:print=all", "backend 'explain': print is ops | graph | code | none, not 'all'"),
        ("explain:base=nativ", "no backend is named 'nativ'; did you mean 'native'?"),
        ("explian", "no backend is named 'explian'; did you mean 'explain'?"),
    ],
)
def test_wrong_settings_are_refused_with_what_is_allowed(text, message):
    with pytest.raises(ValueError) as caught:
        suture.compile(f, backend=text)
    assert message in str(caught.value)


def test_every_backend_has_one_line(run_python):
    done = run_python("-m", "suture", "backends")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert [line.split()[0] for line in lines] == suture.list_backends() == sorted(suture.list_backends())
    assert any(line.startswith("native ") and "Fused C++ kernels." in line for line in lines)
    data = json.loads(run_python("-m", "suture", "backends", "--json").stdout)
    assert data["schema"] == "suture.backends/1"
    assert {"native", "eager", "lowered_eager", "explain", "faulty"} <= {row["name"] for row in data["backends"]}
    assert all(row["doc"] and row["origin"] == "built in" for row in data["backends"])


def test_registered_backends_are_described_as_such():
    @suture.register_backend("mine")
    def mine(graph, inputs):
        """Does it my way.

        Details."""
        return graph.forward()

    try:
        (row,) = [row for row in backends.describe_backends() if row.name == "mine"]
        assert row == ("mine", "registered", "Does it my way.")
        suture.register_backend("eager", mine)
        (row,) = [row for row in backends.describe_backends() if row.name == "eager"]
        assert row.origin == "registered"
    finally:
        _backends._registered["eager"] = _backends.eager
        del _backends._registered["mine"]


# --- the option check_backend ---------------------------------------------------------------------------------------------


def wrong_with(text, function=f, *inputs):
    """The message of the error that the option gives for this fault."""
    with suture.config.patch(check_backend=True):
        compiled = suture.compile(function, backend=f"faulty:{text}")
    with suture.testing.frames_compiled(expected=1), pytest.raises(TypeError) as caught:
        compiled(*(inputs or (X.copy(),)))
    return str(caught.value).removeprefix(f"backend 'faulty:{text}', graph {function.__name__}: ")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("op=maximum,kind=wrong_dtype", "output 0 ('mul') has dtype float32; the graph has float64"),
        ("op=maximum,kind=wrong_shape", "output 0 ('mul') has shape (1, 3, 4); the graph has (3, 4)"),
        ("op=maximum,kind=wrong_stride", "output 0 ('mul') has strides (64, 16); the graph has (32, 8)"),
        ("op=maximum,kind=wrong_type", "the callable returned ndarray, not a tuple of outputs"),
        ("op=maximum,kind=wrong_count", "0 outputs were returned, the graph has 1"),
        ("op=maximum,kind=mutated_input", "input 'x' was written into; the graph does not store into it"),
    ],
)
def test_check_backend_says_which_output_of_which_graph_is_wrong(fault, message):
    assert wrong_with(fault) == message


def test_check_backend_tells_scalars_from_arrays():
    def total(x):
        return x.sum()

    assert wrong_with("kind=wrong_shape", total) == "output 0 ('sum') is ndarray; the graph has a NumPy scalar"
    assert wrong_with("kind=wrong_dtype", total) == "output 0 ('sum') has dtype float32; the graph has float64"


def test_check_backend_finds_nothing_wrong_with_the_shipped_ones():
    def stores(x, n):
        x[0] = x[1:].sum(axis=0) * n
        return x.T, x[::-1, 1:], n + 1.5, x.mean()

    for backend in ("eager", "lowered_eager", "explain:print=none", backends.native):
        with suture.config.patch(check_backend=True):
            compiled = suture.compile(stores, backend=backend, dynamic=True)
        with suture.testing.frames_compiled(expected=1):
            for rows in (3, 5):
                x, y = (np.linspace(0.0, 1.0, 4 * rows).reshape(rows, 4) for _ in range(2))
                for ours, theirs in zip(compiled(x, 2.0), stores(y, 2.0), strict=True):
                    np.testing.assert_array_equal(ours, theirs)
        assert not compiled.status()["skipped"]


# --- the command line -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "check", "explain"])
def test_verbs_that_run_a_program_take_the_backend(verb, run_python, tmp_path):
    (tmp_path / "program.py").write_text(
        "import numpy as np, suture\nf = suture.compile(lambda x: np.sqrt(x) + 1)\nprint(f(np.ones(2)))\n"
    )
    done = run_python("-m", "suture", verb, "--backend", "faulty:op=add,kind=wrong_value,error=1", "program.py")
    assert done.stdout == "[4. 4.]\n", done.stderr
    wrong = run_python("-m", "suture", verb, "--backend", "faulty:op=ad", "program.py")
    assert wrong.returncode == 2
    assert wrong.stderr == f"suture {verb}: backend 'faulty:op=ad': no op is named 'ad'; did you mean 'add'?\n"

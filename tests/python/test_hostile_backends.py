"""Backends that do what nobody expects: the user's results stay right, the process lives, and the record says what happened."""

from __future__ import annotations

import functools
import json
import os
import sys
import threading

import numpy as np
import pytest

import suture
from suture import backends

X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def f(x):
    return np.maximum(np.sin(x), 0) * 2


def works(backend, function=f, **settings):
    """Compiled with this backend, the function gives NumPy's result; returns the status."""
    compiled = suture.compile(function, backend=backend, **settings)
    for x in (X, X * 3):
        np.testing.assert_array_equal(compiled(x.copy()), function(x.copy()))
    return compiled.status()


# --- what it raises -------------------------------------------------------------------------------------------------------


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text for you")

    __repr__ = __str__


class Elsewhere(Exception):
    def __str__(self):
        return 3  # not a str


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Unprintable(), "Unprintable"),
        (Elsewhere(), "Elsewhere"),
        (ValueError("\x1b[31mred\x1b[0m\nsecond line"), "second line"),
        (ValueError("\udcff lone surrogate"), "ValueError"),
        (ValueError("x" * 1_000_000), "ValueError"),
        (ExceptionGroup("several", [ValueError("a"), TypeError("b")]), "several"),
        (RecursionError("deep"), "deep"),
        (AssertionError(), "AssertionError"),
        (StopIteration(3), "StopIteration"),
        (Warning("as an error"), "as an error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_exception_while_compiling_costs_the_compiled_code_only(error, told):
    def raises(graph, inputs):
        raise error

    status = works(raises)
    assert status["skipped"] and told in status["reason"]
    assert len(status["reason"]) < 20_000 or len(str(told)) == len("ValueError")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
def test_what_must_not_be_kept_reaches_the_caller(error):
    def raises(graph, inputs):
        raise error("now")

    compiled = suture.compile(f, backend=raises)
    with pytest.raises(error, match="now"):
        compiled(X)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, ValueError])
def test_what_the_callable_raises_reaches_the_caller_every_time(error):
    def broken(*inputs):
        raise error("while running")

    compiled = suture.compile(f, backend=lambda graph, inputs: broken)
    with suture.testing.frames_compiled(expected=1):
        for _ in range(2):
            with pytest.raises(error, match="while running"):
                compiled(X)


def test_a_handler_of_the_function_sees_numpys_exceptions_and_not_the_backends():
    def guarded(x):
        try:
            return np.sin(x) + 1
        except ValueError:
            return None

    def broken(*inputs):
        raise ValueError("the backend's own")

    status = works(lambda graph, inputs: broken, guarded)
    assert not status["skipped"]


def test_endless_recursion_in_a_backend():
    def recursive(graph, inputs):
        return recursive(graph, inputs)

    status = works(recursive)
    assert "RecursionError" in status["reason"]


# --- what it returns ------------------------------------------------------------------------------------------------------


class Callable_:
    def __init__(self, run):
        self.run = run

    def __call__(self, *inputs):
        return self.run(*inputs)

    def method(self, *inputs):
        return self.run(*inputs)


@pytest.mark.parametrize(
    "wrap",
    [
        Callable_,
        lambda run: Callable_(run).method,
        functools.partial,
        lambda run: lambda *inputs: list(run(*inputs)),
        lambda run: staticmethod(run),
    ],
    ids=["object", "bound method", "partial", "list of outputs", "staticmethod"],
)
def test_every_callable_will_do(wrap):
    with suture.testing.frames_compiled(expected=1):
        status = works(lambda graph, inputs: wrap(graph.forward()))
    assert not status["skipped"]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned NoneType; it must return a callable"),
        (3, "returned int; it must return a callable"),
        (np.ones(3), "returned numpy.ndarray; it must return a callable"),
    ],
)
def test_what_is_no_callable_is_named(result, message):
    status = works(lambda graph, inputs: result)
    assert message in status["reason"]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (lambda out: None, "returned NoneType; it must return a tuple of the graph's outputs"),
        (lambda out: out[0], "returned numpy.ndarray; it must return a tuple"),
        (lambda out: iter(out), "returned tuple_iterator; it must return a tuple"),
        (lambda out: {0: out[0]}, "returned dict; it must return a tuple"),
        (lambda out: (), "returned 0 outputs; the graph has 1"),
        (lambda out: out * 2, "returned 2 outputs; the graph has 1"),
    ],
)
def test_outputs_of_another_form_are_a_type_error(results, message):
    def backend(graph, inputs):
        run = graph.forward()
        return lambda *inputs: results(run(*inputs))

    compiled = suture.compile(f, backend=backend)
    with suture.testing.frames_compiled(expected=1), pytest.raises(TypeError) as caught:
        compiled(X)
    assert message in str(caught.value)


def test_outputs_that_are_views_of_inputs_are_handed_on_as_they_are():
    def own_view(graph, inputs):
        return lambda x, *rest: (x[:],)

    compiled = suture.compile(f, backend=own_view)
    with suture.testing.frames_compiled(expected=1):
        result = compiled(X)
    assert np.shares_memory(result, X)


# --- what it does meanwhile -----------------------------------------------------------------------------------------------


def test_a_backend_that_forks_and_works_in_the_child():
    """The child runs compiled code and compiles more of it."""

    def forking(graph, inputs):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run = backends.native(graph, inputs)
                np.testing.assert_array_equal(run(X)[0], f(X))
                np.testing.assert_array_equal(suture.compile(lambda x: x + 1)(X), X + 1)
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return graph.forward()

    with suture.testing.frames_compiled(expected=1):
        assert not works(forking)["skipped"]


def test_a_backend_that_compiles_in_threads():
    def threaded(graph, inputs):
        made = []
        threads = [threading.Thread(target=lambda: made.append(backends.native(graph, inputs))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4
        return made[-1]

    assert not works(threaded)["skipped"]


def test_a_backend_that_calls_what_is_being_compiled():
    calls = []

    def calling(graph, inputs):
        calls.append(compiled(X))
        return graph.forward()

    compiled = suture.compile(f, backend=calling)
    with suture.testing.frames_compiled(expected=1):
        np.testing.assert_array_equal(compiled(X), f(X))
    np.testing.assert_array_equal(calls[0], f(X))
    assert compiled.status()["during_compile"] == 1


def test_a_backend_that_compiles_other_functions():
    @suture.compile
    def inner(x):
        return np.cos(x) + 1

    def nesting(graph, inputs):
        np.testing.assert_array_equal(inner(X), np.cos(X) + 1)
        return graph.forward()

    with suture.testing.frames_compiled(expected=2):
        assert not works(nesting)["skipped"]


@pytest.mark.parametrize("when", ["compiling", "running"])
def test_a_backend_that_resets_everything(when):
    def resetting(graph, inputs):
        run = graph.forward()
        if when == "compiling":
            suture.reset()

        def call(*inputs):
            if when == "running":
                suture.reset()
            return run(*inputs)

        return call

    works(resetting)


def test_a_backend_that_changes_options_and_the_error_state():
    def changing(graph, inputs):
        np.seterr(all="raise")
        sys.setrecursionlimit(sys.getrecursionlimit() + 1)
        return graph.forward()

    before = np.geterr()
    try:
        assert not works(changing)["skipped"]
    finally:
        np.seterr(**before)


def test_a_backend_that_keeps_all_it_is_given_alive():
    kept = []

    def keeping(graph, inputs):
        kept.append((graph, inputs, [graph.nodes, graph.to_json()]))
        return graph.forward()

    assert not works(keeping)["skipped"]
    graph, inputs, _ = kept[0]
    np.testing.assert_array_equal(graph.eval(*inputs)[0], f(X))


def test_a_backend_whose_name_is_no_name():
    class Odd:
        __name__ = None

        def __call__(self, graph, inputs):
            return graph.forward()

    status = works(Odd())
    assert not status["skipped"] and isinstance(status["backend"], str)


# --- under every setting --------------------------------------------------------------------------------------------------


def printing(graph, inputs):
    return graph.forward()


def branching(x):
    y = np.sin(x)
    if y.sum() > 0:
        y = y + 1
    return y * 2


def test_fullgraph_breaks_before_the_backend_is_asked():
    seen = []

    def noting(graph, inputs):
        seen.append(graph)
        return graph.forward()

    with pytest.raises(suture.GraphBreak):
        suture.compile(branching, backend=noting, fullgraph=True)(X)
    assert seen == []
    with suture.testing.frames_compiled(expected=1):
        suture.compile(f, backend=noting, fullgraph=True)(X)
    assert len(seen) == 1


def test_a_failing_backend_under_fullgraph_is_no_graph_break():
    def raises(graph, inputs):
        raise ValueError("cannot")

    status = works(raises, fullgraph=True)
    assert "cannot" in status["reason"]


def test_symbols_of_dynamic_graphs_arrive_as_ints():
    given = []

    def noting(graph, inputs):
        run = graph.forward()

        def call(*inputs):
            given.append([type(each) for each in inputs])
            return run(*inputs)

        return call

    def scaled(x, n):
        return np.zeros((n, 2)) + x.sum()

    compiled = suture.compile(scaled, backend=noting, dynamic=True)
    with suture.testing.frames_compiled(expected=1):
        for n in (3, 5):
            np.testing.assert_array_equal(compiled(X, n), scaled(X, n))
    assert given == [[np.ndarray, int]] * 2


def test_reset_asks_the_backend_again():
    seen = []

    def noting(graph, inputs):
        seen.append(graph)
        return graph.forward()

    compiled = suture.compile(f, backend=noting)
    with suture.testing.frames_compiled(expected=2):
        compiled(X)
        compiled.reset()
        compiled(X)
    assert len(seen) == 2


def test_explain_counts_with_every_backend():
    for backend in ("native", "eager", printing, "explain:print=none"):
        explanation = suture.explain(branching, backend=backend)(X)
        assert (explanation.graph_count, explanation.graph_break_count, explanation.op_count) == (2, 1, 5), backend


PROGRAM = """\
import numpy as np
import suture


@suture.compile(backend="{backend}")
def f(x):
    return np.sqrt(x) * 2 + 1


for _ in range(20):
    f(np.full((200, 200), 4.0))
"""


@pytest.mark.parametrize(
    ("backend", "finding"),
    [("eager", None), ("faulty:op=sqrt,kind=wrong_value,error=0.5", "accuracy"), ("faulty:op=sqrt", "SB508")],
)
def test_check_compare_works_with_backends_and_finds_what_they_do_wrong(backend, finding, run_python, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.format(backend=backend))
    done = run_python("-m", "suture", "check", "--compare", "--json", "program.py")
    found = json.loads(done.stdout)["findings"]
    wrong = [each for each in found if each["station"] == "accuracy" or each["id"].startswith("SB")]
    assert (done.returncode, bool(wrong)) == (1, True) if finding else not wrong, found
    if finding:
        assert any(finding in (each["station"], each["id"]) for each in wrong), found

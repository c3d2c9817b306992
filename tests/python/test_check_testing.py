"""suture.testing and the pytest plugin: they fail when they should, and never pass because nothing was compiled."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from suture import testing


def straight(x):
    return np.exp(x) + 1


def branchy(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y


def no_arrays(n):
    return n


def test_no_graph_breaks_passes_and_returns_the_explanation():
    assert testing.assert_no_graph_breaks(straight, np.ones(3)).graph_count == 1


def test_no_graph_breaks_names_the_place():
    with pytest.raises(AssertionError, match=rf"{branchy.__code__.co_firstlineno + 2}: Data-dependent branching"):
        testing.assert_no_graph_breaks(branchy, np.ones(3))
    compiled = suture.compile(branchy)
    compiled(np.ones(3))
    with pytest.raises(AssertionError, match="SB101"):
        testing.assert_no_graph_breaks(compiled)


def test_no_graph_breaks_fails_when_nothing_was_compiled():
    with pytest.raises(AssertionError):
        testing.assert_no_graph_breaks(no_arrays, 3)


def test_max_recompiles_counts_resume_functions_and_lists_reasons():
    compiled = suture.compile(branchy)
    for size in (3, 4, 5):
        compiled(np.ones(size))
    testing.assert_max_recompiles(compiled, 2)
    with pytest.raises(AssertionError, match="2 recompiles, at most 1 allowed") as caught:
        testing.assert_max_recompiles(compiled, 1)
    assert "expected 3, actual 4" in str(caught.value)
    with pytest.raises(AssertionError, match="nothing was compiled"):
        testing.assert_max_recompiles(suture.compile(straight), 0)


def test_frames_compiled_counts_and_checks():
    with testing.frames_compiled(expected=2) as frames:
        suture.compile(branchy)(np.ones(3))
    assert frames.count == 2 and len(frames.functions) == 2
    with pytest.raises(AssertionError, match="0 frames were compiled, expected 1"):
        with testing.frames_compiled(expected=1):
            pass


def test_matches_numpy_compares_results_and_arguments():
    def scale(x):
        x *= 2
        return x.sum(), x + 1

    testing.assert_matches_numpy(scale, np.arange(4.0), frames=1)
    testing.assert_matches_numpy(straight, np.ones(3), ulp=1)
    with pytest.raises(AssertionError, match="expected 3"):
        testing.assert_matches_numpy(straight, np.ones(3), frames=3, ulp=1)
    with pytest.raises(AssertionError, match="nothing was compiled"):
        testing.assert_matches_numpy(no_arrays, 3)


def test_matches_numpy_sees_a_wrong_result():
    def wrong(graph, example_inputs):
        run = graph.forward()
        return lambda *inputs: tuple(output + 1 for output in run(*inputs))

    compiled = suture.compile(straight, backend=wrong)
    with pytest.raises(AssertionError, match="result"):
        testing.assert_matches_numpy(compiled, np.ones(3))


PLUGIN_TESTS = """
import numpy as np, pytest, suture

@suture.compile
def branchy(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y

def test_fixture(suture_explain):
    assert suture_explain(branchy, np.ones(3)).graph_break_count == 1

@pytest.mark.no_graph_break
def test_break_fails():
    suture.reset()
    branchy(np.ones(3))

@pytest.mark.no_graph_break
@pytest.mark.max_recompiles(0)
def test_clean():
    suture.compile(lambda x: x + 1)(np.ones(3))

@pytest.mark.max_recompiles(0)
def test_recompile_fails():
    suture.reset()
    for size in (3, 4):
        branchy(np.ones(size))
"""


def test_pytest_plugin_offers_fixture_and_markers(run_python, write_program):
    tests = write_program(PLUGIN_TESTS)
    done = run_python(
        "-m",
        "pytest",
        "-p",
        "suture.pytest_plugin",
        "--strict-markers",
        "-q",
        str(tests),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert "graph breaks in a test marked no_graph_break" in done.stdout
    assert "recompiles, at most 0 allowed" in done.stdout

"""suture.explain: true counts, and nothing changed by asking. The seed itself is tested in test_seed.py."""

from __future__ import annotations

import json

import numpy as np
import pytest

import suture
from suture import _core


def branchy(x):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return y


def break_first(x):
    print(end="")
    return x + 1


def two_breaks(x):
    y = x + 1
    print(end="")
    y = y * 2
    print(end="")
    return y - 3


def straight(x):
    return (x + 1).sum()


@pytest.mark.parametrize(
    ("function", "graphs", "breaks", "ops"),
    [
        (straight, 1, 0, ["+", "ndarray.sum"]),
        (break_first, 1, 1, ["+"]),
        (two_breaks, 3, 2, ["+", "*", "-"]),
        (branchy, 2, 1, ["np.sin", "+", "ndarray.sum", ">", "*"]),
    ],
)
def test_counts_are_counts_of_what_happened(function, graphs, breaks, ops):
    explanation = suture.explain(function)(np.ones(4))
    assert explanation.graph_count == graphs
    assert explanation.graph_break_count == breaks == len(explanation.break_reasons)
    assert [op for graph in explanation.ops_per_graph for op in graph] == ops
    assert explanation.op_count == len(ops)


def test_a_function_without_array_work_has_no_graph_and_no_negative_counts():
    explanation = suture.explain(lambda n: n)(3)
    assert (explanation.graph_count, explanation.graph_break_count, explanation.op_count) == (0, 0, 0)
    assert [skip["reason_id"] for skip in explanation.skipped] in ([], ["SB502"])


def test_the_function_runs_once_and_caches_stay_untouched():
    calls = []

    def counted(x):
        calls.append(1)
        return x + 1

    compiled = suture.compile(branchy)
    compiled(np.ones(3))
    before = _core.status(compiled)
    suture.explain(counted)(np.ones(3))
    suture.explain(branchy)(np.ones(5))
    suture.explain(compiled)(np.ones(7))
    assert len(calls) == 1
    assert _core.status(compiled) == before


def test_a_compiled_function_is_explained_from_its_records_without_running():
    calls = []

    def counted(x):
        calls.append(1)
        return x + 1

    compiled = suture.compile(counted)
    compiled(np.ones(3))
    explanation = suture.explain(compiled)
    assert len(calls) == 1
    assert explanation.graph_count >= 1
    assert explanation.to_dict()["function"].endswith("counted")


def test_recompiles_and_crossings_are_listed():
    compiled = suture.compile(branchy)
    for size in (32, 48, 64, 64):
        compiled(np.ones(size))
    explanation = suture.explain(compiled)
    assert explanation.graph_count == 2 and explanation.graph_break_count == 1
    assert explanation.break_reasons[0]["hits"] == 2
    assert explanation.break_reasons[0]["crossings"] == 4
    failures = [failure for item in explanation.recompiles for failure in item["failures"]]
    assert len(explanation.recompiles) == 2
    assert any("array 'x' size mismatch at index 0. expected 32, actual 48" in failure for failure in failures)


class Doubling:
    def step(self, x):
        y = np.sin(x) + 1
        if y.sum() > 0:
            y = y * 2
        return y


class Tripling:
    def step(self, x):
        y = np.sin(x) + 1
        if y.sum() > 0:
            y = y * 3
        return y


def both_steps(x):
    y = Doubling.step(None, x)
    for _ in range(2):
        y = Tripling.step(None, y)
    return y


def test_functions_of_one_name_and_break_offset_keep_their_own_crossings():
    compiled = suture.compile(both_steps)
    for _ in range(3):
        compiled(np.ones(4))
    np.testing.assert_array_equal(compiled(np.ones(4)), both_steps(np.ones(4)))
    explanation = suture.explain(compiled)
    steps = [reason for reason in explanation.break_reasons if reason["reason_id"] == "SB101"]
    assert steps[0]["resume"] == steps[1]["resume"] and len(steps) == 2
    assert [reason["crossings"] for reason in steps] == [4, 8]


def test_break_reasons_hold_place_source_and_remedy():
    (reason,) = suture.explain(branchy)(np.ones(3)).break_reasons
    assert reason["reason_id"] == "SB101" and reason["reason"] == "Data-dependent branching"
    assert reason["file"] == __file__ and reason["line"] == branchy.__code__.co_firstlineno + 2
    assert reason["source"] == "    if y.sum() > 0:"
    assert any("np.where" in hint for hint in reason["hints"])


def test_kernels_guards_and_times_are_there():
    explanation = suture.explain(straight)(np.ones((3, 4)))
    (kernel,) = explanation.kernels
    assert kernel["name"].startswith("cpp_fused_") and kernel["path"].endswith(".cpp")
    assert any(guard["source"].startswith("x") for guard in explanation.guards)
    times = explanation.compile_times
    assert times["total_ms"] > 0 and times["phases"] and len(times["frames"]) == 1


def test_settings_reach_the_compiler_and_not_the_function():
    explanation = suture.explain(straight, dynamic=True)(np.ones(4))
    assert explanation.to_dict()["symbols"], "sizes are symbols at once"


def test_methods_and_keyword_arguments():
    class Model:
        def __init__(self):
            self.w = np.arange(3.0)

        def step(self, x, *, scale):
            return x * self.w * scale

    explanation = suture.explain(Model().step)(np.ones(3), scale=2.0)
    assert explanation.graph_count == 1 and explanation.ops_per_graph == [["*", "*"]]


def test_forms_agree_and_text_of_programs_is_escaped():
    explanation = suture.explain(branchy)(np.ones(3))
    assert json.loads(explanation.to_json()) == explanation.to_dict()
    assert explanation.to_dict()["schema"] == "suture.explain/1"
    text = str(explanation)
    for label in (
        "Graph Count: 2",
        "Graph Break Count: 1",
        "Break Reason 1:",
        "Ops per Graph:",
        "Ops 1:",
        "Ops 2:",
        "Out Guards:",
        "Compile Times:",
    ):
        assert label in text
    html = explanation._repr_html_()
    assert "<script" not in html and "y.sum() &gt; 0" in html


def test_fullgraph_raises_with_the_whole_message_and_its_fields():
    with pytest.raises(suture.GraphBreak) as caught:
        suture.compile(branchy, fullgraph=True)(np.ones(3))
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert "Data-dependent branching" in str(error) and "np.where" in str(error)
    assert error.reason_id == "SB101" and error.line == branchy.__code__.co_firstlineno + 2
    assert suture.explain(suture.compile(branchy, fullgraph=True))(np.ones(3)).graph_break_count == 1


def test_every_op_has_its_line():
    def f(x):
        y = x + 1
        z = np.sin(y)
        return z * 2

    first = f.__code__.co_firstlineno
    (graph,) = suture.explain(f)(np.ones(3)).to_dict()["graphs"]
    assert graph["ops"] == [
        {"name": "+", "line": first + 1},
        {"name": "np.sin", "line": first + 2},
        {"name": "*", "line": first + 3},
    ]

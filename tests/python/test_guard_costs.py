"""What guards cost: tests, failures and nanoseconds of each, in status, explain, logs, dump and the budget assertion."""

from __future__ import annotations

import json

import numpy as np
import pytest

import suture
from suture import _core, testing
from tests.support.oracle import frames_compiled

SAMPLE_EVERY = _core.guard_sample_every


class Box:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def add(x, y):
    return x + y


def nested(x, model):
    return np.sin(x) + model.layer.weight


def costs(compiled, entry=0):
    return compiled.status()["entries"][entry]["guard_costs"]


def test_tests_and_failures_add_up_to_the_calls():
    compiled = suture.compile(add)
    wide, narrow = np.ones(3), np.ones(3, np.float32)
    compiled(wide, wide.copy())
    for _ in range(5):
        compiled(
            narrow, narrow.copy()
        )  # refused by entry 0 only the first time: the last entry that fitted is asked first
    compiled(wide, narrow)
    for _ in range(2):
        compiled(wide, wide.copy())
    assert frames_compiled(compiled) == 3
    first, second, third = compiled.status()["entries"]
    assert [entry["hits"] for entry in (first, second, third)] == [3, 5, 1]
    # Entry 0 is asked 1 + 2 times and accepts, and is refused once by (narrow, narrow) and once by (wide, narrow).
    assert sum(guard["failures"] for guard in first["guard_costs"]) == 2
    refused = {guard["check"]: guard["failures"] for guard in first["guard_costs"] if guard["failures"]}
    assert refused == {"x.dtype == float64": 1, "y.dtype == float64": 1}
    tested = {guard["check"]: guard["tested"] for guard in first["guard_costs"]}
    assert tested["x.dtype == float64"] == 5 and tested["y.dtype == float64"] == 4
    assert {guard["check"] for guard in first["guard_costs"]} == set(first["guards"])


@pytest.mark.parametrize(
    "change, check",
    [
        (lambda x: x.astype("f4"), "x.dtype == float64"),
        (lambda x: x[None], "x.ndim == 2"),
        (lambda x: x[:2], "x.shape[0] == 4"),
        (lambda x: x[:, :3].copy(), "x.shape[1] == 6"),
        (lambda x: np.asfortranarray(x), "x.flags.c_contiguous"),
        (lambda x: x.astype(">f8"), "type(x) is np.ndarray and x.flags.aligned and x.dtype.isnative"),
        (lambda x: 1.0, "type(x) is np.ndarray and x.flags.aligned and x.dtype.isnative"),
    ],
)
def test_the_part_of_a_fused_test_that_refused_is_named(change, check):
    compiled = suture.compile(lambda x: np.multiply(x, 2), dynamic=False)
    x = np.ones((4, 6))
    compiled(x)
    compiled(change(x))
    failed = [guard["check"] for guard in costs(compiled) if guard["failures"]]
    assert failed == [check] and compiled.status()["entries"][0]["hits"] == 1


def test_a_module_attribute_that_refused_is_named(monkeypatch):
    compiled = suture.compile(lambda x: np.sin(x) + np.cos(x))
    compiled(np.ones(3))
    monkeypatch.setattr(np, "cos", np.tan)
    np.testing.assert_array_equal(compiled(np.ones(3)), np.sin(np.ones(3)) + np.tan(np.ones(3)))
    assert [guard["check"] for guard in costs(compiled) if guard["failures"]] == ["np.cos is <ufunc cos>"]
    assert frames_compiled(compiled) == 2


def test_every_guard_is_timed_when_it_is_made_and_again_after_many_calls():
    compiled = suture.compile(nested)
    model = Box(layer=Box(weight=np.ones(3)))
    compiled(np.ones(3), model)
    assert frames_compiled(compiled) == 1
    entry = compiled.status()["entries"][0]
    assert all(guard["ns"] >= 0 for guard in entry["guard_costs"])
    assert (
        entry["guard_ns"] == pytest.approx(sum(guard["ns"] for guard in entry["guard_costs"])) and entry["guard_ns"] > 0
    )
    events = []
    token = _core.subscribe(["guard_costs"], lambda line: events.append(json.loads(line)))
    try:
        for _ in range(3 * SAMPLE_EVERY):
            compiled(np.ones(3), model)
    finally:
        _core.unsubscribe(token)
    # Samples 2 and 4; what is reported is the least, which does not grow.
    assert [event["fields"]["hits"] for event in events] == [SAMPLE_EVERY, 3 * SAMPLE_EVERY]
    assert set(events[0]["fields"]["tested"]) == {str(SAMPLE_EVERY)}
    later = compiled.status()["entries"][0]
    assert later["guard_ns"] <= entry["guard_ns"] and later["hits"] == 3 * SAMPLE_EVERY + 1


def test_a_listener_that_raises_or_calls_does_not_disturb_the_call(capsys):
    compiled = suture.compile(add)
    x = np.ones(3)

    def listener(line):
        compiled(x, x)
        raise ValueError("from the listener")

    import sys
    from unittest import mock

    token = _core.subscribe(["guard_costs"], listener)
    try:
        with mock.patch.object(sys, "unraisablehook") as hook:
            for _ in range(SAMPLE_EVERY + 5):
                np.testing.assert_array_equal(compiled(x, x), x + x)
    finally:
        _core.unsubscribe(token)
    assert hook.call_count == 1 and frames_compiled(compiled) == 1


def test_a_call_that_raises_at_a_sample_raises_its_own_exception():
    def divide(x, y):
        return x / y

    compiled = suture.compile(divide)
    token = _core.subscribe(["guard_costs"], lambda line: None)
    ones, zeros = np.ones(2), np.zeros(2)
    try:
        for _ in range(SAMPLE_EVERY - 1):
            compiled(ones, zeros + 1)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            compiled(ones, zeros)
    finally:
        _core.unsubscribe(token)
    assert compiled.status()["entries"][0]["hits"] == SAMPLE_EVERY and frames_compiled(compiled) == 1


def test_explain_and_its_text_have_the_counts_of_the_newest_entry():
    compiled = suture.compile(add)
    for _ in range(3):
        compiled(np.ones(3), np.ones(3))
    explanation = suture.explain(compiled)
    assert {guard["tested"] for guard in explanation.guards} == {3}
    assert {guard["failures"] for guard in explanation.guards} == {0}
    assert all(guard["ns"] >= 0 for guard in explanation.guards) and len(explanation.guards) == 10
    assert "x.ndim == 1  # add, " in str(explanation) and "; 3 tests, 0 failed, " in str(explanation)
    assert "<th style='text-align:left'>failed</th>" in explanation._repr_html_()


def test_the_dump_and_the_log_have_the_tree_with_counts(tmp_path, caplog):
    compiled = suture.compile(nested)
    model = Box(layer=Box(weight=np.ones(3)))
    with caplog.at_level("INFO", logger="suture"), suture.set_logs("guards"):
        for _ in range(SAMPLE_EVERY):
            compiled(np.ones(3), model)
    assert frames_compiled(compiled) == 1
    made, counted = (record.getMessage() for record in caplog.records if record.artifact == "guards")
    assert ", entry 0: 14 guards, " in made and made.splitlines()[0].endswith(" ns")
    assert f", entry 0, after {SAMPLE_EVERY} hits: 14 guards, " in counted
    for source in (
        "+- global np",
        "+- argument x",
        "+- argument model",
        "|  +- model.layer",
        "|  |  +- model.layer.weight",
    ):
        assert f"\n{source}\n" in made and f"\n{source}\n" in counted
    assert f" ns, {SAMPLE_EVERY} tests, 0 failed]" in counted
    compiled(np.ones(3), model)
    suture.dump(compiled, tmp_path / "dump")
    (file,) = (tmp_path / "dump").rglob("guards.txt")
    text = file.read_text()
    assert text.count("Guards of nested") == 1 and f"after {SAMPLE_EVERY + 1} hits" in text


def test_the_budget_names_the_costliest_guards_and_what_removes_them():
    compiled = suture.compile(nested)
    x, weight = np.ones(3), np.ones(3)
    compiled(x, Box(layer=Box(weight=weight)))
    assert frames_compiled(compiled) == 1
    testing.assert_guard_budget(compiled, max_guards=14, max_ns=1e9)
    with pytest.raises(AssertionError) as failure:
        testing.assert_guard_budget(compiled, max_guards=12)
    text = str(failure.value)
    assert text.startswith(f"nested ({__file__}:{nested.__code__.co_firstlineno}), entry 0: 14 guards, ")
    assert "at most 12 guards allowed" in text and "ns: type(model" in text
    removal = "pass `model.layer.weight` as an argument of its own instead of reading it from `model`"
    assert f"To remove guards: {removal}" in text
    # A program that follows it:
    followed = suture.compile(lambda x, weight: np.sin(x) + weight)
    followed(x, weight)
    assert frames_compiled(followed) == 1
    testing.assert_guard_budget(followed, max_guards=12)


def test_the_budget_in_nanoseconds():
    compiled = suture.compile(add)
    compiled(np.ones(3), np.ones(3))
    assert frames_compiled(compiled) == 1
    with pytest.raises(AssertionError, match=r"10 guards, \d+\.\d ns; at most 0 ns allowed"):
        testing.assert_guard_budget(compiled, max_ns=0)
    with pytest.raises(AssertionError, match="Every one of them is needed"):
        testing.assert_guard_budget(compiled, max_guards=1)


def test_writing_into_an_argument_costs_a_guard_that_a_new_array_removes():
    def write(x, y):
        x += y
        return x

    compiled = suture.compile(write)
    compiled(np.ones(3), np.ones(3))
    assert frames_compiled(compiled) == 1
    removal = "return a new array instead of writing into an argument"
    assert removal in [guard["removal"] for guard in costs(compiled)]
    followed = suture.compile(add)
    followed(np.ones(3), np.ones(3))
    assert removal not in [guard["removal"] for guard in costs(followed)]


def test_the_budget_of_something_that_was_not_compiled_fails():
    with pytest.raises(AssertionError, match="nothing was compiled"):
        testing.assert_guard_budget(suture.compile(add), max_guards=100)

"""One cause is one break: raise statements, loops around a break; and no message names what only Suture knows."""

from __future__ import annotations

import re
import sys
import traceback
from typing import Any

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled

PREFIX = "suffix"


class Odd(Exception):
    def __init__(self, *args, k=0):
        super().__init__(*args)
        self.k = k


def plain(x):
    y = np.sin(x)
    raise Odd("m", k=3)


def the_class(x):
    y = np.sin(x)
    raise Odd


def formatted(x):
    y = np.sin(x)
    raise Odd(f"{y.sum():.3f}", PREFIX) from KeyError(x.shape)


# pytest would rewrite it.
ASSERTS = """
def asserted(x):
    y = np.sin(x)
    assert y.shape[0] > 100, f"short {x.shape}"
    return y
"""
exec(compile(ASSERTS, "<asserts>", "exec"))
asserted = globals()["asserted"]


def chosen(x):
    y = np.sin(x)
    raise (Odd("a") if x.shape[0] > 2 else KeyError("b"))


def several_lines(x):
    y = np.sin(x)
    raise Odd(
        "a",
        k=x.shape[0],
    )


def in_a_loop(x):
    y = np.sin(x)
    for i in range(5):
        y = y + 1
        if i == 3:
            raise IndexError(i, y.sum())
    return y


def with_a_cell(x):
    y = np.sin(x)
    n = 5

    def inner():
        return n

    raise Odd(n, inner())


def assigned_on_the_way(x):
    y = np.sin(x)
    raise (z := Odd("w"))


def module_attribute(x):
    y = np.sin(x)
    raise np.linalg.LinAlgError("x", y[0])


def nested_exceptions(x):
    y = np.sin(x)
    raise Odd(Odd("in"), Odd("out")) from Odd(Odd("deep"))


def by_expression(x):
    y = np.sin(x)
    raise sys.modules["builtins"].ValueError(str(y[0]) + "z")


RAISES = [
    plain,
    the_class,
    formatted,
    asserted,
    chosen,
    several_lines,
    in_a_loop,
    with_a_cell,
    assigned_on_the_way,
    module_attribute,
    nested_exceptions,
    by_expression,
]


def outcome(function: Any) -> Any:
    try:
        return repr(function(np.ones(4)))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        lines = [(frame.lineno, frame.colno, frame.end_colno) for frame in frames]
        return type(error), repr(error.args), getattr(error, "k", None), repr(error.__cause__), lines


@pytest.mark.parametrize("function", RAISES, ids=lambda function: function.__name__)
def test_a_raise_statement_is_one_break(function):
    compiled = suture.compile(function)
    for _ in range(3):
        assert outcome(compiled) == outcome(function)
    assert frames_compiled(compiled) >= 1
    explanation = suture.explain(compiled)
    assert explanation.graph_break_count == compiled.status()["graph_break_count"] == 1
    assert explanation.graph_count >= 1


def caught(x):
    y = np.sin(x)
    z = 0
    try:
        z = x.shape[0]
        raise Odd("a", k=z) from KeyError("b")
    except Odd as error:
        y = y * error.k + z
    return y


def test_a_raise_whose_handler_is_here_reaches_it_with_what_was_assigned():
    compiled = suture.compile(caught)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(np.ones(4)), caught(np.ones(4)))
    assert compiled.status()["graph_break_count"] == 1 and frames_compiled(compiled) >= 1


def two_conditions(x):
    y = np.sin(x)
    if y.sum() > 100:
        raise Odd("large")
    if y.sum() < -100:
        raise Odd("small")
    return y * 2


def test_raises_that_are_not_reached_are_no_breaks():
    compiled = suture.compile(two_conditions)
    np.testing.assert_array_equal(compiled(np.ones(4)), two_conditions(np.ones(4)))
    reasons = suture.explain(compiled).break_reasons
    assert [reason["reason_id"] for reason in reasons] == ["SB101", "SB101"] and frames_compiled(compiled) == 3


# --- loops ---------------------------------------------------------------------------------------------------------------


def for_loop(x):
    for i in range(3):
        x = x * 2 + i
        print(end="")
        x = x - 1
    return x


def while_loop(x):
    while x.sum() < 100:
        x = x * 2
    return x


def break_in_a_call(x):
    for _ in range(3):
        x = float_of(x) + x
    return x


def float_of(x):
    return float(x.sum())


@pytest.mark.parametrize(
    ("function", "causes"),
    [(for_loop, ["SB203"]), (while_loop, ["SB101"]), (break_in_a_call, ["SB103", "SB206"])],
)
def test_a_break_in_a_loop_is_its_cause_and_what_it_does_to_the_loop_its_effect(function, causes):
    compiled = suture.compile(function)
    np.testing.assert_array_equal(compiled(np.ones(4)), function(np.ones(4)))
    assert frames_compiled(compiled) >= 1
    explanation = suture.explain(compiled)
    reasons = explanation.break_reasons
    assert sorted(reason["reason_id"] for reason in reasons) == causes
    assert compiled.status()["graph_break_count"] == len(causes)
    (effects,) = [reason["effects"] for reason in reasons if reason["effects"]]
    assert [effect["reason_id"] for effect in effects] == ["SB403"] and effects[0]["hints"]
    text = str(explanation)
    assert text.count("(SB403)") == 1 and "    Effect: " in text and "SB403" in explanation._repr_html_()


def test_under_fullgraph_the_cause_comes_first():
    with pytest.raises(suture.GraphBreak) as caught_break:
        suture.compile(for_loop, fullgraph=True)(np.ones(3))
    lines = str(caught_break.value).splitlines()
    assert lines[1] == "Graph Break Reason: Output while computing"
    assert any(line.startswith("Effect: ") and "runs in Python" in line for line in lines)


# --- names ---------------------------------------------------------------------------------------------------------------


def values_on_the_stack(x):
    return (np.sin(x), print(end=""), open_ended(x.sum()).real, [print(end=""), x + 1])


def open_ended(x):
    return complex(x)


def attribute_of_a_result(x):
    y = np.sin(x)
    return y, print(end=""), Odd(y).k + (len(repr(x)) - print_and(3)).bit_length()


def print_and(n):
    print(end="")
    return n


@pytest.mark.parametrize("function", [values_on_the_stack, attribute_of_a_result, for_loop, *RAISES])
def test_no_record_of_a_break_names_a_stack_value(function):
    compiled = suture.compile(function)
    outcome(compiled)
    assert frames_compiled(compiled) >= 1
    explanation = suture.explain(compiled)
    assert explanation.break_reasons
    for record in [*explanation.break_reasons, *explanation.skipped]:
        told = [
            record["explanation"],
            *record["hints"],
            *(effect["explanation"] for effect in record.get("effects", [])),
        ]
        assert not re.search(r"stack_\d|__resume_at|__iteration_at|result_\d", " ".join(told)), told
    functions = {record["function"] for record in explanation.break_reasons}
    assert not [name for name in functions if name.startswith("__")], functions

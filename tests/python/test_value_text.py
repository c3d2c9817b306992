"""The sentence about a value that is not NumPy's is one, whoever compares. No function is compiled here."""

from __future__ import annotations

import re

import numpy as np
import pytest
from test_accuracy import case_of

from suture import testing
from suture._minify import accuracy, run_case, taps
from suture._minify.difference import value_difference
from suture._minify.reference import program_of
from suture.cli._accuracy import compared

# output 1[2, 4] is 0.5; NumPy gives 0.25 (3 ULP; rounding explains 0); 2 of 30 elements are wrong
SENTENCE = re.compile(
    r"(output|input|result) ?\d*( after the call)?(\[\d+(, \d+)*\])? is \S.*; NumPy gives \S+( \S+)?( \([^()]*\))?"
    r"(; \d+ of \d+ elements (is|are) wrong)?\.?$"
)


def off_by_one(graph, inputs):
    run = graph.forward()
    return lambda *values: tuple(value + 1 for value in run(*values))


def doubled(x):
    return x * 2


def test_everything_that_compares_says_it_in_one_form():
    case = case_of(doubled, np.linspace(1, 2, 6).reshape(2, 3))
    inputs = case.objects()
    results = off_by_one(case.graph, inputs)(*inputs)
    minifier = run_case.compare(case, results, inputs).message
    assert minifier == ("output 0[0, 0] is 3.0; NumPy gives 2.0 (2.252e+15 ULP); 6 of 6 elements are wrong")
    judge = accuracy.judge(program_of(case.graph, inputs), case.objects, results, inputs)[0].message
    assert judge == minifier.replace("ULP", "ULP; rounding explains 0")
    check = compared(0, [("result", inputs[0] * 2)], [("result", results[0])])["mismatch"]
    assert check == "In call 1, result[0, 0] is float64 3.0; NumPy gives float64 2.0."
    (law, *_) = [failure.message for failure in testing.check_backend(off_by_one, cases="np.add, float64").failures]
    told = [minifier, judge, check.removeprefix("In call 1, "), law]
    assert [each for each in told if not SENTENCE.match(each)] == []


def test_what_single_ops_should_be_is_told_as_right_and_not_as_numpys():
    case = case_of(lambda x: np.sin(x) + np.cos(x), np.linspace(1, 2, 6)).with_(check="accuracy")
    inputs = case.objects()
    exact = case.graph.forward()(*inputs)

    def compile_graph(graph):
        run = graph.forward()
        return lambda *values: tuple(np.nextafter(value, 9, dtype=value.dtype) for value in run(*values))

    found = taps.first_wrong(case, [np.nextafter(exact[0], 9)], inputs, compile_graph)
    assert found is not None
    assert re.search(r": \w+\[\d\] is \S+ \(\S+\); right is \S+ \(\S+\)$", found.message), found.message


@pytest.mark.parametrize(
    ("got", "wanted", "message"),
    [
        (
            np.array([1.0, -0.0, 0.0]),
            np.array([1.0, 0.0, 0.0]),
            "out[1] is -0.0; NumPy gives 0.0 (another zero); 1 of 3 elements is wrong",
        ),
        (np.array([1 + 1j, 1 + 9j]), np.array([1 + 1j, 1 + 1j]), "out[1] is (1+9j); NumPy gives (1+1j) ("),
        (np.float64(np.nan), np.float64(1.0), "out is nan; NumPy gives 1.0 (inf ULP)"),
        (
            np.array([True, True]),
            np.array([True, False]),
            "out[1] is True; NumPy gives False; 1 of 2 elements is wrong",
        ),
        (3, 4, "out is 3; NumPy gives 4"),
    ],
)
def test_the_element_that_is_shown_is_one_that_is_wrong(got, wanted, message):
    assert value_difference("out", got, wanted).message.startswith(message)

"""suture check --compare: times and results beside those of the same program under NumPy."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest


def check(run_python, *arguments, **environment):
    return run_python("-m", "suture", "check", *arguments, **environment)


def test_compare_runs_the_program_again_under_numpy(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return np.exp(x) * 2 + 1\n"
        "x = np.ones(1000)\n"
        "for _ in range(50): f(x)\n"
    )
    report = json.loads(check(run_python, "--json", "--compare", str(program)).stdout)
    (row,) = report["functions"]
    assert row["call_ms"] > 0 and row["numpy_call_ms"] > 0
    assert row["speedup"] == pytest.approx(row["numpy_call_ms"] / row["call_ms"])
    assert report["times"]["baseline_ms"] > 0 and report["times"]["wall_ms"] > 0


# `pick(a, b)`: a in the compiled run, b in the run under NumPy.
PICK = """
import numpy as np, suture
def pick(a, b): return b if suture.config.disable else a
"""


def accuracy(run_python, write_program, source):
    done = check(run_python, "--json", "--compare", str(write_program(PICK + source)))
    report = json.loads(done.stdout)
    found = [finding for finding in report["findings"] if finding["station"] == "accuracy"]
    return report["accuracy"], found, done


def test_equal_results_are_compared_and_no_finding(run_python, write_program):
    source = """
@suture.compile
def f(x, n): return {"twice": (x * 2, n + 1)}, -x
for k in range(3): f(np.arange(5.0) - 2, k)
"""
    (row,), found, done = accuracy(run_python, write_program, source)
    assert (row["function"], row["compared"], row["other_inputs"], row["ulp"]) == ("f", 3, 0, 0)
    assert found == [] and done.returncode == 0
    assert "results   3 calls compared with NumPy: bit for bit equal" in done.stderr


@pytest.mark.parametrize(("step", "severity"), [("np.nextafter(1.0, 2.0)", "note"), ("1 + 1e-12", "warning")])
def test_a_difference_of_floats_is_told_in_ulp(run_python, write_program, step, severity):
    source = f"""
STEP = pick({step}, 1.0)
@suture.compile
def f(x): return [x, x * STEP]
f(np.ones(3)); f(np.ones(3))
"""
    (row,), (finding,), _ = accuracy(run_python, write_program, source)
    assert finding["severity"] == severity and finding["function"] == "f" and row["compared"] == 2
    assert row["worst"] == "result[1] of call 1" and row["ulp"] == pytest.approx(
        eval(step, {"np": np}) / 2**-52 - 2**52
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return x + STEP", "In call 1, result[0] is float64 3.0; NumPy gives float64 2.0."),
        ("x += STEP", "In call 1, argument 0[0] is float64 3.0; NumPy gives float64 2.0."),
        ("return (x > STEP).sum()", "In call 1, result is int64 0; NumPy gives int64 1."),
        ("return -x if STEP == 1 else x", "In call 1, result[0] is float64 1.0; NumPy gives float64 -1.0."),
        (
            "return x if STEP == 1 else x.astype('f4')",
            "In call 1, result is an array of float32[3]; NumPy gives an array of float64[3].",
        ),
        ("return x[:STEP]", "In call 1, result is an array of float64[2]; NumPy gives an array of float64[1]."),
        ("return [x] * STEP", "Other values are returned or changed in place of call 1."),
        ("return x.reshape(3, 4 - 3 // STEP)", "Other values are returned or changed in place of call 1."),
        ("return x * (0.0 * (STEP - 1.5))", "In call 1, result[0] is float64 0.0; NumPy gives float64 -0.0."),
    ],
)
def test_another_result_than_numpys_is_an_error(run_python, write_program, body, why):
    source = f"""
STEP = pick(2, 1)
@suture.compile
def f(x):
    {body}
try: f(np.array([1.0, 1.0, 1.5]))
except ValueError: pass
"""
    (row,), (finding,), done = accuracy(run_python, write_program, source)
    assert (finding["id"], finding["severity"], finding["why"]) == ("other_result", "error", why)
    assert done.returncode == 1 and row["compared"] == 1


def test_a_child_that_the_program_forks_leaves_the_results_to_its_parent(run_python, write_program):
    source = """
import os
@suture.compile
def f(x): return x * 2
child = os.fork()
if child: os.waitpid(child, 0)
f(np.ones(3) if child else np.zeros(5))
"""
    (row,), found, done = accuracy(run_python, write_program, source)
    assert (row["compared"], row["other_inputs"], found) == (1, 0, []), done.stderr


def test_calls_with_other_arguments_are_repeated_with_those_of_the_first_run(run_python, write_program):
    source = """
@suture.compile
def f(x, *more, scale=1.0, **options):
    x *= scale
    return x + more[0] + options["y"]
f(np.ones(3), 1, y=2); f(np.random.default_rng().random(3), 2, scale=3.0, y=4)
"""
    (row,), found, done = accuracy(run_python, write_program, source)
    assert (row["compared"], row["other_inputs"], row["repeated"], row["left_out"], found) == (2, 1, 1, [], [])
    assert "results   2 calls compared with NumPy: bit for bit equal" in done.stderr
    assert "1 of them with the arguments of the first run" in done.stderr


def test_one_rounding_difference_does_not_hide_the_later_calls(run_python, write_program):
    source = """
STEP = pick(np.nextafter(1.0, 2.0), 1.0)
@suture.compile
def f(x): return np.sqrt(x) * STEP + 0.5
x = np.linspace(0.0, 1.0, 50)
for _ in range(20): x = f(x)
"""
    (row,), (finding,), _ = accuracy(run_python, write_program, source)
    assert (row["compared"], row["left_out"], finding["severity"]) == (20, [], "note")
    assert row["other_inputs"] == row["repeated"] >= 18 and row["ulp"] <= 2


def test_a_repeated_call_is_repeated_in_private(run_python, write_program):
    source = """
seen = []
@suture.compile
def f(x):
    seen.append(1)
    print("called")
    return x + len(seen)
for k in range(3): f(np.full(3, pick(k + 0.5, k)))
"""
    (row,), found, _ = accuracy(run_python, write_program, source)
    assert (row["compared"], row["repeated"], found) == (3, 3, []), "len(seen) is that of the program's own calls"


# what -> (source, calls that are compared, why others are not)
LEFT_OUT = {
    "too many": ("for _ in range(40): f(np.ones(3))", 32, "more than 32 calls of one function"),
    "too large": (
        "if watch: watch._store._left = 100\nf(np.ones(3)); f(np.ones(30)); f(np.ones(3))",
        2,
        "arguments and results of more than 256 MiB",
    ),
    "an object": (
        "class A: scale = pick(1.0, 2.0)\nf(np.ones(3)); g(A(), np.full(3, A.scale))",
        1,
        "other arguments in the second run, and an object of type A cannot be copied",
    ),
    "shared memory": (
        "x = np.full(5, pick(1.0, 2.0))\nh(x, x[1:])",
        0,
        "other arguments in the second run, and arrays that share memory cannot be copied",
    ),
    "not made": ("for _ in range(pick(3, 1)): f(np.ones(3))", 1, "the second run did not make them"),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_calls_that_are_not_compared_are_counted_with_the_reason(run_python, write_program, what):
    calls, compared, why = LEFT_OUT[what]
    source = f"""
@suture.compile
def f(x): return x * 2
@suture.compile
def g(self, x): return x * self.scale
@suture.compile
def h(x, y): return x.sum() + y.sum()
watch = next((o for o in __import__("gc").get_objects() if type(o).__name__ == "Recorder"), None)
{calls}
"""
    rows, found, done = accuracy(run_python, write_program, source)
    left_out = [row for each in rows for row in each["left_out"]]
    assert [row["why"] for row in left_out] == [why] and found == []
    assert sum(row["compared"] for row in rows) == compared
    assert f"not compared: {why}" in done.stderr


def test_the_time_of_comparing_is_not_the_programs(run_python, write_program):
    source = """
import time
from suture.cli import _call_record
slow = _call_record.digest_of
def digest_of(value):
    time.sleep(0.3)
    return slow(value)
_call_record.digest_of = digest_of
@suture.compile
def f(x): return x * 2
for _ in range(5): f(np.ones(3))
"""
    start = time.perf_counter()
    report = json.loads(check(run_python, "--json", "--compare", str(write_program(PICK + source))).stdout)
    assert report["functions"][0]["graphs"] == 1 and report["accuracy"][0]["compared"] == 5
    waited = 5 * 2 * 300  # ms in each run: the argument before and after the call
    assert (time.perf_counter() - start) * 1e3 > 2 * waited, "the test must slow both runs down"
    assert report["times"]["wall_ms"] < waited and report["times"]["baseline_ms"] < waited


def test_a_single_call_has_no_time_and_the_report_says_why(run_python, write_program):
    program = write_program("import numpy as np, suture\nsuture.compile(lambda x: x + 1)(np.ones(3))\n")
    done = check(run_python, "--compare", "--json", str(program))
    assert json.loads(done.stdout)["functions"][0]["graphs"] == 1
    assert "no time per call: the one call compiled; only calls that compile nothing are timed" in done.stderr


def test_only_calls_that_no_compiled_function_makes_are_compared(run_python, write_program):
    source = """
@suture.compile
def inner(x): return x * 2
@suture.compile
def outer(x):
    print(end="")
    return inner(x) + 1
outer(np.ones(3)); inner(np.ones(3))
"""
    rows, found, _ = accuracy(run_python, write_program, source)
    assert [(row["function"], row["compared"]) for row in rows] == [("outer", 1), ("inner", 1)] and found == []

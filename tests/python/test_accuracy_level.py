"""SUTURE_REPRO_LEVEL=4: results are judged where they arise, and the file that is left behind judges them in the same way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_accuracy import case_of

from suture import _core
from suture._minify import run_case
from suture._minify.accuracy import judge
from suture._minify.case import Case
from suture._minify.given_warnings import Heard
from suture._minify.minimise import minimise
from suture._minify.reference import program_of

# Exponentials that are `ULPS` units in the last place off, wherever a graph has one.
PROGRAM = """\
import os
import numpy as np
import suture

ULPS = float(os.environ["ULPS"])

def near(graph, example_inputs):
    names = [node["name"] for node in graph.nodes if node["op"] == "exp"]
    run = graph.forward()
    if not set(names) & set(graph.outputs):
        return run
    def call(*inputs):
        results = list(run(*inputs))
        for i, name in enumerate(graph.outputs):
            if name in names:
                results[i] = results[i] + ULPS * np.spacing(results[i])
        return tuple(results)
    return call

@suture.compile(backend=near)
def f(x):
    return np.exp(x), np.maximum(x, 0.5) * 2.0

try:
    for _ in range(3):
        print(len(f(np.linspace(-1, 1, 20))))
except suture.BackendCompilerFailed as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize(("ulps", "fails"), [("0", False), ("1", False), ("4", True), ("1e6", True)])
def test_a_result_a_few_units_off_fails_at_level_4_and_names_the_op(write_program, run_python, ulps, fails):
    program = write_program(PROGRAM)
    environment = {"ULPS": ulps, "SUTURE_REPRO_AFTER": "capture", "SUTURE_REPRO_LEVEL": "4"}
    done = run_python(str(program), **environment)
    assert done.returncode == 0, done.stderr
    if not fails:
        assert done.stdout == "2\n2\n2\n"
        return
    assert done.stdout.startswith("BackendCompilerFailed: near gave a wrong result"), done.stdout
    line = 1 + PROGRAM.splitlines().index("    return np.exp(x), np.maximum(x, 0.5) * 2.0")
    assert f"The first op that is wrong: exp = exp (np.exp) at {program}:{line}" in done.stdout
    again = run_python("minifier_launcher.py", "query", ULPS=ulps)
    assert again.returncode == 1 and again.stdout.startswith("REPRODUCED: "), again


def wrong_in(case, ulps):
    """Results of the case with every exponential so many units off, and the compiler that makes them."""

    def compile_graph(graph):
        run = graph.forward()

        def call(*inputs):
            results = zip(graph.outputs, run(*inputs), strict=True)
            return tuple(r + ulps * np.spacing(r) if name.startswith("exp") else r for name, r in results)

        return call

    return compile_graph, compile_graph(case.graph)(*case.objects())


def test_only_the_case_that_asks_for_accuracy_looks_at_single_ops():
    case = case_of(lambda x: np.exp(x), np.linspace(-1, 1, 20), check="accuracy")
    compile_graph, results = wrong_in(case, 4)
    assert run_case.compare(case, results, case.objects()) is None
    found = run_case.compare(case, results, case.objects(), compile_graph)
    assert found.kind == "wrong_value" and "more than the 1 ULP of the table" in found.message
    assert run_case.compare(case.with_(check="run"), results, case.objects(), compile_graph) is None


def test_an_error_of_a_few_units_is_minimised_to_its_op():
    """No tolerance would see it: log1p is off by 2e-15 in a program of ten ops."""

    def program(x, y):
        a = np.sin(x) + y
        b = np.exp(a) * 0.5
        c = np.log1p(b) - a
        d = np.maximum(c, 0.1)
        return (d * d).sum(axis=0), np.tanh(d)

    rng = np.random.default_rng(0)
    case = case_of(program, rng.uniform(-1, 1, (20, 30)), rng.uniform(-1, 1, 30))
    case = case.with_(backend="faulty:op=log1p,kind=wrong_value,error=2e-15")
    assert run_case.run(case).kind == "pass"
    result = minimise(case.with_(check="accuracy"))
    assert [node["op"] for node in result.case.graph.nodes if node["kind"] != "Input"] == ["log1p"]
    assert result.calls <= 25


def test_a_case_for_accuracy_passes_with_the_compiler_that_is_right():
    case = case_of(lambda x: np.exp(x) * np.sin(x), np.linspace(-9, 9, 500), check="accuracy")
    assert run_case.run(case).kind == "pass"


# --- warnings ------------------------------------------------------------------------------------------------------------

WARNS = """\
import sys
import warnings
import numpy as np
import suture

if sys.argv[1] != "-":
    warnings.simplefilter(sys.argv[1])

@suture.compile(backend=sys.argv[2], options={"inject_fault": sys.argv[3]} if sys.argv[3:] else {})
def f(x):
    return np.maximum(np.log(x), 0.5)

try:
    for x in (np.ones(3), np.zeros(3)):
        print(f(x).sum())
except (suture.BackendCompilerFailed, RuntimeWarning) as error:
    print(f"{type(error).__name__}: {error}")
"""
LINE = 1 + WARNS.splitlines().index("    return np.maximum(np.log(x), 0.5)")
MORE = "faulty:op=maximum,kind=warning,when=call==2"
LESS = ("native", "kind=lost_conditions")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-", MORE), f"{MORE} gave a warning that NumPy does not give: RuntimeWarning: backend faulty: warning on op"),
        (
            ("-", *LESS),
            "native did not give a warning that NumPy gives: RuntimeWarning: divide by zero encountered in log",
        ),
        (
            ("error", *LESS),
            "native did not give a warning that NumPy gives: RuntimeWarning: divide by zero encountered",
        ),
        (("error", MORE), "RuntimeWarning: divide by zero encountered in log"),  # NumPy's own exception
        (("ignore", MORE), "1.5\n1.5"),  # the program sees none
        (("ignore", *LESS), "1.5\n1.5"),
        (("-", "native"), "1.5\n1.5"),
        (("-", "eager"), "1.5\n1.5"),
        (("-", "lowered_eager"), "1.5\n1.5"),  # looks at values only
    ],
)
def test_warnings_are_judged_at_level_4(write_program, run_python, words, told):
    """One frame compiles in each; what the program's filters let through is compared, and reaches the program at its line."""
    program = write_program(WARNS)
    done = run_python(str(program), *words, SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="4")
    assert done.returncode == 0, done.stderr
    fails = " warning that NumPy " in told
    said = done.stdout.removeprefix("1.5\n" if not told.startswith("1.5") else "")
    assert said.startswith(f"BackendCompilerFailed: {told}" if fails else told), done.stdout
    shown = [line for line in done.stderr.splitlines() if "RuntimeWarning" in line and "inject_fault" not in line]
    assert all(line.startswith(f"{program}:{LINE}: RuntimeWarning: ") for line in shown), done.stderr
    if words in [("-", MORE), ("-", "native"), ("-", "eager")]:
        assert [line for line in shown if "divide by zero encountered in log" in line], done.stderr
    if fails:
        again = run_python("minifier_launcher.py", "query")
        assert again.returncode == 1 and again.stdout.startswith("REPRODUCED: warning while run: "), again


def test_what_a_block_gives_is_heard_and_given_again():
    with warnings.catch_warnings(record=True) as outside:
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", "quiet")
        warnings.filterwarnings("error", "loud")
        with Heard() as heard:
            for _ in range(2):
                warnings.warn("one", stacklevel=1)
                warnings.warn("quiet", stacklevel=1)
        assert heard.texts == ["UserWarning: one"]
        with pytest.raises(UserWarning, match="loud"), Heard() as heard:
            warnings.warn("two", stacklevel=1)
            warnings.warn("loud", stacklevel=1)
        assert heard.texts == ["UserWarning: two"]
    assert [str(each.message) for each in outside] == ["one", "two"]
    assert {each.filename for each in outside} == {__file__}


# --- calls that level 4 has nothing to say of ----------------------------------------------------------------------------

RIGHT = """\
import numpy as np
import suture

@suture.compile(dynamic=True)
def fill(x):
    x.fill(4.0)

@suture.compile(dynamic=True)
def write(x, n):
    x[0] = n
    return x.shape[0]

@suture.compile
def axis(x):
    return np.sum(x, axis=3)

@suture.compile
def views(x):
    return x.copy(), x.T, x.ravel()

m = np.arange(12.0).reshape(3, 4)
for x in (m, m.T, m[::2], m[:, ::-1]):
    fill(x), write(x, 3)
    try:
        axis(x)
    except np.exceptions.AxisError as error:
        print(error)
views(np.zeros((0, 3)))
print(sum(f.status()["graph_count"] for f in (fill, write, axis, views)) > 0)
"""


def test_right_calls_are_called_right(write_program, run_python):
    """Writes without a result in graphs with symbols, exceptions of a module, empty arrays. Frames compile in three functions."""
    done = run_python(str(write_program(RIGHT)), SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="4")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith("True\n"), done


# Sizes are symbols. `exp` is read by nobody, and `mul` is written into after `sub` has read it.
GRAPH = """\
graph "f" captured
  symbol s0 "x.shape[0]" hint 3 range 2..max size
  symbol s1 "x.shape[1]" hint 4 range 2..max size
  x = placeholder() : f64[s0, s1] ; "x"
  constant = constant() {value=2.0} : py_float ; ""
  rows = symbol() {sym=s0} : py_int ; ""
  mul = mul(x, constant) : f64[s0, s1] ; "*"
  sub = sub(mul, constant) : f64[s0, s1] ; "-"
  slice = slice(x) {index=[1, slice(0, s1, 1)]} : f64[s1] ; "[]"
  slice_1 = slice(mul) {index=[0, slice(0, s1, 1)]} : f64[s1] ; "[]"
  store = store(slice_1, slice) : f64[s1] ; "="
  exp = exp(sub) : f64[s0, s1] ; "np.exp"
  inputs x
  return RETURNED
"""


@pytest.mark.parametrize(
    "returned", ["mul", "sub", "slice_1, mul", "mul, mul", "x, mul", "slice", "exp, sub", "rows, mul, constant", "rows"]
)
def test_results_of_a_graph_are_judged_whatever_else_it_computes(returned):
    graph = _core.Graph.from_text(GRAPH.replace("RETURNED", returned))
    case = Case.of(graph, [np.arange(12.0).reshape(3, 4)], check="accuracy")
    assert run_case.run(case).kind == "pass"
    results = list(graph.forward()(*case.objects()))
    assert len(results) == len(returned.split(", "))
    wrong = [results[0] + 1, *results[1:]]
    found = judge(program_of(graph, case.objects()), case.objects, wrong, case.objects())
    assert [each.what for each in found] == ["output 0"]

"""SUTURE_REPRO_LEVEL=4: results are judged where they arise, and the file that is left behind judges them in the same way."""

from __future__ import annotations

import numpy as np
import pytest
from test_accuracy import case_of

from suture._minify import run_case
from suture._minify.minimise import minimise

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

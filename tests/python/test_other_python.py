"""A Python without opcode tables: everything imports, decorated functions run eagerly, and every tool says so."""

from __future__ import annotations

import json
import platform
import warnings

import pytest

from suture import _core

pytestmark = [
    pytest.mark.any_python,
    pytest.mark.skipif(_core.supported_python(), reason="this Python has opcode tables"),
]

PROGRAM = """
import json, warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import numpy as np
    import suture

    @suture.compile
    def f(x, n):
        return np.sin(x) * n

    @suture.compile
    def g(x):
        return x + 1

    x = np.linspace(0, 1, 7)
    same = np.array_equal(f(x, 2.0), np.sin(x) * 2.0) and g(3) == 4
explanation = suture.explain(f)(x, 2.0)
print(json.dumps({
    "same": bool(same), "warnings": [str(w.message) for w in seen], "files": [w.filename for w in seen],
    "status": f.status(), "graph_count": explanation.graph_count, "text": str(explanation),
}))
"""


def test_functions_run_eagerly_after_one_warning_at_the_users_line(run_python, write_program):
    program = write_program(PROGRAM)
    done = run_python(str(program))
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["same"]
    assert len(facts["warnings"]) == 1 and facts["files"] == [str(program)]
    assert platform.python_version() in facts["warnings"][0]
    assert ", ".join(_core.supported_versions()) in facts["warnings"][0]
    assert done.stderr == "", "the warning says it for every function"
    assert facts["status"]["skipped"] and facts["status"]["graph_count"] == 0
    assert facts["status"]["reason"] == "Python version without opcode tables"
    assert facts["graph_count"] == 0 and "SB504" in facts["text"]


def test_check_finds_the_version_and_claims_no_speed(run_python, seed_program):
    done = run_python("-m", "suture", "check", "--json", "--compare", str(seed_program))
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["verdict"] == "findings"
    assert [finding["id"] for finding in report["findings"]] == ["SB504"]
    (function,) = report["functions"]
    assert function["graphs"] == 0 and function["speedup"] is None


def test_doctor_names_the_version_as_the_problem(run_python):
    done = run_python("-m", "suture", "doctor", "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 1 and done.stderr == ""
    assert facts["python_supported"] is False
    assert [problem for problem in facts["problems"] if "opcode tables" in problem]


def test_fullgraph_raises_where_nothing_can_be_compiled():
    import numpy as np

    import suture

    def f(x):
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once per process, so perhaps here
        compiled = suture.compile(f, fullgraph=True)
    for _ in range(2):
        with pytest.raises(suture.GraphBreak, match="Capture has no opcode table for Python") as caught:
            compiled(np.ones(3))
    assert caught.value.reason_id == "SB504" and caught.value.file == __file__
    assert compiled.status()["graph_count"] == 0

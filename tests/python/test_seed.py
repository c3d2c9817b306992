"""The seed function, reproduced point by point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import check, frames_compiled

ROOT = Path(__file__).resolve().parents[2]
SEED = ROOT / "examples" / "seed.py"


def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n


IF_LINE = f.__code__.co_firstlineno + 2


def run_logged(logs: str, program: str) -> str:
    """stderr of a program run with SUTURE_LOGS."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "SUTURE_LOGS": logs,
            "SUTURE_LOGS_FORMAT": "compact",
            "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}",
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


PROGRAM = """
import runpy, numpy as np
f = runpy.run_path("examples/seed.py")["f"]
for size in SIZES:
    f(np.ones((size, size)), 3.0)
"""


def test_graph_breaks_log_names_place_reason_and_remedy():
    text = run_logged("graph_breaks", PROGRAM.replace("SIZES", "(32,)"))
    line = next(i for i, source in enumerate(SEED.read_text().splitlines(), 1) if "if y.sum() > 0" in source)
    assert re.search(rf"Graph break in user code at \S*examples/seed\.py:{line}\b", text)
    assert text.count("Graph break in user code at") == 1
    assert "Graph Break Reason: Data-dependent branching" in text
    assert "Explanation: " in text
    assert "Hint: " in text and "np.where" in text
    assert "if y.sum() > 0:" in text


def test_explain_counts_graphs_breaks_and_all_ops():
    explanation = suture.explain(f)(np.linspace(-1, 1, 16).reshape(4, 4), 3.0)
    assert explanation.graph_count == 2
    assert explanation.graph_break_count == 1
    assert explanation.op_count == 7
    assert [list(ops) for ops in explanation.ops_per_graph] == [
        ["np.sin", "+", "ndarray.sum", ">"],
        ["*", "np.maximum", "*"],
    ]
    text = str(explanation)
    assert "Graph Count: 2" in text and "Graph Break Count: 1" in text and "Op Count: 7" in text
    assert "Data-dependent branching" in text and f":{IF_LINE}" in text
    assert any("x" in guard for guard in map(str, explanation.guards))


def test_recompiles_say_what_changed_and_stop_after_sizes_became_symbols():
    text = run_logged("recompiles", PROGRAM.replace("SIZES", "(32, 48)"))
    assert re.search(r"Recompiling function f in \S*examples/seed\.py:\d+", text)
    assert "triggered by the following guard failure(s):" in text
    assert re.search(r"- \d+/0: array 'x' size mismatch at index 0\. expected 32, actual 48", text)
    assert text.count("Recompiling function") == 2
    assert len(re.findall(r"Recompiling function \S*__resume_at_\d+_\d+", text)) == 1
    assert run_logged("recompiles", PROGRAM.replace("SIZES", "(32, 48, 64)")).count("Recompiling function") == 2


def test_output_code_shows_two_kernels_with_paths_and_user_lines(tmp_path):
    program = f"import os; os.environ['SUTURE_CACHE_DIR'] = {str(tmp_path)!r}\n" + PROGRAM.replace("SIZES", "(32,)")
    text = run_logged("output_code", program)
    names = sorted(set(re.findall(r"cpp_fused_\w+?_\d+\b", text)))
    assert [name for name in names if not name.endswith("entry")] == [
        "cpp_fused_add_gt_sin_sum_0",
        "cpp_fused_maximum_mul_0",
    ]
    paths = re.findall(r"Output code written to: (\S+)", text)
    assert len(paths) == 2 and all(Path(path).exists() for path in paths)
    assert "#include" not in text
    lines = SEED.read_text().splitlines()
    for fragment in ("np.sin(x) + 1", "y = y * 2", "np.maximum(y, 0) * n"):
        number = next(i for i, source in enumerate(lines, 1) if fragment in source)
        assert f"seed.py:{number}" in text


@pytest.mark.parametrize("shape", [(), (1,), (8,), (32, 32), (0, 3), (5, 1, 7)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sign", [1, -1])
def test_results_equal_numpy_and_the_input_is_untouched(shape, dtype, sign):
    x = np.asarray(np.random.default_rng(0).standard_normal(shape), dtype)
    if sign < 0:
        x = x * 0 - 1.6  # sin(x) + 1 is about zero: the other side of the branch may be taken
    compiled = suture.compile(f)
    # 1 + sin(x) cancels where sin(x) is near -1: one unit of the sine becomes many of the sum.
    check(f, compiled, (x, 3.0), ulp=64)
    assert frames_compiled(compiled) == 2


def test_both_sides_of_the_branch_are_compiled_when_reached():
    def g(x):
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        return y - 1

    compiled = suture.compile(g)
    check(g, compiled, (np.ones(4),))
    assert frames_compiled(compiled) == 2
    check(g, compiled, (-2 * np.ones(4),))
    assert frames_compiled(compiled) == 3
    assert _core.status(compiled)["recompiles"] == 0


def test_events_of_the_seed_are_valid_json_with_known_fields():
    compiled = suture.compile(f)
    compiled(np.ones(4), 3.0)
    known = {}
    for event, field, _, _ in _core.event_field_table():
        known.setdefault(event, set()).add(field)
    lines = [json.loads(line) for line in _core.explain_records(compiled)]
    assert {line["event"] for line in lines} >= {
        "frame_start",
        "graph_captured",
        "graph_break",
        "guards_built",
        "kernel_source",
        "frame_done",
    }
    for line in lines:
        assert set(line["fields"]) <= known[line["event"]], line

"""Programs with ten megabytes of source: what is written about them stays small, and quick."""

from __future__ import annotations

import json
import resource

import pytest

MEGABYTES = 10
FUNCTION = """\
@suture.compile
def f(x):
    y = x + 1
    if y.sum() > 0:{comment}
        y = y * 2
    return y
print(f(np.ones(2)))
"""
PLAIN = "[4. 4.]\n"
COMMENT = "  # " + "x" * (MEGABYTES << 20)
LINES = "".join(f"# {'x' * 90} {i}\n" for i in range(MEGABYTES * 11_000))
PROGRAMS = {
    "many lines": LINES + FUNCTION.format(comment="") + LINES[:2000],
    "one long line": FUNCTION.format(comment=COMMENT),
}
ALL_LOGS = (
    "+all,graph_breaks,guards,graph_code,output_code,kernel_code,trace_source,trace_call,trace_bytecode,perf_hints"
)
LARGEST = 200_000  # characters written about a program of six lines
SLOWEST = 10.0  # seconds of processor time beside the plain run, which compiles kernels and parses the ten megabytes


@pytest.fixture(params=PROGRAMS)
def large(request, write_program, tmp_path):
    program = str(write_program("import numpy as np, suture\n" + PROGRAMS[request.param]))
    (tmp_path / "c").mkdir(exist_ok=True)
    return program, {"SUTURE_CACHE_DIR": str(tmp_path / "c")}


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(run_python, *arguments, **environment):
    before = processor_seconds()
    done = run_python(*arguments, **environment)
    return done, processor_seconds() - before


def test_logs_traces_and_dumps_of_a_large_program_are_small(run_python, large, tmp_path):
    program, environment = large
    plain, base = timed(run_python, program, **environment)
    assert plain.stdout == PLAIN
    watched = {"SUTURE_LOGS": ALL_LOGS, "SUTURE_TRACE": str(tmp_path / "t"), "SUTURE_COMPILE_DEBUG": "1",
               "SUTURE_COMPILE_DEBUG_DIR": str(tmp_path / "d")}  # fmt: skip
    done, seconds = timed(run_python, program, **environment, **watched)
    assert done.stdout == PLAIN and "Graph break in user code at" in done.stderr
    assert len(done.stderr) < LARGEST
    assert seconds < base + SLOWEST
    assert sum(file.stat().st_size for file in (tmp_path / "t").iterdir()) < LARGEST
    files = [file for file in (tmp_path / "d").rglob("*") if file.is_file()]
    assert any(file.name == "breaks.txt" for file in files)
    assert all(file.stat().st_size < 2 * LARGEST for file in files), [(f, f.stat().st_size) for f in files]


def test_explain_and_check_of_a_large_program_are_small(run_python, large):
    program, environment = large
    explained, seconds = timed(run_python, "-m", "suture", "explain", "--json", program, **environment)
    assert explained.returncode == 0 and len(explained.stdout) < LARGEST and seconds < 2 * SLOWEST
    (data,) = json.loads(explained.stdout)
    (found,) = data["break_reasons"]
    assert data["graph_count"] == 2, "two frames compile"
    assert found["source"].startswith("    if y.sum() > 0:") and len(found["source"]) <= 4096
    checked, seconds = timed(run_python, "-m", "suture", "check", "--json", program, **environment)
    assert checked.returncode == 1 and len(checked.stdout) < LARGEST and seconds < 2 * SLOWEST
    assert "if y.sum() > 0" in checked.stdout


def test_the_page_of_a_break_needs_no_program(run_python):
    _, seconds = timed(run_python, "-m", "suture", "explain", "SB101")
    assert seconds < SLOWEST

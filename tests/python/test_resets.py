"""suture.reset() in a user's program: the tools that follow a whole run keep what came before it, and no compile id comes
twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import suture
from suture import _core, _toolbox, testing
from tests.support.oracle import frames_compiled

# A graph before each reset that is not there after it; the last reset leaves nothing compiled.
PROGRAM = """\
import sys
import numpy as np
import suture

@suture.compile
def first(x):
    y = x * 2 + 1
    if y.sum() > 0:
        y = y - 3
    return y

@suture.compile
def second(x):
    return np.sqrt(x)

@suture.compile
def never(x):
    return x

def forget():
    suture.reset() if "all" in sys.argv else [f.reset() for f in (first, second, never)]

for size in (3, 4):
    first(np.ones(size))
second(np.ones(3))
forget()
for _ in range(5):
    first(np.ones(3, np.float32))
forget()
"""
WHAT = pytest.mark.parametrize("what", ["all", "each"])


@pytest.fixture
def program(write_program) -> Path:
    return write_program(PROGRAM)


@WHAT
def test_explain_tells_of_the_whole_run(run_python, program, what):
    done = run_python("-m", "suture", "explain", str(program), what)
    titles = [line for line in done.stdout.splitlines() + done.stderr.splitlines() if line.startswith("=== ")]
    assert done.returncode == 0
    assert titles == [
        f"=== first ({program}:5), before reset 1 of 2",
        f"=== first ({program}:5), before reset 2 of 2",
        f"=== second ({program}:12), before reset 1 of 1",
    ]
    found = json.loads(run_python("-m", "suture", "explain", "--json", str(program), what).stdout)
    assert [one["function"] for one in found] == ["first", "first", "second"]
    assert [one["graph_count"] for one in found] == [2, 2, 1]
    assert [one["graph_break_count"] for one in found] == [1, 1, 0]
    assert [[reason["crossings"] for reason in one["break_reasons"]] for one in found] == [[2], [5], []]
    assert [len(one["recompiles"]) for one in found] == [2, 0, 0]
    ids = [frame["compile_id"] for one in found for frame in one["compile_times"]["frames"]]
    assert len(ids) == len(set(ids)) == 2 + 2 + 2 + 1, "first and its resume function, twice at first; second"


@WHAT
def test_check_tells_of_the_whole_run(run_python, program, what):
    done = run_python("-m", "suture", "check", "--compare", "--json", str(program), what)
    report = json.loads(done.stdout)
    rows = {row["function"]: row for row in report["functions"]}
    assert list(rows) == ["first", "second"]
    first = rows["first"]
    assert (first["calls"], first["compiles"], first["recompiles"]) == (7, 6, 2)
    assert (first["graphs"], first["breaks"], first["ops"]) == (2, 1, 5)
    assert rows["second"]["calls"] == rows["second"]["graphs"] == 1
    assert first["numpy_call_ms"] is not None and first["call_ms"] is not None
    assert len(report["kernels"]) == 7
    (broken,) = [finding for finding in report["findings"] if finding["id"] == "SB101"]
    assert "crossed 7 times at run time" in broken["evidence"]
    assert "nothing_compiled" not in {finding["id"] for finding in report["findings"]}


@WHAT
def test_a_debug_dump_keeps_what_a_reset_forgets(run_python, program, tmp_path, what):
    done = run_python(str(program), what, SUTURE_COMPILE_DEBUG="1", SUTURE_COMPILE_DEBUG_DIR=str(tmp_path / "dump"))
    assert done.returncode == 0
    (index,) = (tmp_path / "dump").glob("*/*/index.json")
    compiles = json.loads(index.read_text())["compiles"]
    directories = [compile["directory"] for compile in compiles]
    assert len(compiles) == 7 and len(set(directories)) == 7
    dtypes = {"float64": 0, "float32": 0}
    for compile in compiles:
        assert compile["state"] == "compiled" and not compile["missing"]
        if compile["function"] == "first":
            guards = (index.parent / compile["directory"] / "guards.txt").read_text()
            (dtype,) = [name for name in dtypes if name in guards]
            dtypes[dtype] += 1
    assert dtypes == {"float64": 2, "float32": 1}


@WHAT
def test_no_compile_id_comes_twice_in_a_trace(run_python, program, tmp_path, what):
    directory = tmp_path / "trace"
    assert run_python(str(program), what, SUTURE_TRACE=str(directory)).returncode == 0
    (file,) = directory.glob("*.jsonl")
    lines = file.read_text().splitlines()
    done = [event["compile_id"] for event in map(json.loads, lines) if event.get("event") == "frame_done"]
    assert len(done) == len(set(done)) == 7
    slices = json.loads(_toolbox.chrome_trace([lines]))["traceEvents"]
    names = [one["name"] for one in slices if one.get("cat") == "compile"]
    assert len(set(names)) == 7
    # Every compile has its own passes, and not those of another one with the same id, too.
    passes = [event["fields"]["name"] for event in map(json.loads, lines) if event.get("event") == "pass_done"]
    assert sum(one["name"] in set(passes) for one in slices if one.get("cat") == "phase") == len(passes)
    same = run_python("-m", "suture", "logs", "--diff", str(directory), str(directory))
    assert same.stderr == "Nothing changed.\n"


def test_a_frame_is_a_new_one_after_a_reset_and_has_no_records():
    def double(x):
        return x * 2

    compiled = suture.compile(double)
    compiled(np.ones(3))
    (before,) = _core.status(compiled)["frames"]
    compiled.reset()
    assert suture.explain(compiled).graph_count == 0 and not _core.explain_records(compiled)
    compiled(np.ones(4))
    (after,) = _core.status(compiled)["frames"]
    assert after["frame"] > before["frame"]
    (entry,) = after["entries"]
    assert entry["number"] == 0 and frames_compiled(compiled) == 1
    assert suture.explain(compiled).recompiles == []


def test_calls_that_are_under_way_keep_their_continuations():
    """reset() at a break: what follows it is compiled, and known."""

    def f(x):
        y = x * 2
        suture.reset()
        return y + 1

    compiled = suture.compile(f)
    with testing.frames_compiled(3) as frames:
        result = compiled(np.ones(3))
    np.testing.assert_array_equal(result, np.full(3, 3.0))
    assert frames.functions[0].endswith("f") and "__resume_at" in frames.functions[-1]
    assert suture.explain(compiled).ops_per_graph == [["+"]]


def test_compiles_that_fail_have_ids_of_their_own():
    def f(x):
        return x * 2 if x.sum() > 0 else x

    compiled = suture.compile(f, fullgraph=True)
    events: list[str] = []
    token = _core.subscribe(["frame_start"], lambda line: events.append(json.loads(line)["compile_id"]))
    try:
        for _ in range(3):
            with pytest.raises(suture.GraphBreak):
                compiled(np.ones(3))
    finally:
        _core.unsubscribe(token)
    assert [id.rpartition("/")[2] for id in events] == ["0", "1", "2"]
    assert frames_compiled(compiled) == 0


def test_what_keeps_records_may_fail(monkeypatch):
    def double(x):
        return x * 2

    def failing(compiled):
        raise ValueError("no room")

    compiled = suture.compile(double)
    compiled(np.ones(3))
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: told.append(str(report.exc_value)))
    _core.before_reset(failing)
    try:
        compiled.reset()
    finally:
        _core.before_reset(None)
    assert told == ["no room"]
    assert _core.status(compiled)["entries"] == []
    compiled(np.ones(3))
    assert frames_compiled(compiled) == 1

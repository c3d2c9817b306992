"""SUTURE_TRACE: one JSONL file per process, never a failure of the program."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from suture import _core


def read(directory: Path) -> list[list[dict]]:
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in sorted(directory.glob("*.jsonl"))]


def test_one_file_with_a_header_and_every_event(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces" / "deep"
    done = run_python(str(seed_program), SUTURE_TRACE=str(directory))
    assert done.returncode == 0 and done.stderr == ""
    (lines,) = read(directory)
    assert lines[0]["schema"] == _core.schema_version and lines[0]["suture"] == _core.version and lines[0]["pid"] > 0
    names = [line["event"] for line in lines[1:]]
    assert names.count("graph_break") == 2, "one per compile of f"
    assert {"frame_start", "graph_captured", "guards_built", "recompile", "kernel_compiled", "frame_done"} <= set(names)
    assert set(names) <= {name for name, _ in _core.event_table()}


def test_files_and_directory_are_private(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces"
    run_python(str(seed_program), SUTURE_TRACE=str(directory))
    (file,) = directory.glob("*.jsonl")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_forked_child_has_a_file_of_its_own(run_python, write_program, tmp_path):
    program = write_program(
        "import os, numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return x + 1\n"
        "f(np.ones(3))\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    f(np.ones(3, dtype='f4'))\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    directory = tmp_path / "traces"
    assert run_python(str(program), SUTURE_TRACE=str(directory)).returncode == 0
    files = read(directory)
    assert len({lines[0]["pid"] for lines in files}) == 2
    assert sorted(sum(line.get("event") == "frame_done" for line in lines) for lines in files) == [1, 1]


def test_an_unusable_directory_is_one_warning(run_python, seed_program, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run_python(str(seed_program), SUTURE_TRACE=str(blocked / "traces"))
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert done.stderr.count("RuntimeWarning") == 1 and "SUTURE_TRACE" in done.stderr


def test_nothing_is_written_when_nothing_is_compiled(run_python, tmp_path):
    directory = tmp_path / "traces"
    run_python("-c", "import suture", SUTURE_TRACE=str(directory))
    assert not directory.exists()


def test_logs_prints_a_trace_and_survives_a_cut_off_line(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces"
    run_python(str(seed_program), SUTURE_TRACE=str(directory))
    (file,) = directory.glob("*.jsonl")
    with open(file, "a") as stream:
        stream.write('{"schema":1,"event":"graph_br')
    done = run_python("-m", "suture", "logs", str(directory))
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.count("Graph break in user code at") == 1
    assert done.stderr.count("Recompiling function") == 2
    as_json = run_python("-m", "suture", "logs", "--json", "--logs", "recompiles", str(file))
    records = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert [record["artifact"] for record in records] == ["recompiles", "recompiles"]


def test_logs_of_nothing_is_a_usage_error(run_python, tmp_path):
    os.makedirs(tmp_path / "empty")
    assert run_python("-m", "suture", "logs", str(tmp_path / "empty")).returncode == 2
    assert run_python("-m", "suture", "logs", str(tmp_path / "missing")).returncode == 2
    assert run_python("-m", "suture", "logs", "--logs", "nonsense", str(tmp_path)).returncode == 2

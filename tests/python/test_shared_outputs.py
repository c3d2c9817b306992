"""Several processes and forks write to one place at once: every record is whole, and none is lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests.python.conftest import ROOT

MAKE = """\
import os, sys, numpy as np, suture
def make(k):
    def f(x):
        y = x + k
        if y.sum() > 0:
            y = y * 2
        return y
    return suture.compile(f)
"""
PROGRAM = f"""\
{MAKE}
for k in range(int(sys.argv[1])):
    assert make(k)(np.ones(2)).tolist() == [2.0 * (1 + k)] * 2
print("done")
"""

# The first compile of the process may be that of the thread.
FORKING = f"""\
{MAKE}
import threading
stop = threading.Event()
failures = []
def keep_compiling():
    k = 0
    while not stop.is_set():
        k += 1
        if make(k)(np.ones(2)).tolist() != [2.0 * (1 + k)] * 2:
            failures.append(k)
thread = threading.Thread(target=keep_compiling)
thread.start()
children = []
for n in range(6):
    child = os.fork()
    if child == 0:
        ok = make(n)(np.ones(2)).tolist() == [2.0 * (1 + n)] * 2
        os.write(1, f"child {{n}} {{ok}}".encode() + bytes([10]))
        os._exit(0 if ok else 1)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
stop.set()
thread.join()
print(codes, failures)
"""


def environment(**more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    return {**inherited, "PYTHONPATH": str(ROOT / "python"), **more}


def whole_records(text: str) -> int:
    """Each record begins with its prefix and ends with a whole line; returns how many breaks were told in full."""
    assert text.endswith("\n")
    starts = re.findall(r"(?m)^\[[^\]\n]*\] [a-z_]+: ", text)
    assert starts and text.startswith(starts[0])
    assert text.count("graph_breaks: ") == len([start for start in starts if "graph_breaks" in start]), "a torn record"
    return text.count("Graph Break Reason:")


@pytest.mark.timeout(600)
def test_processes_share_a_log_file_a_dump_and_a_cache_directory(write_program, tmp_path):
    program = str(write_program(PROGRAM))
    shared = environment(
        SUTURE_LOGS="graph_breaks,guards", SUTURE_LOGS_OUT=str(tmp_path / "log"), SUTURE_CACHE_DIR=str(tmp_path / "c"),
        SUTURE_COMPILE_DEBUG="1", SUTURE_COMPILE_DEBUG_DIR=str(tmp_path / "d"),
    )  # fmt: skip
    children = [
        subprocess.Popen(
            [sys.executable, program, "3"], env=shared, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for child in children:
        out, err = child.communicate(timeout=500)
        assert (child.returncode, out) == (0, "done\n"), err
        assert "Warning" not in err and "Traceback" not in err
    assert whole_records((tmp_path / "log").read_text()) == 3, "each process tells its place once"
    runs = list((tmp_path / "d").glob("*/run_*"))
    assert len(runs) == 3, "one directory per process"
    for run in runs:
        index = json.loads((run / "index.json").read_text())
        assert len(index["compiles"]) == 6, "two frames compile of each of three functions"


@pytest.mark.timeout(600)
def test_forks_while_another_thread_compiles_and_logs(write_program, tmp_path):
    program = str(write_program(FORKING))
    done = subprocess.run(
        [sys.executable, program],
        env=environment(
            SUTURE_LOGS="+all,graph_breaks,guards", SUTURE_LOGS_OUT=str(tmp_path / "log"),
            SUTURE_TRACE=str(tmp_path / "t"), SUTURE_CACHE_DIR=str(tmp_path / "c"),
        ),
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sorted(lines[:-1]) == [f"child {n} True" for n in range(6)] and lines[-1] == "[0, 0, 0, 0, 0, 0] []"
    assert whole_records((tmp_path / "log").read_text()) >= 1
    traces = list((tmp_path / "t").iterdir())
    assert len(traces) == 7, "a trace for each process"
    for trace in traces:
        events = [json.loads(line) for line in trace.read_text().splitlines()]
        assert sum(event.get("event") == "frame_done" for event in events) >= 2, "two frames compile of each function"

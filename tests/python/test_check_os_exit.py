"""Programs that leave with os._exit: `check`, `explain` and `run` tell what was recorded all the same, and how it ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.python.conftest import ROOT

PROGRAM = """
import os, sys, threading
import numpy as np, suture

@suture.compile
def f(x):
    y = np.sin(x) + 1
    print("in f")
    return y * 2

f(np.ones(3))
f(np.ones(3))
"""
LEAVE = {
    "at once": "os._exit(CODE)",
    "imported": "from os import _exit\n_exit(CODE)",
    "by posix": "import posix\nposix._exit(CODE)",
    "in a thread": "t = threading.Thread(target=os._exit, args=(CODE,)); t.start(); t.join()\nprint('never')",
    "inside try": "try:\n    os._exit(CODE)\nfinally:\n    print('never')",
}


@pytest.fixture
def run(tmp_path):
    """run(verb words, end of the program): its process."""

    def start(words: list[str], end: str) -> subprocess.CompletedProcess[str]:
        program = tmp_path / "prog.py"
        program.write_text(PROGRAM + end)
        (tmp_path / "tmp").mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, "-m", "suture", *words, str(program)],
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ
            | {
                "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}",
                "SUTURE_CACHE_DIR": str(tmp_path / "cache"),
                "TMPDIR": str(tmp_path / "tmp"),
                "PYTHONUNBUFFERED": "",
            },
        )

    return start


@pytest.mark.parametrize("way", LEAVE)
def test_check_reports_what_was_recorded(run, way):
    done = run(["check", "--json"], LEAVE[way].replace("CODE", "5"))
    report = json.loads(done.stdout)
    assert done.returncode == report["exit_code"] == 3 and report["verdict"] == "failed"
    assert report["program_exit_code"] == 5 and report["error"] == "the program left with os._exit(5)"
    assert report["functions"][0]["calls"] == 2 and report["functions"][0]["graphs"] == 2
    assert [finding["id"] for finding in report["findings"] if finding["id"].startswith("SB")] == ["SB203"]
    assert "the program left with os._exit(5)" in done.stderr and "never" not in done.stderr


def test_leaving_with_zero_is_no_failure_but_is_said(run):
    done = run(["check"], "os._exit(0)")
    assert done.returncode == 1 and "SB203" in done.stderr, "the finding decides"
    assert "the program left with os._exit(0)" in done.stderr and "verdict   findings" in done.stderr


def test_what_the_program_did_not_flush_is_lost_as_without_us(run):
    done = run(["check", "--quiet"], "print('flushed', flush=True)\nprint('lost', end='')\nos._exit(0)")
    assert done.stdout == "in f\nin f\nflushed\n"


def test_compare_measures_both_runs(run, tmp_path):
    done = run(["check", "--compare", "--json"], "os._exit(0)")
    report = json.loads(done.stdout)
    assert report["times"]["baseline_ms"] > 0 and report["accuracy"][0]["compared"] == 2
    assert list((tmp_path / "tmp").iterdir()) == [], "results of calls are removed"


def test_explain_and_run_tell_how_it_ended(run):
    explained = run(["explain", "--json"], "os._exit(4)")
    assert json.loads(explained.stdout)[0]["graph_break_count"] == 1 and explained.returncode == 3
    assert "the program left with os._exit(4)" in explained.stderr
    ran = run(["run", "--json"], "os._exit(4)")
    ended = json.loads(ran.stdout)
    assert ran.returncode == 3 and ended["exit_code"] == 4 and ended["error"] == "the program left with os._exit(4)"


def test_a_forked_child_leaves_as_it_means_to(run):
    end = "child = os.fork()\nif child == 0: os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    done = run(["check", "--json"], end)
    assert len(done.stdout.splitlines()) == 1, "one report"
    report = json.loads(done.stdout)
    assert report["program_exit_code"] == 0 and report["error"] == "" and "7\n" in done.stderr


def test_it_is_os_exit_again_afterwards(tmp_path):
    from suture.cli._program import run_program

    program = Path(tempfile.mkdtemp(dir=tmp_path)) / "prog.py"
    program.write_text("import os\nassert os._exit.__name__ == 'tell_and_leave'\n")
    leave = os._exit
    outcome = run_program(str(program), [], lambda outcome: 0)
    assert outcome.exit_code == 0 and outcome.error == "" and os._exit is leave

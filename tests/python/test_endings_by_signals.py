"""What is said of a process that a signal ended: which one, and never that its time was over when it was not. No function is compiled
here but where a test says so."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suture import register_backend
from suture._minify import child, modes, program_file, program_modes, repro_file
from suture._minify.case import Case, inputs_of
from suture._minify.goals import Goal
from suture._minify.oracle import Limits, Oracle
from suture._minify.program_file import ProgramFile
from suture._minify.program_runs import HANG, Request, Runs
from suture._minify.signature import exit_in_words, kind_of_signal, signal_name
from suture._minify.variants import ProgramSubject, Variant, outcome_of

# Those that end a process; the others stop it, continue it, or are ignored.
DEADLY = sorted(
    set(signal.valid_signals())
    - {signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    - {signal.SIGURG, signal.SIGWINCH}
)
KINDS = {signal.SIGSEGV: "segfault", signal.SIGBUS: "segfault", signal.SIGABRT: "abort"}
TOLD = [signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM, signal.SIGPIPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT]
DIES = "import os, signal\nsignal.signal({0}, signal.SIG_DFL)\nos.kill(os.getpid(), {0})\n"


@pytest.mark.parametrize("number", DEADLY)
def test_every_signal_has_a_kind_of_its_own_and_none_is_a_hang(number: int) -> None:
    assert kind_of_signal(number) == KINDS.get(signal.Signals(number) if number < 32 else number, "killed")
    assert exit_in_words(-number) == signal_name(number)


def test_a_program_ends_by_the_signal_that_ended_it() -> None:
    """All of them, in a forked process and in a new one, and in the words of bisect."""
    with Runs(native=False) as runs:
        for number in DEADLY:
            if number in (signal.SIGKILL,):
                text = f"import os\nos.kill(os.getpid(), {int(number)})\n"
            else:
                text = DIES.format(int(number))
            ran = runs.run(text, "p.py", Request(""))
            assert (ran.code, ran.timed_out) == (-number, False), number
        ran = runs.run("import time\ntime.sleep(60)\n", "p.py", Request("", seconds=0.5))
        assert (ran.code, ran.timed_out) == (HANG, True)


@pytest.mark.parametrize("number", TOLD, ids=lambda number: number.name)
def test_a_file_says_which_signal_and_is_another_failure_than_a_hang(number: signal.Signals, tmp_path: Path) -> None:
    text = DIES.format(int(number)) if number != signal.SIGKILL else "import os\nos.kill(os.getpid(), 9)\n"
    with Goal("error", tmp_path / "p.py", [], 3.0) as goal:
        goal.learn(text)
        assert goal.expected == {"code": -number, "last_line": ""} and not goal.hangs
        assert goal(text) and not goal("import time\ntime.sleep(60)\n" * (number == signal.SIGALRM))
    held = ProgramFile(text, "error", expected={"code": -int(number), "last_line": ""})
    path = program_file.write(held, tmp_path, repro_file.REPRO)
    said: list[str] = []
    settings = modes.Settings(run_limit=29.0)
    assert program_modes.run_mode("query", path, settings, said.append) == modes.REPRODUCED
    assert said == [f"REPRODUCED: error: it ends with {number.name}"]


def test_a_hang_is_told_as_one_and_old_files_of_hangs_are_read(tmp_path: Path) -> None:
    text = "import time\ntime.sleep(60)\n"
    with Goal("error", tmp_path / "p.py", [], 0.5) as goal:
        goal.learn(text)
        assert goal.hangs and goal.expected == {"code": HANG, "last_line": "not done in time"}
    old = ProgramFile(text, "error", expected={"code": -14, "last_line": "not done in time"})
    path = program_file.write(old, tmp_path, repro_file.REPRO)
    assert program_file.load(path).expected == {"code": HANG, "last_line": "not done in time"}
    said: list[str] = []
    settings = modes.Settings(run_limit=0.5)
    assert program_modes.run_mode("query", path, settings, said.append) == modes.REPRODUCED
    assert said == ["REPRODUCED: error: it is not done in time"]


@pytest.mark.parametrize("number", TOLD, ids=lambda number: number.name)
def test_a_program_that_is_bisected_dies_of_its_signal(number: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n" if number == 9 else DIES.format(int(number)))
    outcome = ProgramSubject([str(path)]).run(Variant(""))
    assert (outcome.kind, outcome.signal) == (KINDS.get(number, "killed"), number)
    assert str(outcome) == f"{outcome.kind} while run ({number.name})"


@pytest.mark.parametrize("number", [signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM], ids=lambda number: number.name)
def test_a_child_of_ours_that_somebody_ends_has_not_used_up_its_time(number: signal.Signals) -> None:
    def work(send: child.Send) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    ending = child.call(work, 20)
    assert (ending.signal, ending.timed_out) == (number, False)
    assert outcome_of(ending).kind == "killed"


GRAPH = """graph "g" captured
  x = placeholder() : f64[2] ; "x"
  exp = exp(x) : f64[2] ; "np.exp"
  inputs x
  return exp
"""


@pytest.mark.parametrize("number", [signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM, None])
def test_a_case_is_killed_or_hangs(number: signal.Signals | None) -> None:
    """One graph compiles in each; None: it uses up its processor time."""

    def backend(graph: Any, inputs: Any) -> Any:
        if number is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        while True:
            time.process_time()

    register_backend("ends", backend)
    case = Case(GRAPH, inputs_of([np.ones(2)]), backend="ends")
    with Oracle(case, limits=Limits(seconds=60, cpu_seconds=1)) as oracle:
        (outcome,) = oracle.outcomes([case])
    expected = ("hang", 0) if number is None else ("killed", number)
    assert (outcome.kind, outcome.signal) == expected, outcome

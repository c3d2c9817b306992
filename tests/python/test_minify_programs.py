"""Faults outside of graphs: a guard that is too weak, a resume function that is handed something wrong. The program and its calls
are reduced, what is at fault is named, and the file proves itself."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.minify_program_faults import PROGRAM_FAULTS, ProgramFault, is_minimal, reduced
from suture._minify import program_file
from suture._minify.goals import Goal
from suture._minify.program_file import ProgramFile
from suture._minify.repro_file import NotARepro

Run = Callable[..., subprocess.CompletedProcess[str]]

# Each ends in a program of which one frame at least compiles: the result is another one only when it does.


@pytest.mark.parametrize("fault", PROGRAM_FAULTS[1::2], ids=lambda fault: fault.name)
def test_program_and_calls_are_reduced_and_the_part_is_named(fault: ProgramFault) -> None:
    done = reduced(fault)
    assert is_minimal(done, fault), (str(done.fault), done.result.text)
    assert done.result.calls <= fault.tests


PROGRAM = """\
import numpy as np
import suture

@suture.compile(options={"inject_fault": "FAULT"})
def f(x, mode):
    x = x * 2
    if x.sum() > 0:
        x = x + (1 if mode == "one" else 2)
    return x * 1

for mode in ("one", "two"):
    f(np.ones(3), mode)
"""


def located(text: str, tmp_path: Path) -> tuple[str, str, str]:
    with Goal("other_result", tmp_path / "p.py", [], 60.0) as goal:
        goal.learn(text)
        found = goal.locate(text)
    return found.part, found.function, str(found)


def test_a_guard_of_a_resume_function_is_named(tmp_path: Path) -> None:
    """Two frames compile; only the resume function looks at `mode`."""
    part, function, text = located(PROGRAM.replace("FAULT", "kind=drop_guard"), tmp_path)
    assert part == "guards" and function.startswith("__resume_at")
    assert "it was compiled in call 1 and served call 2" in text


def test_a_wrong_graph_is_no_fault_of_frames(tmp_path: Path) -> None:
    """Two frames compile; the kernel of the second is wrong."""
    text = PROGRAM.replace("FAULT", "kind=wrong_value,op=add,error=0.5").replace('("one", "two")', '("one",)')
    part, function, words = located(text, tmp_path)
    assert (part, function) == ("graph", "f") and "with the same graphs under NumPy the result is right" in words


LAUNCHED = PROGRAM.replace("FAULT", "kind=drop_guard")


def test_level_4_leaves_a_launcher_of_the_program(
    run_python: Run, write_program: Callable[[str], Path], tmp_path: Path
) -> None:
    """Two frames compile in the program; the call's own result reaches it."""
    done = run_python(str(write_program(LAUNCHED)), SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="4")
    assert done.returncode == 0 and "f (" in done.stderr and "In call 2, " in done.stderr
    launcher = tmp_path / "minifier_launcher.py"
    assert f"python {launcher}" in done.stderr
    asked = run_python(str(launcher), "query")
    assert (asked.returncode, asked.stdout.splitlines()[-1][:29]) == (1, "REPRODUCED: other_result of f")
    assert "at fault: the guards of entry 0 of __resume_at" in run_python(str(launcher), "analyze").stdout
    sound = launcher.read_text().replace("kind=drop_guard", "")
    launcher.write_text(sound)
    asked = run_python(str(launcher), "query")
    assert (asked.returncode, asked.stdout) == (0, "NOT REPRODUCED: its results are NumPy's\n")


def test_the_file_is_the_program_for_tools_that_run_programs(run_python: Run, tmp_path: Path) -> None:
    """Two frames compile."""
    path = program_file.write(ProgramFile(LAUNCHED, "other_result", "f"), tmp_path, program_file.REPRO)
    done = run_python("-m", "suture", "check", "--compare", str(path))
    told = done.stdout + done.stderr
    assert "Another result than NumPy's" in told and "SB101" in told


def test_a_file_keeps_what_it_was_given(tmp_path: Path) -> None:
    text = 'from __future__ import annotations\n"""not its docstring"""\nx = 1\n'
    given = ProgramFile(text, "other_result", "f", ["a b", "'"], 'He said """x"""', "a\n  b", str(tmp_path))
    found = program_file.load(program_file.write(given, tmp_path, program_file.REPRO))
    assert found == given


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1\n", "holds no program"),
        ("program(__file__, goal='error'\n# --- the program ---\n", "holds no program"),
        ("program(__file__)\n# --- the program ---\n", "called without a goal"),
        ("program(__file__, goal=print(1))\n# --- the program ---\n", "are no literals"),
        ("program(__file__, goal=1)\n# --- the program ---\n", "goal is int, not str"),
        ("program(__file__, goal='x', arguments=[1])\n# --- the program ---\n", "arguments that are no text"),
        ("program(__file__, goal='x', format=99)\n# --- the program ---\n", "newer Suture"),
        ("program(__file__, goal='x')\n# --- the program ---\nx = (\n", "holds no program"),
    ],
)
def test_damaged_files_are_refused_and_nothing_of_them_runs(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "repro.py"
    path.write_text("import sys; sys.exit('it ran')\n" + text)
    with pytest.raises(NotARepro, match=why):
        program_file.load(path)

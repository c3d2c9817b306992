"""Faults outside of graphs: a guard that is too weak, a resume function that is handed something wrong. The program and its calls
are reduced, what is at fault is named, and the file proves itself."""

from __future__ import annotations

import ast
import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.minify_program_faults import PROGRAM_FAULTS, ProgramFault, is_minimal, reduced
from suture._minify import bisect, call_facts, frame_fault, modes, program, program_file, program_modes, repro_file
from suture._minify.goals import Goal
from suture._minify.program_file import ProgramFile
from suture._minify.program_runs import Request, Runs
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


@pytest.mark.parametrize(
    ("fault", "analyzed", "bisected"),
    [
        ("kind=wrong_value,op=add,error=0.5", "at fault: a graph of f is compiled wrongly", "CULPRIT    kernels"),
        (
            "kind=drop_guard",
            "at fault: the guards of entry 0 of __resume_at",
            "at fault: the guards of entry 0 of __resume",
        ),
    ],
)
def test_the_modes_of_a_file_agree(fault: str, analyzed: str, bisected: str, tmp_path: Path) -> None:
    """Two frames compile in each run of the program, but where graphs run under NumPy."""
    held = ProgramFile(PROGRAM.replace("FAULT", fault), "other_result", "f")
    path = program_file.write(held, tmp_path, repro_file.REPRO)
    said: list[str] = []
    settings = modes.Settings(run_limit=60.0, run_code=True)
    for mode, code, words in (("query", 1, "REPRODUCED"), ("analyze", 1, analyzed), ("bisect", 1, bisected)):
        said.clear()
        assert program_modes.run_mode(mode, path, settings, said.append) == code
        assert words in "\n".join(said), said
    assert "other_result of f" in "\n".join(said)


def test_lines_of_a_file_are_its_own(tmp_path: Path) -> None:
    """Two frames compile. What the header names, what the modes say and what the file was made from are places to go to."""
    given = "\n" * 20 + PROGRAM.replace("FAULT", "kind=drop_guard")
    source = tmp_path / "app.py"
    source.write_text(given)
    settings = modes.Settings(run_limit=60.0, out=tmp_path, budget=1, workers=2)
    done = program.minify(source, settings, lambda text: None, program.Kept(None, "other_result"))
    lines = done.path.read_text().splitlines()
    said: list[str] = []
    program_modes.run_mode("analyze", done.path, modes.Settings(run_limit=60.0, run_code=True), said.append)
    (named,) = {int(line) for line in re.findall(r"\(line (\d+)\)", "\n".join([*lines, *said]))}
    assert lines[named - 1].lstrip().startswith("x = x + (1 if mode"), (named, lines)
    assert done.fault is not None and done.fault.part == "guards"  # also after a search that was cut short
    held = program_file.load(done.path)
    line = given.splitlines().index("def f(x, mode):") + 1
    assert held.origin == f"{source}:{line}" and f"Made from {source}:{line}." in lines
    program_modes.run_mode("explain", done.path, settings, said.append)
    assert f"from      {source}:{line}" in said[-1]
    again = program.minify_held(held, done.path, settings, lambda text: None)
    assert program_file.load(again.path).origin == held.origin


def test_the_text_in_place_has_the_lines_of_its_file(tmp_path: Path) -> None:
    text = "from __future__ import annotations; from __future__ import division; x = 1\nraise ValueError(x)\n"
    held = ProgramFile(text, "error", title="a title", fault="two\nlines", origin=f"{tmp_path}/app.py:2")
    path = program_file.write(held, tmp_path, repro_file.REPRO)
    found = program_file.load(path)
    placed = program_file.in_place(held)
    assert placed == found.in_place
    assert placed.splitlines().index("raise ValueError(x)") == path.read_text().splitlines().index(
        "raise ValueError(x)"
    )
    compile(placed, str(path), "exec")  # imports of __future__ come first
    assert ast.unparse(ast.parse(placed)) == ast.unparse(ast.parse(text))


@pytest.mark.parametrize("held", [True, False], ids=["in a file of its own", "alone"])
def test_a_program_of_another_python_names_the_one_that_reads_it(held: bool, tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    program_text = "x = 1\ntype = X = (\n"
    path.write_text("program(__file__, goal='error')\n# --- the program ---\n" * held + program_text)
    words = re.escape(
        f"{path}:{2 + 2 * held}: '(' was never closed. This is Python {platform.python_version()} ({sys.executable})"
    )
    with pytest.raises(NotARepro, match=words):
        program_file.load(path)
    with pytest.raises(NotARepro, match=words):
        repro_file.load(path)


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
    assert "at fault: the guards of entry 0 of __resume_at" in run_python(str(launcher), "analyze", "--run-code").stdout
    sound = launcher.read_text().replace("kind=drop_guard", "")
    launcher.write_text(sound)
    asked = run_python(str(launcher), "query")
    assert (asked.returncode, asked.stdout) == (0, "NOT REPRODUCED: the results of f are NumPy's\n")


def test_the_file_is_the_program_for_tools_that_run_programs(run_python: Run, tmp_path: Path) -> None:
    """Two frames compile."""
    path = program_file.write(ProgramFile(LAUNCHED, "other_result", "f"), tmp_path, repro_file.REPRO)
    done = run_python("-m", "suture", "check", "--compare", str(path))
    told = done.stdout + done.stderr
    assert "Another result than NumPy's" in told and "SB101" in told


def test_a_file_keeps_what_it_was_given(tmp_path: Path) -> None:
    text = 'from __future__ import annotations\n"""not its docstring"""\nx = 1\n'
    expected = {"code": 1, "last_line": "KeyError: 'x'"}
    given = ProgramFile(text, "error", "f", ["a b", "'"], 'He said """x"""', "a\n  b", str(tmp_path), expected=expected)
    found = program_file.load(program_file.write(given, tmp_path, repro_file.REPRO))
    assert found == given


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "from __future__ import annotations; import numpy as np\nnp.ones(3)\n",
        "from __future__ import annotations; from __future__ import division; x = 'é'\n",
        "from __future__ import (\n    annotations,\n); x = 1\n",
    ],
)
def test_a_file_without_a_fault_keeps_every_statement(text: str, tmp_path: Path) -> None:
    given = ProgramFile(text, "other_result", "f", [], "f: it is wrong", fault="")
    found = program_file.load(program_file.write(given, tmp_path, repro_file.REPRO))
    assert (found.title, found.fault) == (given.title, "")
    assert ast.unparse(ast.parse(found.text)) == ast.unparse(ast.parse(text))


@pytest.mark.parametrize(
    ("goal", "text", "code", "told"),
    [
        (
            "other_result",
            "import os; os._exit(3)\n",
            77,
            "CANNOT RUN HERE: `suture check` on the program ends with exit code 3",
        ),
        (
            "other_result",
            "raise ValueError(1)\n",
            77,
            "CANNOT RUN HERE: `suture check` on the program ends with exit code 3 (ValueError",
        ),
        ("other_result", "x = 1\n", 0, "NOT REPRODUCED: its results are NumPy's"),
        ("breaks", "x = 1\n", 0, "NOT REPRODUCED: the goal is not reached"),
        ("error", "x = 1\n", 0, "NOT REPRODUCED: it does not fail"),
        ("error", "raise ValueError(1)\n", 1, "REPRODUCED: error: it ends with exit code 1 (ValueError"),
    ],
)
def test_a_program_that_gives_no_report_is_no_right_one(
    goal: str, text: str, code: int, told: str, tmp_path: Path
) -> None:
    path = program_file.write(ProgramFile(text, goal), tmp_path, repro_file.REPRO)
    said: list[str] = []
    settings = modes.Settings(run_limit=60.0)
    assert program_modes.run_mode("query", path, settings, said.append) == code
    assert said[-1].startswith(told), said


def test_what_cannot_be_told_is_not_bisected_as_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("raise SystemExit(77)\n")
    assert bisect.bisect_program([str(path)], untold=77).exit_code == 77
    assert bisect.bisect_program([str(path)]).reproduced


def test_runs_can_be_closed_while_they_run_and_before(tmp_path: Path) -> None:
    runs = Runs(native=False)
    assert runs.run("", "p.py", Request("")).code == 0
    started = tmp_path / "started"
    with ThreadPoolExecutor() as pool:
        program = f"import pathlib, time\npathlib.Path({str(started)!r}).touch()\ntime.sleep(60)\n"
        waiting = pool.submit(runs.run, program, "p.py", Request(""))
        deadline = time.monotonic() + 30
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        runs.close()
        assert waiting.result(30).code < 0
    assert runs.run("", "p.py", Request("")).code < 0

    idle = Runs(native=False)
    idle.run("", "p.py", Request(""))
    idle.close()
    assert idle.run("", "p.py", Request("")).code < 0  # the server that was free is gone


def entry(frame: int) -> dict[str, Any]:
    at = {"frame": frame, "function": f"f{frame}", "kind": "function", "line": 1, "entry": 0, "guards": []}
    return {**at, "made_here": False}


def found_by(run: Callable[[dict[str, Any], str, str], str], frames: int) -> tuple[frame_fault.FrameFault, int]:
    """What is located when `run` says how the program ends, and how often it ran."""
    facts = {"function": "f", "number": 1, "arguments": {}, "served": [entry(number) for number in range(frames)]}
    calls = []

    def probe(options: Any, watch: str, backend: str) -> frame_fault.Probe:
        calls.append(options)
        return frame_fault.Probe(run(options, watch, backend), json.dumps(facts))

    return frame_fault.locate(probe, "f"), len(calls)


def test_the_frame_at_fault_is_found_by_halves() -> None:
    found, runs = found_by(lambda options, *_: "call 1" if options.get("frame_limit", 999) > 200 else "", 256)
    assert (found.part, found.function) == ("frame", "f200") and runs <= 3 + 1 + 8


def test_what_was_not_tried_is_not_said_and_nobody_is_named_by_chance() -> None:
    found, _ = found_by(lambda options, *_: "" if "frame_limit" in options else "call 1", 3)
    assert found.part == "" and "with the frames up to 2 compiled" in str(found)
    found, _ = found_by(lambda options, watch, _: "" if "frame_limit" in options or watch == "fresh" else "call 1", 3)
    assert (found.part, found.function) == ("guards", "f") and "entry" not in str(found)
    found, _ = found_by(lambda *_: "something else", 3)
    assert "the finding names no call: something else" in str(found)
    found, _ = found_by(lambda *_: "", 3)
    assert "the result was right this time" in str(found)


def test_what_is_noted_of_arguments_runs_nothing_of_the_program() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise AssertionError("it ran")

    assert call_facts._shown((1, "a", np.float32(2), Loud(), [Loud()])) == "(1, 'a', np.float32(2.0), <Loud>, <list>)"
    assert len(call_facts._shown("x" * 10**6)) <= 60 and len(call_facts._shown(10**9999)) <= 60


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

"""`suture repro FILE`: files from anybody are read and not run; what runs code of the file does so because it was asked to."""

import json
from pathlib import Path

import pytest

from suture._minify import program_file, repro_file
from suture._minify.program_file import ProgramFile
from tests.python.test_repro_flow import Workplace

BACKEND = """\
import pathlib

import numpy as np
import suture


def picky(graph, example_inputs):
    pathlib.Path("ran").touch()
    if any(node["op"] == "maximum" for node in graph.nodes):
        raise RuntimeError("no maximum here")
    return graph.forward()


@suture.compile(backend=picky)
def f(x):
    return np.maximum(np.sin(x) + 1, 0.5) * x


f(np.ones(3))
"""


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


@pytest.fixture
def file(work: Workplace) -> Path:
    """One frame would compile, if the backend let it."""
    failed = work.run(work.write("prog.py", BACKEND), SUTURE_REPRO_AFTER="capture")
    assert "no maximum here" in failed.stderr
    (work.path / "ran").unlink()
    path = work.path / "minifier_launcher.py"
    # What stands at the top of a file runs when the file does.
    path.write_text(path.read_text().replace("FORMAT = 1", "open('executed', 'w').close()\nFORMAT = 1"))
    return path


def repro(work: Workplace, *words: str):
    return work.run("-m", "suture", "repro", *words)


def test_without_a_mode_the_file_is_explained_and_nothing_of_it_runs(work: Workplace, file: Path):
    done = repro(work, file.name)
    assert done.returncode == 0 and "backend   picky (its source is in the file)" in done.stderr
    assert not (work.path / "ran").exists() and not (work.path / "executed").exists()


def test_analyze_runs_no_code_of_the_file(work: Workplace, file: Path):
    done = repro(work, file.name, "analyze")
    assert done.returncode == 77
    assert (
        f"OP: maximum = maximum (np.maximum), of a kind that the message names\n  at {work.path / 'prog.py'}:16\n"
        in done.stderr
    )
    assert "backend picky is code of the file, which analyze does not run" in done.stderr
    assert not (work.path / "ran").exists() and not (work.path / "executed").exists()
    itself = work.run(file.name, "analyze")
    assert (itself.returncode, itself.stdout) == (77, done.stderr)
    assert not (work.path / "ran").exists()


def test_with_run_code_analyze_names_the_op_that_the_failure_needs(work: Workplace, file: Path):
    done = repro(work, file.name, "analyze", "--run-code")
    assert done.returncode == 1 and "FIRST FAILING OP: maximum = maximum (np.maximum)" in done.stderr
    assert not (work.path / "executed").exists()
    assert work.run(file.name, "analyze", "--run-code").stdout == done.stderr


def test_other_modes_are_those_of_the_file(work: Workplace, file: Path):
    assert repro(work, file.name, "query").returncode == 1
    done = repro(work, file.name, "minify", "--out", "out")
    assert done.returncode == 0 and done.stderr.splitlines()[-1] == "Wrote minimal repro out to out/repro.py"
    assert not (work.path / "executed").exists()
    assert repro(work, "out/repro.py", "run").returncode == 1


def test_a_graph_of_a_known_backend_is_analyzed_as_it_is(work: Workplace):
    text = BACKEND.replace("backend=picky", 'options={"inject_fault": "kind=wrong_value,op=maximum,error=0.5"}')
    environment = {"SUTURE_REPRO_AFTER": "lowering", "SUTURE_REPRO_LEVEL": "4"}
    work.run(work.write("prog.py", text), **environment)
    done = repro(work, "minifier_launcher.py", "analyze")
    assert done.returncode == 1 and "FIRST DIVERGING OP: maximum = maximum" in done.stderr


def test_the_program_of_a_file_is_not_run_by_analyze(work: Workplace):
    ran = work.path / "ran"  # by its whole name: programs run in directories of their own
    text = f"open({str(ran)!r}, 'w').close()\nraise ValueError(3)\n"
    held = ProgramFile(text, "error", title="error: it ends with exit code 1", fault="at fault: the last line")
    path = program_file.write(held, work.path, repro_file.REPRO)
    for words in ((path.name,), (path.name, "analyze")):
        done = repro(work, *words)
        assert "at fault: the last line" in done.stderr and not ran.exists()
    assert done.returncode == 77 and "the program is code of the file" in done.stderr
    assert repro(work, path.name, "query").returncode == 1 and ran.exists()


def test_json_has_what_the_file_holds(work: Workplace, file: Path):
    told = json.loads(repro(work, file.name, "--json").stdout)
    assert (told["schema"], told["mode"], told["exit_code"]) == ("suture.repro/1", "explain", 0)
    holds = told["holds"]
    assert (holds["kind"], holds["function"], holds["backend"], holds["backend_is_code"]) == (
        "graph",
        "f",
        "picky",
        True,
    )
    assert holds["inputs"] == {"x": "float64[3]"} and holds["expected"]["kind"] == "compile_error"
    analyzed = json.loads(repro(work, file.name, "analyze", "--json").stdout)
    assert analyzed["exit_code"] == 77 and "OP: maximum" in analyzed["said"]


def test_what_is_no_repro_file_is_a_usage_error(work: Workplace):
    work.write("plain.py", "print(1)\n")
    for words, why in (
        (("plain.py",), "plain.py is no repro file"),
        (("absent.py",), "No such file"),
        (("plain.py", "explain", "--run-code"), "--run-code: of no meaning for the mode explain"),
        (("plain.py", "query", "--budget", "3"), "--budget: of no meaning for the mode query"),
    ):
        done = repro(work, *words)
        assert done.returncode == 2 and why in done.stderr

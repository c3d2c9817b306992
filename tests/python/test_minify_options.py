"""Options of `suture minify`, `suture bisect` and of repro files: each does what its help says, or is refused with a reason. No function
is compiled here but where a test says so."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from suture._minify import program_file
from suture._minify.checkpoint import Checkpoint
from suture._minify.oracle import MinifyError
from suture._minify.program_file import ProgramFile
from suture._minify.source import reduce_source
from suture.cli import main
from suture.repro import main as repro_main
from tests.support.small_repro import write_small_repro


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a program, one that this Python cannot read, a repro file and a file that holds a program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.py").write_text("x = 1\nsyntax of a newer Python\n")
    (tmp_path / "app.py").write_text("import sys\nsys.exit('x')\n")
    write_small_repro(tmp_path)
    program_file.write(ProgramFile("x = 1\n", "other_result", "f"), tmp_path, "held")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("minify", "give a FILE, or --last, or --process PID, or --list"),
        ("minify app.py --last", "give a FILE, or --last, or --process PID, or --list"),
        ("minify --list --out d", "--list changes nothing, and --out mean nothing with it"),
        ("minify --list --goal error", "--list changes nothing, and --goal mean nothing"),
        ("minify app.py --goal error --predicate true", "both say what to keep"),
        ("minify --last --goal error", "--goal is for programs"),
        ("minify --process 1 --goal error", "--goal is for programs"),
        ("minify --process x", "argument --process: invalid int value: 'x'"),
        ("minify --process 1 --last", "give a FILE, or --last, or --process PID, or --list"),
        ("minify repro.py --goal error", "repro.py says itself what it keeps"),
        ("minify held.py --goal error", "held.py says itself what it keeps"),
        ("minify --predicate true app.py 1 2", "1 2: arguments behind FILE are the program's"),
        ("minify repro.py 1", "1: arguments behind FILE are the program's"),
        ("minify app.py", "app.py is no repro file"),
        ("minify new.py", "new.py:2: invalid syntax. This is Python 3."),
        ("minify new.py --goal error", "new.py:2: invalid syntax. This is Python 3."),
        ("minify new.py --predicate true", "run the same command with that Python"),
        ("minify nothing.py", "nothing.py"),
        ("minify nothing.py --goal error", "nothing.py"),
        ("bisect --slow", "expected one argument"),
        ("bisect --slow 2 app.py", "--slow is for cases"),
        ("bisect --slow 2 held.py", "held.py says itself what is wrong"),
        ("bisect held.py 1", "1: held.py has the arguments of its program"),
        ("bisect repro.py 1", "a case takes no arguments"),
        ("bisect nothing.py", "there is no nothing.py"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(
    words: str, why: str, files: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in files.iterdir())
    try:
        code = main(words.split())
    except SystemExit as ended:  # of argparse
        code = ended.code
    assert code == 2
    assert why in capfd.readouterr().err
    assert sorted(path.name for path in files.iterdir()) == before


@pytest.mark.parametrize("mode", ["run", "query", "analyze", "bisect", "explain"])
@pytest.mark.parametrize(
    "option", ["--workers 1", "--time-limit 1", "--budget 1", "--out d", "--checkpoint c", "--log l"]
)
def test_modes_refuse_options_of_a_search(
    mode: str, option: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        repro_main(str(files / "repro.py"), lambda x: x, argv=[mode, *option.split()])
    assert ended.value.code == 2
    assert f"{option.split()[0]}: of no meaning for the mode {mode}" in capsys.readouterr().err


def test_the_limit_of_a_run_is_for_all_modes_that_run_something(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repro_main(str(files / "repro.py"), lambda x: x, argv=["query", "--run-limit", "20"]) == 0
    with pytest.raises(SystemExit):
        repro_main(str(files / "repro.py"), lambda x: x, argv=["explain", "--run-limit", "20"])
    assert "--run-limit: of no meaning for the mode explain" in capsys.readouterr().err


# --- checkpoints of programs ----------------------------------------------------------------------------------------------

PROGRAM = "a = 1\nb = 2\nneedle = 3\nc = 4\nd = 5\n"


def has_needle(text: str) -> bool:
    return "needle" in text


def test_the_search_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    whole = reduce_source(PROGRAM, has_needle)
    part = reduce_source(PROGRAM, has_needle, budget=3, checkpoint=Checkpoint(file, "a search"))
    assert not part.complete and part.calls == 3
    asked: list[str] = []
    rest = reduce_source(
        PROGRAM, lambda text: asked.append(text) is None and has_needle(text), checkpoint=Checkpoint(file, "a search")
    )
    assert rest.text == whole.text and rest.complete
    assert len(asked) == rest.calls == whole.calls - 3


def test_a_checkpoint_of_another_search_is_refused(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "checkpoint", "a search")
    with pytest.raises(MinifyError, match="is the checkpoint of another search"):
        Checkpoint(tmp_path / "checkpoint", "another search")


def test_programs_have_checkpoints(
    run_python: Callable[..., subprocess.CompletedProcess[str]], write_program: Callable[[str], Path], tmp_path: Path
) -> None:
    words = ["-m", "suture", "minify", str(write_program(PROGRAM)), "--checkpoint", "kept", "--json"]
    words += ["--predicate", "grep -q needle {}"]
    done = run_python(*words, "--budget", "3")
    assert done.returncode == 0 and not json.loads(done.stdout)["complete"]
    assert len((tmp_path / "kept").read_text().splitlines()) >= 4
    other = run_python(*words[:-1], "true")
    assert other.returncode == 77 and "is the checkpoint of another search" in other.stderr
    done = run_python(*words)
    assert json.loads(done.stdout)["lines_after"] == 1 and not (tmp_path / "kept").exists()

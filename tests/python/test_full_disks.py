"""A disk that is full in the middle of a search: what was found is kept and said, nothing half-written is trusted later, and no
traceback is shown. No function is compiled here but where a test says so."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suture._minify import modes, program, program_file, program_modes, repro_file
from suture._minify.case import Case, inputs_of
from suture._minify.checkpoint import Checkpoint
from suture._minify.minimise import minimise
from suture._minify.oracle import MinifyError
from suture._minify.predicate import TestOracle
from suture._minify.signature import Verdict
from suture._minify.source import reduce_source

Run = Callable[..., subprocess.CompletedProcess[str]]
FULL = "No space left on device"


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB."""
    path = tmp_path / "tiny"
    path.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(path)]
    try:
        mounted = subprocess.run(words, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a tmpfs is not allowed here")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    """All but so many bytes."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    if leave:
        os.truncate(path, max(path.stat().st_size - leave, 0))
    return path


PROGRAM = "".join(f"x{i} = {i}\n" for i in range(40)) + "raise ValueError('kept')\n"


def raises(text: str) -> bool:
    return "ValueError('kept')" in text


def test_a_checkpoint_takes_back_what_it_could_not_write(tiny_disk: Path) -> None:
    path = tiny_disk / "checkpoint"
    checkpoint = Checkpoint(path, "search")
    checkpoint.add("first", Verdict.SAME)
    filler = fill(tiny_disk)
    with pytest.raises(MinifyError, match=FULL):
        for number in range(4096):
            checkpoint.add(f"{number}" * 40, Verdict.PASS)
    filler.unlink()
    checkpoint.add("last", Verdict.PASS)  # there is room again: nothing torn stands before it
    lines = path.read_bytes().splitlines()
    assert [type(json.loads(line)) for line in lines] == [dict] * len(lines)
    found = Checkpoint(path, "search").verdicts
    assert (found["first"], found["last"]) == (Verdict.SAME, Verdict.PASS)


def test_a_search_goes_on_without_a_checkpoint(tiny_disk: Path) -> None:
    path = tiny_disk / "checkpoint"
    checkpoint = Checkpoint(path, "search")
    fill(tiny_disk)
    with pytest.raises(MinifyError):
        for number in range(4096):
            checkpoint.add(f"{number:050}", Verdict.PASS)
    done = reduce_source(PROGRAM, raises, checkpoint=checkpoint)
    assert done.complete and done.text == "raise ValueError('kept')\n"
    assert FULL in str(done) and str(done).endswith("The search went on without it")
    Checkpoint(path, "search")  # it is one


class NoRoom:
    """A test that cannot write the candidate any more, after some."""

    def __init__(self, runs: int) -> None:
        self.left = runs

    def __call__(self, text: str) -> bool:
        self.left -= 1
        if self.left < 0:
            raise OSError(28, FULL, "/tmp/candidate")
        return raises(text)


@pytest.mark.parametrize("workers", [1, 3])
def test_candidates_that_cannot_be_written_end_the_search_with_what_there_is(workers: int) -> None:
    done = reduce_source(PROGRAM, NoRoom(4), workers=workers)
    assert not done.complete and done.stopped.startswith(f"a candidate cannot be run: {FULL}: /tmp/candidate; TMPDIR")
    assert raises(done.text) and len(done.text) < len(PROGRAM)
    with pytest.raises(OSError, match=FULL):  # the program itself
        reduce_source(PROGRAM, NoRoom(0))


GRAPH = """graph "g" captured
  x = placeholder() : f64[2] ; "x"
  sin = sin(x) : f64[2] ; "np.sin"
  exp = exp(sin) : f64[2] ; "np.exp"
  cos = cos(exp) : f64[2] ; "np.cos"
  inputs x
  return cos
"""


def test_a_graph_whose_candidates_cannot_be_written_is_kept_as_it_is() -> None:
    case = Case(GRAPH, inputs_of([np.ones(2)]), backend="eager")
    left = iter([True] * 3)

    def test(candidate: Case) -> bool:
        if not next(left, False):
            raise OSError(28, FULL, "/tmp/candidate")
        return True

    result = minimise(case, oracle=TestOracle(case, test))
    assert not result.complete and FULL in result.stopped


def test_a_program_is_said_when_no_file_can_be_written(tiny_disk: Path, tmp_path: Path, run_python: Run) -> None:
    """With a goal and with a command. The checkpoint stays."""
    app = tmp_path / "app.py"
    app.write_text(PROGRAM)
    fill(tiny_disk)
    for keeps in (["--goal", "error"], ["--predicate", "grep -q kept app.py"]):
        checkpoint = tmp_path / f"{keeps[0]}"
        words = [
            "app.py",
            *keeps,
            "--out",
            str(tiny_disk),
            "--checkpoint",
            str(checkpoint),
            "--log",
            str(tiny_disk / "log"),
        ]
        done = run_python("-m", "suture", "minify", *words)
        assert done.returncode == 77 and "Traceback" not in done.stderr, done
        assert "kept" in done.stderr.rpartition("SUCCESS")[2], done.stderr  # what is left of the program
        assert f"no file could be written: {FULL}: {tiny_disk}" in done.stderr, done.stderr
        assert "choose another directory with --out" in done.stderr and checkpoint.exists()
    assert [path.name for path in tiny_disk.iterdir() if path.suffix == ".py" and path.stat().st_size] == []


def test_a_log_that_cannot_be_written_costs_no_result(tiny_disk: Path, tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(PROGRAM)
    fill(tiny_disk)
    said: list[str] = []
    settings = modes.Settings(out=tmp_path, log=tiny_disk / "log", run_limit=30.0)
    done = program.minify(app, settings, said.append, program.Kept("grep -q kept app.py"))
    assert done.path.exists() and f"{tiny_disk / 'log'} could not be written: {FULL}" in said


def test_temporary_files_that_run_out_end_a_search_with_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be asked any more is not said, and the file is there."""
    app = tmp_path / "app.py"
    app.write_text(PROGRAM)
    from suture._minify.program_runs import Runs

    run, left = Runs.run, iter(range(6))

    def limited(self: Runs, text: str, *rest: Any) -> Any:
        if next(left, None) is None:
            raise OSError(28, FULL, "/tmp/suture-minify-x")
        return run(self, text, *rest)

    monkeypatch.setattr(Runs, "run", limited)
    said: list[str] = []
    settings = modes.Settings(out=tmp_path, run_limit=30.0)
    done = program.minify(app, settings, said.append, program.Kept(None, "error"))
    assert not done.result.complete and f"a candidate cannot be run: {FULL}" in "\n".join(said)
    held = program_file.load(done.path)
    assert raises(held.text) and held.title == f"error: not run again: {FULL}: /tmp/suture-minify-x"
    assert done.certified  # by a process that finds room


def test_a_checkpoint_of_another_search_is_refused_by_a_file(tmp_path: Path) -> None:
    path = program_file.write(program_file.ProgramFile(PROGRAM, "error"), tmp_path, repro_file.REPRO)
    checkpoint = tmp_path / "checkpoint"
    Checkpoint(checkpoint, "another search")
    said: list[str] = []
    settings = modes.Settings(run_limit=30.0, checkpoint=checkpoint)
    assert program_modes.run_mode("minify", path, settings, said.append) == modes.CANNOT_RUN
    assert said[-1].startswith("CANNOT RUN HERE: ") and "is the checkpoint of another search" in said[-1]


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(GRAPH, inputs_of([np.ones(2)]), backend="eager")
    repro = repro_file.ReproFile(case, ["x"], title="first")
    path = repro_file.write(repro, tmp_path, repro_file.REPRO)
    before = path.read_text()
    with monkeypatch.context() as patched:
        patched.setattr(repro_file, "text_of", lambda *_: (_ for _ in ()).throw(OSError(28, FULL)))
        with pytest.raises(OSError, match=FULL):
            repro_file.replace(path, repro)
    assert path.read_text() == before and list(tmp_path.iterdir()) == [path]
    repro.title = "second"
    repro_file.replace(path, repro)
    assert repro_file.load(path).title == "second" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("leave", [0, 4096, 16384])
def test_records_need_no_room_of_the_program(tiny_disk: Path, run_python: Run, tmp_path: Path, leave: int) -> None:
    """One frame compiles, with its cache and its records on a full disk; a record that is there is whole."""
    program_text = (
        "import numpy as np, os, suture\n@suture.compile\ndef f(x):\n    return x + 1\n"
        "for n in range(3, 40):\n    f(np.ones(n * 50))\nprint(f.status()['graph_count'] > 0, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    (tmp_path / "p.py").write_text(program_text)
    fill(tiny_disk, leave)
    done = run_python("p.py", SUTURE_CACHE_DIR=str(tiny_disk / "cache"), SUTURE_RECORD="always")
    assert (done.returncode, done.stdout) == (-9, "True\n") and "Traceback" not in done.stderr, done
    listed = run_python("-m", "suture", "minify", "--list", "--json", SUTURE_CACHE_DIR=str(tiny_disk / "cache"))
    assert listed.returncode == 0 and json.loads(listed.stdout)["schema"] == "suture.records/1", listed

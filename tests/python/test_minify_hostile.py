"""What minifier and bisector run may do anything: fork, kill, print without end, use up what others need."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from suture import register_backend
from suture._minify import api, certify, child, goals, modes, program, program_file, repro_file
from suture._minify.bisect import FULL
from suture._minify.case import Case, inputs_of
from suture._minify.minimise import minimise
from suture._minify.oracle import Limits, Oracle
from suture._minify.program_runs import Ran, Request, Runs
from suture._minify.signature import Outcome
from suture._minify.variants import ProgramSubject
from tests.support.small_repro import GRAPH, write_small_repro


def small(backend: str) -> Case:
    return Case(GRAPH, inputs_of([np.ones(3)]), backend=backend)


def chain(length: int, backend: str) -> Case:
    """arcsinh, cosines, maximum."""
    lines = ['  x = placeholder() : f64[3] ; "x"', '  n0 = arcsinh(x) : f64[3] ; "np.arcsinh"']
    lines += [f'  n{i} = cos(n{i - 1}) : f64[3] ; "np.cos"' for i in range(1, length)]
    lines += [f'  m = maximum(n{length - 1}, x) : f64[3] ; "np.maximum"']
    text = "\n".join(['graph "g" captured', *lines, "  inputs x", "  return m", ""])
    return Case(text, inputs_of([np.ones(3)]), backend=backend)


# --- backends ------------------------------------------------------------------------------------------------------------


def test_a_child_that_a_backend_forks_gives_no_second_answer() -> None:
    def forks(graph, inputs):
        os.fork()
        raise RuntimeError("twice")

    register_backend("forks_and_raises", forks)
    with Oracle(small("forks_and_raises")) as oracle:
        oracle.reproduce()
        endings = [judgement.outcome for judgement in oracle.judge([small("forks_and_raises"), small("eager")] * 3)]
    assert [ending.kind for ending in endings] == ["compile_error", "pass"] * 3


def test_what_a_shared_child_has_no_memory_for_is_judged_again() -> None:
    """Whether another candidate ran in the same process must not decide."""
    kept = []

    def leaks(graph, inputs):
        kept.append(np.ones(200_000_000 // 8))
        if {"arcsinh", "maximum"} <= {node["op"] for node in graph.nodes}:
            raise RuntimeError("both")
        return graph.forward()

    register_backend("leaks", leaks)
    found = [minimise(chain(20, "leaks"), workers=workers, limits=Limits(memory=1 << 30)) for workers in (1, 2)]
    assert found[0].case.op_count == 2 and not kept
    assert (found[0].case.key, found[0].calls, found[0].log()) == (found[1].case.key, found[1].calls, found[1].log())


def test_how_a_backend_leaves_is_of_the_stage_in_which_it_did() -> None:
    def leaves(graph, inputs):
        raise SystemExit(3)

    register_backend("leaves", leaves)
    with Oracle(small("leaves")) as oracle:
        assert oracle.reproduce().kind == "compile_error" and oracle.reproduce().exception == "SystemExit"


def test_a_failure_that_comes_and_goes_is_found_among_several_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    endings = [Outcome("pass")] * 5 + [Outcome("run_error", "run", "ValueError", "x")]
    monkeypatch.setattr(Oracle, "outcomes", lambda self, cases: [endings.pop(0)])
    cases = [small("eager"), small("lowered_eager")]
    assert api._first_failing(cases, None, Limits(), 1 << 20) is cases[1] and not endings


# --- limits and places of this process -------------------------------------------------------------------------------------


def test_limits_of_the_user_are_not_exceeded() -> None:
    def limits(send: child.Send) -> list[int]:
        resource.setrlimit(resource.RLIMIT_CPU, (90, 100))
        child.set_limit(resource.RLIMIT_CPU, 300, 301)
        first = resource.getrlimit(resource.RLIMIT_CPU)
        child.set_limit(resource.RLIMIT_CPU, 20)
        return [*first, *resource.getrlimit(resource.RLIMIT_CPU)]

    assert child.call(limits, 200.0).value == [100, 100, 20, 100]


def test_no_directory_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object, **__: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in [...]")

    path = write_small_repro(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", nowhere)
    assert certify.certify(path).exit_code == certify.CANNOT_RUN


# --- programs ------------------------------------------------------------------------------------------------------------


def test_a_signal_to_the_process_group_stays_with_the_program(tmp_path: Path) -> None:
    text = "import os, signal\nos.kill(0, signal.SIGRTMIN + 2)\n"
    with goals.Goal("error", tmp_path / "p.py", [], 20) as goal:
        assert "signal" in goal.answer_in_a_new_process(text).why


def test_what_a_program_leaves_behind_ends_with_it() -> None:
    """In a session of its own, with the streams of the program open."""
    mark = "left behind by a program"
    text = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)', {mark!r}], start_new_session=True)\n"
    with Runs(native=False) as runs:
        began = time.monotonic()
        assert [runs.run(text, "p.py", Request("", fresh=fresh)).code for fresh in (None, [])] == [0, 0]
        assert time.monotonic() - began < 20
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert mark not in commands


def test_of_output_without_end_the_end_is_kept() -> None:
    text = "import sys\nfor _ in range(64): sys.stderr.write('x' * (1 << 20))\nsys.stderr.write('the end')\n"
    with Runs(native=False) as runs:
        ran = runs.run(text, "p.py", Request(""))
    assert ran.code == 0 and ran.err.endswith("the end") and len(ran.err) <= 16 << 20


def test_forked_and_new_processes_end_in_the_same_way() -> None:
    for text in ("raise KeyboardInterrupt", "raise SystemExit(4)", "import os\nos._exit(5)", "1 / 0"):
        with Runs(native=False) as runs:
            forked, new = (runs.run(text, "p.py", Request("", fresh=fresh)) for fresh in (None, []))
        assert goals._ending_of(forked).expected() == goals._ending_of(new).expected()


def test_the_exception_is_told_whatever_it_is_called() -> None:
    for text, line in {
        "class Boom(Exception): pass\nraise Boom('x y')": "Boom: x y",
        "raise ExceptionGroup('g', [ValueError('a'), TypeError('b')])": "ExceptionGroup: g (N sub-exceptions)",
        "try:\n  1 / 0\nexcept ZeroDivisionError as e:\n  raise KeyError('k') from e": "KeyError: 'k'",
    }.items():
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert goals._ending_of(Ran(done.returncode, "", done.stderr)).last_line == line


def test_programs_that_are_not_in_utf8_are_the_same_program_in_it(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes(b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\ns = '\xe9'\nassert len(s) != 1, s\n")
    text = program_file.text_in(path)
    assert text == "#!/usr/bin/python\n# -*- coding: utf-8 -*-\ns = '\u00e9'\nassert len(s) != 1, s\n"
    with Runs(native=False) as runs:
        assert "AssertionError: \u00e9" in runs.run(text, "p.py", Request("")).err


def test_what_a_program_leaves_behind_is_no_hang_for_the_bisector(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'], start_new_session=True)\n"
        "raise RuntimeError(sys.argv[1])\n"
    )
    began = time.monotonic()
    ended = ProgramSubject([str(path), "word"], 30).run(FULL)
    assert (ended.kind, ended.exception, ended.message) == ("run_error", "RuntimeError", "word")
    assert time.monotonic() - began < 20


def test_the_file_of_a_program_that_hangs_waits_as_long_as_the_search_did(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("while True: pass\n")
    settings = modes.Settings(run_limit=1.0, out=tmp_path)
    began = time.monotonic()
    done = program.minify(path, settings, lambda text: None, program.Kept(goal="error"))
    assert done.certified and program_file.load(done.path).run_limit == 1
    assert time.monotonic() - began < 25  # without that, certifying alone takes 30 s
    damaged = tmp_path / "damaged.py"
    damaged.write_text(done.path.read_text().replace("run_limit=1.0", "run_limit=-1.0"))
    with pytest.raises(repro_file.NotARepro, match="run_limit is no number of seconds"):
        program_file.load(damaged)

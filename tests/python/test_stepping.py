"""suture.debug: debuggers step the printed text of what compiled functions run; results stay as they are."""

from __future__ import annotations

import bdb
import linecache
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suture
from suture import _core
from tests.python.conftest import ROOT

PROGRAM = """\
import os
import numpy as np
import suture

@suture.compile
def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n

x = np.ones((8, 8))
expected = f(x, 3.0)
with suture.prepare_debug(os.environ["WHERE"]):
    with suture.debug():
        result = f(x, 3.0)
print("same:", np.array_equal(result, expected))
"""
TEXT = ["graph_out_0, y = __compiled_fn_1(x)", "if graph_out_0:", "return __resume_at_96_2(n, y)"]


def environment(**more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    return {**inherited, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", **more}


def pdb_session(program: Path, commands: list[str], where: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(program)],
        input="".join(command + "\n" for command in commands),
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(WHERE=str(where)),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(output: str) -> list[tuple[str, int, str]]:
    """(file, line, text) of every place where pdb stopped."""
    found = re.findall(
        r"^> (?:\(Pdb\) )?(\S+)\((\d+)\)\S*\(\)(?:->.*)?\n-> (.*)$", output.replace("(Pdb) > ", "> "), flags=re.M
    )
    return [(file, int(line), text) for file, line, text in found]


def test_pdb_stops_in_the_transformed_code_and_steps_into_the_resume_function(write_program, tmp_path: Path) -> None:
    """The program compiles 2 frames before the block."""
    program = write_program(PROGRAM)
    commands = ["n", "n", "p y.shape, n", "n", "s", "n", "n", "p float(y[0, 0])", "c"]
    output = pdb_session(program, commands, tmp_path / "d")
    places = shown(output)
    transformed, original = (
        str(tmp_path / "d" / d) for d in ("f_0_0/transformed.py", "__resume_at_96_2_1_0/original.py")
    )
    assert [(file, text) for file, _, text in places[:3]] == [(transformed, text) for text in TEXT]
    assert (original, "y = y * 2") in [(file, text) for file, _, text in places]
    assert (original, "return np.maximum(y, 0) * n") in [(file, text) for file, _, text in places]
    assert "((8, 8), 3.0)" in output
    assert repr(float((np.sin(np.ones(1)) + 1)[0] * 2)) in output
    assert "same: True" in output
    for file, line, text in places:
        if file.startswith(str(tmp_path / "d")):
            assert Path(file).read_text().splitlines()[line - 1].strip() == text


def test_breakpoints_in_the_files_of_a_dump(write_program, tmp_path: Path) -> None:
    """The program compiles 2 frames; the breakpoint is set before anything stops there."""
    program = write_program(PROGRAM)
    file = tmp_path / "d" / "__resume_at_96_2_1_0" / "original.py"
    output = pdb_session(program, [f"b {file}:3", "c", "p n", "c"], tmp_path / "d")
    assert f"Breakpoint 1 at {file}:3" in output
    assert (str(file), 3, "y = y * 2") in shown(output)
    assert "same: True" in output


def test_pdb_on_a_terminal(write_program, tmp_path: Path) -> None:
    """The program compiles 2 frames; pdb reads from and writes to a terminal."""
    program = write_program(PROGRAM)
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, str(program)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(WHERE=str(tmp_path / "d")),
    )
    os.close(slave)
    watchdog = threading.Timer(100, child.kill)
    watchdog.start()
    said = b""
    try:
        for command in (b"n\n", b"list\n", b"c\n"):
            while not said.rstrip().endswith(b"(Pdb)"):
                said += os.read(master, 4096)
            said += b"\n"
            os.write(master, command)
        while True:
            said += os.read(master, 4096)
    except OSError:  # the other end is closed
        pass
    finally:
        child.wait()
        watchdog.cancel()
        os.close(master)
    text = said.decode()
    assert "graph_out_0, y = __compiled_fn_1(x)" in text
    assert "return __resume_at_106_3(n, y)" in text, "the lines around"
    assert "same: True" in text
    assert child.returncode == 0


class Recorder(bdb.Bdb):
    """What a debugger on sys.settrace sees: (function, file, line) of every line of printed text."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, str, str]] = []

    def user_line(self, frame: Any) -> None:
        file = frame.f_code.co_filename
        text = linecache.getline(file, frame.f_lineno).strip()
        if "suture" in file and file.startswith("<"):
            self.lines.append((frame.f_code.co_name, file, text))
        self.set_step()


def recorded(run: Callable[[], Any]) -> tuple[Any, list[tuple[str, str, str]]]:
    recorder = Recorder()
    with suture.debug(stop=False):
        recorder.reset()
        recorder.set_step()
        before = sys.gettrace()
        sys.settrace(recorder.trace_dispatch)
        try:
            result = run()
        finally:
            sys.settrace(before)
    return result, recorder.lines


def branch(x: Any, n: Any) -> Any:
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n


def loop(x: Any) -> Any:
    for k in range(3):
        x = x + k
        print(end="")
    return x * 2


def whole(x: Any) -> Any:
    y = np.cos(x)
    return y * 2


def with_closure(x: Any) -> Any:
    return x * factor + sum(v for v in (1, 2, 3)) + helper(x)


def helper(x: Any) -> Any:
    return x - 1


factor = 3.0


@pytest.mark.parametrize(
    "function, args",
    [(branch, (np.ones(3), 2.0)), (loop, (np.ones(3),)), (whole, (np.ones(3),)), (with_closure, (np.ones(3),))],
)
def test_a_debugger_on_settrace_sees_printed_lines_and_the_results_of_always(function: Any, args: Any) -> None:
    """At least 1 frame of each compiles before the block, none inside."""
    compiled = suture.compile(function)
    expected = compiled(*args)
    frames = compiled.status()["frames"]
    result, lines = recorded(lambda: compiled(*args))
    assert np.array_equal(result, expected)
    assert lines
    assert all(text for _, _, text in lines), "every line has its text"
    assert [f["compiles"] for f in compiled.status()["frames"]] == [f["compiles"] for f in frames]
    assert np.array_equal(compiled(*args), expected)


def test_lines_of_the_seed_in_their_order() -> None:
    """2 frames compile once each."""
    compiled = suture.compile(branch)
    compiled(np.ones(3), 2.0)
    _, lines = recorded(lambda: compiled(np.ones(3), 2.0))
    resume = compiled.status()["frames"][1]["function"]
    assert [(name, text) for name, _, text in lines] == [
        ("__transformed_code_0_for_branch", "graph_out_0, y = __compiled_fn_1(x)"),
        ("__transformed_code_0_for_branch", "if graph_out_0:"),
        ("__transformed_code_0_for_branch", f"return {resume}(n, y)"),
        (resume, "y = y * 2"),
        (resume, "return np.maximum(y, 0) * n"),
    ]


def test_functions_that_were_not_compiled_before_compile_inside() -> None:
    """2 frames compile inside the block, under the tracer."""
    compiled = suture.compile(branch)
    result, lines = recorded(lambda: compiled(np.ones(3), 2.0))
    assert np.array_equal(result, suture.compile(branch)(np.ones(3), 2.0))
    assert sum(frame["compiles"] for frame in compiled.status()["frames"]) == 2
    assert len(lines) == 5


def test_without_the_block_a_tracer_sees_the_function_itself() -> None:
    """2 frames compile once each; under a tracer outside of the block nothing of ours shows."""
    compiled = suture.compile(branch)
    compiled(np.ones(3), 2.0)
    with suture.debug(stop=False):
        pass
    seen = []

    def tracer(frame: Any, event: str, _: Any) -> Any:
        seen.append(frame.f_code.co_name)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        compiled(np.ones(3), 2.0)
    finally:
        sys.settrace(before)
    assert "branch" in seen
    assert not [name for name in seen if name.startswith("__")]


def test_exceptions_are_those_of_the_program() -> None:
    """1 frame compiles at least."""

    def failing(x: Any) -> Any:
        y = x + 1
        print(end="")
        raise ValueError(f"{y.sum()}")

    compiled = suture.compile(failing)
    with pytest.raises(ValueError, match="6"), suture.debug(stop=False):
        compiled(np.ones(3))
    with pytest.raises(ValueError, match="6"):
        compiled(np.ones(3))
    assert _core.live_compiled()


def test_blocks_nest_and_leave_nothing() -> None:
    compiled = suture.compile(whole)
    expected = compiled(np.ones(3))
    with suture.debug(stop=False):
        with suture.debug(stop=False):
            assert np.array_equal(compiled(np.ones(3)), expected)
        assert np.array_equal(compiled(np.ones(3)), expected)
    with suture.debug():
        pass  # no compiled function is called, so nothing stops
    assert sys.gettrace() is None or not hasattr(sys.gettrace(), "waits_for")
    hits = compiled.status()["hits"]
    compiled(np.ones(3))
    assert compiled.status()["hits"] == hits + 1


def test_functions_without_source_and_with_odd_names_are_stepped_as_well() -> None:
    """1 frame of each compiles at least; neither has a source file."""
    space: dict[str, Any] = {"np": np}
    exec(
        compile("def f(x, *, k=2):\n    y = x * k\n    return y + 1\ng = lambda x: (x + 1) * 2", "gone\n.py", "exec"),
        space,
    )
    space["f"].__name__ = "odd\nname"
    for name, texts in (("f", ["y = x * k", "return y + 1"]), ("g", ["lambda x: (x + 1) * 2"])):
        compiled = suture.compile(space[name])
        expected = compiled(np.ones(3))
        result, lines = recorded(lambda compiled=compiled: compiled(np.ones(3)))
        assert np.array_equal(result, expected)
        assert [text for _, _, text in lines] == texts
        assert all("\n" not in file for _, file, _ in lines)


def test_a_dump_that_was_removed_is_replaced_by_texts_in_memory(tmp_path: Path) -> None:
    """2 frames compile once each."""
    import shutil

    compiled = suture.compile(branch)
    expected = compiled(np.ones(3), 2.0)
    with suture.prepare_debug(tmp_path / "d") as directory:
        shutil.rmtree(directory)
        result, lines = recorded(lambda: compiled(np.ones(3), 2.0))
    assert np.array_equal(result, expected)
    assert len(lines) == 5

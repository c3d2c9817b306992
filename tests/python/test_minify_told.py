"""What a reduction tells, in which order: what is left, what it does, how it was found, and the file last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.small_repro import write_small_repro

# One frame compiles in each.
BREAKS = """\
import numpy as np
import suture

@suture.compile
def f(x):
    if x.sum() > 0:
        x = x + 1
    return x

f(np.ones(3))
"""
GUARDS = """\
import numpy as np
import suture

@suture.compile(options={"inject_fault": "kind=drop_guard"})
def f(x, mode):
    return x * 2 if mode == "double" else x + 1

for mode in ("single", "double"):
    f(np.zeros(3), mode)
"""


def order_of(text: str, *parts: str) -> list[int]:
    assert all(part in text for part in parts), text
    return [text.index(part) for part in parts]


@pytest.mark.parametrize(
    ("program", "goal", "does"),
    [
        (BREAKS, "breaks", "\nbreaks: breaks of f: 1\n"),
        (BREAKS, "SB101", "\nSB101: f, line "),
        (GUARDS, "other_result", "\nf: In call 2, result"),
    ],
)
def test_of_a_program(
    run_python: Callable[..., object],
    write_program: Callable[[str], Path],
    tmp_path: Path,
    program: str,
    goal: str,
    does: str,
) -> None:
    done = run_python(
        "-m", "suture", "minify", str(write_program(program)), "--goal", goal, "--out", str(tmp_path / "o")
    )
    assert done.returncode == 0, done.stderr
    parts = [
        "\n@suture.compile",
        does,
        *(["\nat fault: "] if program is GUARDS else []),
        " calls, ",
        "It does the same in a new",
        "Wrote ",
    ]
    assert order_of(done.stderr, *parts) == sorted(order_of(done.stderr, *parts))


def test_of_a_graph(run_python: Callable[..., object], tmp_path: Path) -> None:
    """No frame compiles here: the graph is in a file, and its backend raises."""
    path = write_small_repro(tmp_path)
    path.write_text(path.read_text().replace("eager", "faulty:op=abs,kind=run_error"))
    done = run_python("-m", "suture", "minify", str(path), "--out", str(tmp_path / "o"))
    assert done.returncode == 0, done.stderr
    parts = ["\ndef forward(", "\nrun_error, ", " oracle calls ", "It fails the same way in a new", "Wrote "]
    assert order_of(done.stderr, *parts) == sorted(order_of(done.stderr, *parts))

"""Seeded faults outside of graphs: programs of several calls in which a guard is too weak or a resume function is handed something
wrong. What must be left of program and calls, and what must be named. As bench/minify_faults.py, whose faults are those of graphs.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from suture._minify import program
from suture._minify.modes import Settings

_HEAD = """\
import numpy as np
import suture

SCALE = 2

@suture.compile(options={"inject_fault": "FAULT"})
def f(x, mode):
"""
_STRAIGHT = """\
    y = np.cos(x) + 1
    if mode == "double":
        y = y * SCALE
    return np.maximum(y, 0.5)
"""
_BROKEN = """\
    x = np.sin(x) + 2
    z = x * 3
    if z.sum() > 0:
        z = z + (1 if mode == "double" else 2)
    return z - x
"""
_CALLS = """
for size in (3, 4):
    x = np.linspace(1, 2, size)
    for mode in ("plain", "double"):
        print(f(x, mode).sum())
"""
_GLOBAL = """
x = np.linspace(1, 2, 3)
f(x, "double")
SCALE = 3
f(x, "double")
"""


@dataclass(frozen=True)
class ProgramFault:
    """
    name      what is seeded
    text      the program
    part      what must be named: guards, frame or resume
    function  the beginning of the name of its function
    calls     of the function that may be left
    lines     of the program that may be left
    tests     that the search may take
    """

    name: str
    text: str
    part: str
    function: str
    calls: int
    lines: int
    tests: int = 500

    @property
    def program(self) -> str:
        return self.text.replace("FAULT", self.name)


PROGRAM_FAULTS = [
    ProgramFault("kind=drop_guard", _HEAD + _STRAIGHT + _CALLS, "guards", "f", 2, 14),
    ProgramFault("kind=drop_guard,when=symbols>=1", _HEAD + _STRAIGHT + _CALLS, "guards", "f", 3, 16),
    ProgramFault("kind=drop_guard,when=nth==2", _HEAD + _STRAIGHT + _GLOBAL, "guards", "f", 2, 14),
    ProgramFault("kind=swapped_locals,when=nth==2", _HEAD + _BROKEN + _CALLS, "frame", "f", 1, 14),
    ProgramFault("kind=stale_local", _HEAD + _BROKEN + _CALLS, "frame", "f", 1, 14),
]


def reduced(fault: ProgramFault, workers: int = 2) -> program.Done:
    with tempfile.TemporaryDirectory(prefix="suture-bench-") as directory:
        file = Path(directory) / "seeded.py"
        settings = Settings(workers=workers, out=Path(directory))
        return program.reduce(fault.program, file, settings, lambda text: None, program.Kept(goal="other_result"))


def calls_left(text: str) -> int:
    return len(re.findall(r"(?<!def )\bf\(", text))


def is_minimal(done: program.Done, fault: ProgramFault) -> bool:
    found = done.fault
    named = found is not None and found.part == fault.part and found.function.startswith(fault.function)
    text = done.result.text
    return bool(named and done.certified and calls_left(text) <= fault.calls and len(text.splitlines()) <= fault.lines)

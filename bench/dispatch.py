"""What one compiled call costs, part by part: runs the C++ program of the same name (built by `./dev bench`)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench import bars

PROGRAM = Path(__file__).resolve().parent.parent / "build/release/bench/dispatch"


def split() -> None:
    if not PROGRAM.exists():
        print(f"{PROGRAM} is not built; ./dev bench builds it")
        return
    done = subprocess.run([str(PROGRAM)], capture_output=True, text=True, check=True)
    print(done.stdout, end="")
    parts = {line[:58].strip(): float(line[58:].split()[0]) for line in done.stdout.splitlines()}
    bars.at_most("guards of two arrays", parts["guards of two arrays"], 30, " ns")
    bars.at_most("whole call, two arrays of 8", parts["compiled function, whole call"] / 1e3, 1, " us")

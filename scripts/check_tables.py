"""Tables are used: every break reason is produced somewhere and has a test, every guard kind and event is emitted somewhere.

Exits 1 and names each row that nothing in src/ refers to, and each break reason without a program under tests/breaks/.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
TABLES = {
    "capture/breaks.def": ("SUTURE_BREAK", "BreakReason"),
    "guard/guards.def": ("SUTURE_GUARD", "GuardKind"),
    "trace/events.def": ("SUTURE_EVENT", "EventId"),
}
# Reasons that a program alone cannot cause: another Python, a defect of ours, a bad backend, no compiler.
BREAKS_WITHOUT_PROGRAM = {"SB504", "SB507", "SB508", "SB509"}


def rows(table: str, macro: str) -> list[tuple[str, str]]:
    text = (SRC / table).read_text()
    return re.findall(rf'^{macro}\((\w+),\s*"([^"]*)"', text, flags=re.M)


def main() -> int:
    sources = {path: path.read_text(errors="replace") for path in SRC.rglob("*") if path.suffix in (".cpp", ".h")}
    everything = "\n".join(sources.values())
    problems = []
    for table, (macro, enum) in TABLES.items():
        for enumerator, name in rows(table, macro):
            if not re.search(rf"\b{enum}::{enumerator}\b", everything):
                problems.append(f"src/{table}: {enumerator} ({name}) is produced nowhere")
    programs = {re.match(r"sb\d+", path.name).group(0).upper() for path in (ROOT / "tests/breaks").glob("sb*.py")}
    for _, code in rows("capture/breaks.def", "SUTURE_BREAK"):
        if code not in programs and code not in BREAKS_WITHOUT_PROGRAM:
            problems.append(f"tests/breaks: no program for {code}")
    for problem in problems:
        print(problem)
    print(f"tables: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

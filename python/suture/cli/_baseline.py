"""python -m suture.cli._baseline OUT FILE ARGS...: the program under plain NumPy, timed like `check` times it.

Runs with SUTURE_DISABLE=1, so that decorated functions are counted and timed but run in the interpreter. Writes
{"wall_ms", "exit_code", "statuses"} to OUT.
"""

from __future__ import annotations

import json
import sys

from suture.cli._program import observed, run_program


def main() -> int:
    out, path, *args = sys.argv[1:]
    with observed() as seen:
        outcome = run_program(path, args)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"wall_ms": outcome.wall_ms, "exit_code": outcome.exit_code, "statuses": seen.statuses()}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""python -m suture.cli._baseline OUT RESULTS FILE ARGS...: the program under plain NumPy, timed like `check` times it.

Runs with SUTURE_DISABLE=1, so that decorated functions are counted and timed but run in the interpreter. Compares their
results with those that the compiled run saved in the directory RESULTS. Writes {"wall_ms", "exit_code", "statuses",
"accuracy"} to OUT.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from suture.cli._accuracy import Comparer
from suture.cli._program import Outcome, observed, run_program


def main() -> int:
    out, results, path, *args = sys.argv[1:]
    comparer = Comparer(Path(results))
    with observed(comparer) as seen:

        def finish(outcome: Outcome) -> int:
            wall_ms = outcome.wall_ms - comparer.clock.ms
            found = {"statuses": seen.statuses(), "accuracy": comparer.rows(), "wall_ms": wall_ms}
            with open(out, "w", encoding="utf-8") as file:
                json.dump({"exit_code": outcome.exit_code, **found}, file)
            return 0

        outcome = run_program(path, args, finish)
    return finish(outcome)


if __name__ == "__main__":
    sys.exit(main())

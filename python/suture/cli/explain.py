"""suture explain FILE: runs the program and prints the explanation of every compiled function that was called."""

from __future__ import annotations

import argparse
import json
import sys
from fnmatch import fnmatchcase

from suture.cli import OK, PROGRAM_FAILED, USAGE
from suture.cli._program import (
    Observation,
    add_program_arguments,
    check_file,
    observed,
    program_args,
    run_program,
    stdout_to_stderr,
)


class Command:
    example = "example: suture explain --function 'hillshade*' examples/terrain.py"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print a JSON list on stdout, one object per function")
        parser.add_argument("--function", metavar="NAME", default="*", help="only these functions; * and ? match")
        add_program_arguments(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        if problem := check_file(arguments.file):
            print(f"suture explain: {problem}", file=sys.stderr)
            return USAGE
        with stdout_to_stderr(arguments.json):
            with observed() as seen:
                outcome = run_program(arguments.file, program_args(arguments))
        self._print(seen, arguments)
        return PROGRAM_FAILED if outcome.exit_code else OK

    def _print(self, seen: Observation, arguments: argparse.Namespace) -> None:
        from suture import _core
        from suture._explain import Explanation

        chosen = []
        for compiled in seen.compiled:
            status = _core.status(compiled)
            called = any(frame["calls"] for frame in status["frames"])
            if called and fnmatchcase(status["function"], arguments.function):
                chosen.append((status, Explanation.of(compiled)))
        if arguments.json:
            print(json.dumps([explanation.to_dict() for _, explanation in chosen]))
            return
        if not chosen:
            print("suture explain: no compiled function was called", file=sys.stderr)
        for status, explanation in chosen:
            place = f"{status['file']}:{status['line']}"
            print(f"=== {status['function']} ({place})\n{explanation}", file=sys.stderr)

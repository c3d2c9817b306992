"""suture run FILE: runs the program with logs, a trace or options switched on. Exit code 3 when the program fails."""

from __future__ import annotations

import argparse
import os

from suture.cli import USAGE
from suture.cli._arguments import add_program_arguments, program_args
from suture.cli._program import (
    Outcome,
    check_file,
    choose_backend,
    exit_code,
    run_program,
    stdout_to_stderr,
)
from suture.cli._streams import emit, say


class Command:
    example = "example: suture run --logs graph_breaks,recompiles program.py"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--logs", metavar="SETTINGS", default="", help="as SUTURE_LOGS; 'help' lists the names")
        parser.add_argument("--trace", metavar="DIR", default="", help="write all events to a file in this directory")
        parser.add_argument("--disable", action="store_true", help="run everything in the interpreter")
        parser.add_argument("--json", action="store_true", help="print how the program ended as JSON on stdout")
        add_program_arguments(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        if problem := check_file(arguments.file) or choose_backend(arguments) or self._switch_on(arguments):
            say(f"suture run: {problem}")
            return USAGE

        def finish(outcome: Outcome) -> int:
            if arguments.json:
                ended = {"exit_code": outcome.exit_code, "error": outcome.error, "wall_ms": outcome.wall_ms}
                emit({"schema": "suture.run/1", **ended})
            return exit_code(outcome)

        with stdout_to_stderr(arguments.json):
            outcome = run_program(arguments.file, program_args(arguments), finish)
        return finish(outcome)

    def _switch_on(self, arguments: argparse.Namespace) -> str:
        from suture import config

        try:
            if arguments.logs:
                config.logs = arguments.logs
            if arguments.trace:
                os.makedirs(arguments.trace, mode=0o700, exist_ok=True)
        except (ValueError, OSError) as error:
            return str(error)
        if arguments.trace:
            config.trace = arguments.trace
        if arguments.disable:
            config.disable = True
        return ""

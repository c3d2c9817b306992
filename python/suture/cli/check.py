"""suture check FILE: the clinic. Runs the program here, watches it, and prints findings in the order of
src/toolbox/clinic/stations.def. With --compare the program runs a second time, in a child process with SUTURE_DISABLE=1, for
the times and the results under NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture.cli import USAGE
from suture.cli._arguments import add_program_arguments, program_args
from suture.cli._program import (
    Observation,
    Outcome,
    check_file,
    choose_backend,
    observed,
    run_program,
    stdout_to_stderr,
)
from suture.cli._streams import emit, say, text

if TYPE_CHECKING:
    from suture.cli._accuracy import Recorder


class Command:
    example = "example: suture check --compare examples/terrain.py"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--json",
            action="store_true",
            help="print the report as one line of JSON on stdout; what the program prints goes to stderr then",
        )
        parser.add_argument(
            "--fail-on",
            choices=["note", "warning", "error", "never"],
            default="warning",
            help="exit with 1 when a finding is at least this severe (default: warning)",
        )
        parser.add_argument(
            "--compare",
            action="store_true",
            help="run the program again under plain NumPy and compare times and results",
        )
        parser.add_argument("--quiet", action="store_true", help="no text, only the exit code (and --json)")
        add_program_arguments(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        if problem := check_file(arguments.file) or choose_backend(arguments):
            say(f"suture check: {problem}")
            return USAGE
        args = program_args(arguments)
        with _results_directory() as results:
            watch: Recorder | None = None
            if arguments.compare:
                from suture.cli._accuracy import Recorder

                watch = Recorder(Path(results))

            def facts(outcome: Outcome) -> dict[str, Any]:
                found = _facts(arguments, outcome)
                if watch:
                    found["wall_ms"] -= watch.clock.ms
                if watch and not outcome.exit_code:
                    found |= _measure_baseline(arguments.file, args, results, watch)
                return found

            with stdout_to_stderr(arguments.json), observed(watch) as seen:

                def left(outcome: Outcome) -> int:
                    found = facts(outcome)
                    shutil.rmtree(results, ignore_errors=True)
                    return _report(seen, found, arguments)

                outcome = run_program(arguments.file, args, left)
            found = facts(outcome)
        return _report(seen, found, arguments)


def _report(seen: Observation, facts: dict[str, Any], arguments: argparse.Namespace) -> int:
    report = examine(seen, facts)
    if arguments.json:
        emit(report)
    if not arguments.quiet:
        from suture.cli._report import print_report

        print_report(report, text())
    return report["exit_code"]


@contextmanager
def _results_directory() -> Iterator[str]:
    """Private, and removed by the process that made it: a child that the program forks ends through here, too."""
    path, owner = tempfile.mkdtemp(prefix="suture_check-"), os.getpid()
    try:
        yield path
    finally:
        if os.getpid() == owner:
            shutil.rmtree(path, ignore_errors=True)


def _facts(arguments: argparse.Namespace, outcome: Outcome) -> dict[str, Any]:
    return {
        "program": arguments.file,
        "fail_on": arguments.fail_on,
        "wall_ms": outcome.wall_ms,
        "program_exit_code": outcome.exit_code,
        "error": outcome.error,
        "interrupted": outcome.interrupted,
    }


def examine(seen: Observation, facts: dict[str, Any]) -> dict[str, Any]:
    """The report of a run, schema suture.check/1."""
    from suture import _toolbox
    from suture._events import source_line, to_json
    from suture._recompile import compile_here

    statuses = to_json(seen.statuses())
    return json.loads(_toolbox.clinic_json(seen.lines, statuses, to_json(facts), source_line, compile_here))


def _baseline_environment() -> dict[str, str]:
    """This one, with everything in the interpreter and without what writes about the run: that has been written once."""
    from suture import _core

    variables = {name: (env, scope) for name, _, _, env, _, _, scope in _core.option_table()}
    outputs = {env for env, scope in variables.values() if scope == "output"}
    inherited = {name: value for name, value in os.environ.items() if name not in outputs}
    return inherited | {variables["disable"][0]: "1"}


def _in_a_new_process(words: list[str]) -> int:
    return subprocess.run(
        [sys.executable, "-m", "suture.cli._baseline", *words],
        env=_baseline_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


# Runs suture.cli._baseline with these words; its exit code. Another one stands here in processes that have all of it loaded.
run_baseline: Callable[[list[str]], int] = _in_a_new_process


def _measure_baseline(path: str, args: list[str], results: str, watch: Recorder) -> dict[str, Any]:
    """Facts of the same program under NumPy; empty when it fails there, which is said."""
    handle, out = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        code = run_baseline([out, results, path, *args])
        with open(out, encoding="utf-8") as file:
            text = file.read()
    finally:
        os.unlink(out)
    result: dict[str, Any] = json.loads(text) if code == 0 and text else {"exit_code": code or 1}
    if result["exit_code"]:
        say(f"suture check: the run under NumPy ended with {result['exit_code']}; no comparison")
        return {}
    from suture.cli._accuracy import with_left_out

    accuracy = with_left_out(result["accuracy"], watch)
    return {"baseline_ms": result["wall_ms"], "baseline": result["statuses"], "accuracy": accuracy}

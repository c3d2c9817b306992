"""suture bisect FILE: which step of the compiler makes a failure. See docs/bisect.md.

Exit code: 1 the failure was reproduced, 0 it was not, 77 it cannot be told here.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture._minify.defaults import PROGRAM_SECONDS, RUN_SECONDS
from suture.cli import USAGE
from suture.cli._arguments import add_file, goal_word, program_args, refuse_args
from suture.cli._streams import emit_text, say, text

if TYPE_CHECKING:
    from suture._minify.bisect import Bisection, Progress
    from suture._minify.case import Case


class Command:
    example = (
        "examples:\n  suture bisect crash.py 1000          a program that fails when it is compiled, and its arguments\n"
        "  suture bisect --goal other_result app.py   a program whose results are not NumPy's\n"
        "  suture bisect repro.py               a repro file (nothing in it is run), or a saved case\n"
        "  suture bisect --slow 2 repro.py      its graph takes more than twice NumPy's time"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the answer as JSON on stdout")
        parser.add_argument(
            "--seconds",
            type=_positive,
            metavar="S",
            help=f"longest run of one variant (default: {RUN_SECONDS:g}; of a program {PROGRAM_SECONDS:g})",
        )
        parser.add_argument(
            "--slow", type=_positive, metavar="RATIO", help="the failure is to take more than RATIO times NumPy's time"
        )
        parser.add_argument(
            "--goal",
            type=goal_word,
            metavar="GOAL",
            help="of a program: what it does wrong, if not that it fails: other_result, or another goal of suture minify",
        )
        add_file(parser, "a program, a repro file, or case.json or its directory")

    def run(self, arguments: argparse.Namespace) -> int:
        from suture._minify.bisect_text import text_of, to_json
        from suture._minify.case import CaseError

        try:
            found = _bisect(arguments, lambda label: say(f"running: {label}"))
        except (CaseError, OSError, ValueError, SyntaxError) as error:
            say(f"suture bisect: {error}")
            return USAGE
        if arguments.json:
            emit_text(to_json(found))
        else:
            text().write(text_of(found))
        return found.exit_code


def _positive(word: str) -> float:
    value = float(word)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("a number above 0")
    return value


def _bisect(arguments: argparse.Namespace, progress: Progress) -> Bisection:
    from suture._minify import bisect, program_modes
    from suture._minify.modes import Settings

    path = Path(arguments.file)
    if not path.exists():
        raise OSError(f"there is no {path}")
    limit: dict[str, Any] = {"seconds": arguments.seconds} if arguments.seconds else {}
    if _holds_a_program(path):
        if arguments.slow or arguments.goal:
            raise ValueError(f"{path} says itself what is wrong: it takes no --slow and no --goal")
        if problem := refuse_args(arguments, f"{path} has the arguments of its program"):
            raise ValueError(problem)
        return program_modes.bisection(path, Settings(run_limit=arguments.seconds), progress)
    case = _case_of(path)
    if case is not None:
        return _of_case(case, arguments, progress, limit)
    if arguments.slow:
        raise ValueError(f"--slow is for cases; of a program: --goal slow={arguments.slow:g}")
    command = [str(path), *program_args(arguments)]
    if arguments.goal:
        return _to_goal(command, arguments.goal, progress, limit)
    found = bisect.bisect_program(command, progress=progress, **limit)
    if not found.reproduced and not found.notes:
        found.hint = f"it ends in order. Whether its results are NumPy's: suture bisect --goal other_result {shlex.join(command)}"
    return found


def _to_goal(command: list[str], words: str, progress: Progress, limit: dict[str, float]) -> Bisection:
    from suture._minify import bisect, program_file
    from suture._minify.goals import Goal

    path = Path(command[0])
    text = program_file.text_in(path)
    with Goal(words, path, command[1:], limit.get("seconds", PROGRAM_SECONDS)) as goal:
        return bisect.bisect_goal(command, goal, text, progress=progress, **limit)


def _holds_a_program(path: Path) -> bool:
    from suture._minify import program_file
    from suture._minify.repro_file import NotARepro

    try:
        program_file.load(path)
    except (NotARepro, OSError):
        return False
    return True


def _case_of(path: Path) -> Case | None:
    """Of a saved case or a repro file, of which nothing is run; None for a program."""
    from suture._minify import repro_file
    from suture._minify.case import Case

    if path.is_dir() or path.suffix == ".json":
        return Case.load(path)
    try:
        repro = repro_file.load(path)
    except repro_file.NotARepro:
        return None
    if repro.backend_code:
        raise ValueError(f"the backend is a function in {path}; run it yourself: python {path} bisect")
    return repro.case


def _of_case(case: Case, arguments: argparse.Namespace, progress: Progress, limit: dict[str, float]) -> Bisection:
    from suture._minify import bisect

    if problem := refuse_args(arguments, "a case takes no arguments"):
        raise ValueError(problem)
    if arguments.goal:
        raise ValueError(f"--goal is for programs; {arguments.file} says itself what is wrong")
    if arguments.slow:
        return bisect.bisect_slow(case, arguments.slow, progress=progress, **limit)
    return bisect.bisect(case, progress=progress, **limit)

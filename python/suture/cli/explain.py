"""suture explain FILE: runs the program and prints the explanation of every compiled function that was called.
suture explain NAME: says what a name in Suture's messages means (SB101, a performance hint, a guard kind, a fusion reason, a
pass, an option).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from suture._reasons import is_reason_code, nearest, page_text, pages_named
from suture.cli import OK, USAGE
from suture.cli._arguments import add_program_arguments, program_args
from suture.cli._program import (
    Life,
    Observation,
    Outcome,
    check_file,
    choose_backend,
    exit_code,
    observed,
    run_program,
    stdout_to_stderr,
)
from suture.cli._streams import emit, say

if TYPE_CHECKING:
    from suture._explain import Explanation


def print_pages(pages: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        emit(pages)
    else:
        say("\n".join(page_text(page) for page in pages))


def _what_is_wrong(name: str, problem: str) -> str:
    near = nearest(name)
    if is_reason_code(name):
        return f"there is no reason {name.upper()}; the nearest is {near}"
    return problem + (f"; did you mean {near}?" if near else "")


class Command:
    example = (
        "examples:\n  suture explain --function 'hillshade*' examples/terrain.py\n"
        "  suture explain SB101             what a break reason means, with a program and its fix\n"
        "  suture explain copy_reshape      a performance hint, with a program and its fix\n"
        "  suture explain size              a guard kind; names of fusion reasons, passes and options work too"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--json",
            action="store_true",
            help="print a JSON list on stdout, one object per function (of one that was reset: per time between)",
        )
        parser.add_argument("--function", metavar="NAME", default="*", help="only these functions; * and ? match")
        add_program_arguments(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        problem = check_file(arguments.file)
        if problem and (pages := pages_named(arguments.file)):
            print_pages(pages, arguments.json)
            return OK
        if problem:
            say(f"suture explain: {_what_is_wrong(arguments.file, problem)}")
            return USAGE
        if problem := choose_backend(arguments):
            say(f"suture explain: {problem}")
            return USAGE
        with stdout_to_stderr(arguments.json):
            with observed() as seen:

                def left(outcome: Outcome) -> int:
                    say(f"suture explain: {outcome.error}")
                    self._print(seen, arguments)
                    return exit_code(outcome)

                outcome = run_program(arguments.file, program_args(arguments), left)
        self._print(seen, arguments)
        return exit_code(outcome)

    def _print(self, seen: Observation, arguments: argparse.Namespace) -> None:
        from suture import _toolbox

        chosen = [
            explained
            for lives in seen.lives()
            if fnmatchcase(lives[-1].status["function"], arguments.function)
            for explained in _explained(lives)
        ]
        if arguments.json:
            emit([explanation.to_dict() for _, explanation in chosen])
            return
        if not chosen:
            say("suture explain: no compiled function was called")
        for title, explanation in chosen:
            say(_toolbox.escape_line(f"=== {title}") + f"\n{explanation}")


def _explained(lives: list[Life]) -> Iterator[tuple[str, Explanation]]:
    """The lives of a callable that saw a call, each with its title."""
    from suture._explain import Explanation

    for number, life in enumerate(lives):
        status = life.status
        if not life.called:
            continue
        title = f"{status['function']} ({status['file']}:{status['line']})"
        if len(lives) > 1:
            resets = len(lives) - 1
            title += f", before reset {number + 1} of {resets}" if number < resets else ", after the last reset"
        yield title, Explanation(life.records, status, life.compiled)

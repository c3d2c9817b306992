"""suture minify: the smallest case that fails like the one that was found. See docs/minify.md.

Exit code: 0 a minimal repro was written, and it fails in a new process; 1 there is nothing to reduce, or the result does not fail
in a new process; 2 usage; 77 it cannot run here; 130 interrupted, and what was found by then is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from suture.cli import FINDING, INTERRUPTED, OK, USAGE
from suture.cli._arguments import goal_word
from suture.cli._records import Unusable, launcher_of, list_records
from suture.cli._streams import emit, emit_text, say

if TYPE_CHECKING:
    from suture._minify.modes import Minified
    from suture._minify.program_file import ProgramFile


class Command:
    takes_late_arguments = True  # FILE --goal error ARGS
    example = (
        "examples:\n  suture minify minifier_launcher.py     what a failed compile left behind\n"
        "  suture minify --last                   what a process did when it crashed, was killed or hung\n"
        "  suture minify --list                   all that processes had begun and not ended\n"
        "  suture minify --process 4711           what this one had begun last\n"
        "  suture minify app.py --goal SB101      the smallest program with this finding of suture check\n"
        "  suture minify app.py --predicate ./interesting.sh   the smallest one for which the command exits with 0"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from suture.repro import add_settings

        parser.add_argument(
            "file", metavar="FILE", nargs="?", type=Path, help="minifier_launcher.py, a repro.py, or a program"
        )
        parser.add_argument("arguments", metavar="ARGS", nargs="*", help="arguments of the program, for --goal")
        parser.add_argument("--last", action="store_true", help="the newest record of a process that died")
        parser.add_argument(
            "--process", metavar="PID", type=int, help="the newest record of this process, which may be alive"
        )
        parser.add_argument("--list", action="store_true", help="say what records there are, and change nothing")
        parser.add_argument(
            "--predicate",
            metavar="COMMAND",
            help="what to keep: a shell command that exits with 0; {} is the candidate's path",
        )
        parser.add_argument(
            "--goal",
            metavar="GOAL",
            type=goal_word,
            help="what a program is to keep: error, other_result, breaks=N, recompiles=N, slow=RATIO, or the id of a finding of suture check",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
        add_settings(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        if problem := _misused(arguments):
            say(f"suture minify: {problem}")
            return USAGE
        if arguments.list:
            return list_records(arguments.json)
        if arguments.file is None or _is_repro(arguments.file):
            return _minify(arguments)
        return _minify_program(arguments)


def _misused(arguments: argparse.Namespace) -> str:
    """What is wrong with options that do not go together, or ""."""
    from suture.repro import settings_given

    words = [*settings_given(arguments), *(["--goal"] if arguments.goal else [])]
    words += ["--predicate"] if arguments.predicate else []
    if sum((arguments.file is not None, arguments.last, arguments.process is not None, arguments.list)) != 1:
        return "give a FILE, or --last, or --process PID, or --list"
    if arguments.list:
        return f"--list changes nothing, and {', '.join(words)} mean nothing with it" if words else ""
    if arguments.goal and arguments.predicate:
        return "--goal and --predicate both say what to keep: give one of them"
    if arguments.goal and arguments.file is None:
        return "--goal is for programs; a record is kept as it failed, or by --predicate"
    if arguments.file is None:
        return ""
    if arguments.goal and not _is_program(arguments.file):
        return f"--goal is for programs; {arguments.file} says itself what it keeps, and --predicate may say something else"
    if arguments.arguments and not arguments.goal:
        return f"{' '.join(arguments.arguments)}: arguments behind FILE are the program's, and go with --goal only"
    return ""


def _is_program(file: Path) -> bool:
    return not _is_repro(file) and _held_program(file) is None


def _held_program(file: Path) -> ProgramFile | None:
    """Of a file that holds one and says what to keep (suture._minify.program_file)."""
    from suture._minify import program_file
    from suture._minify.repro_file import NotARepro

    try:
        return program_file.load(file)
    except (NotARepro, OSError):
        return None


def _is_repro(file: Path) -> bool:
    from suture._minify import repro_file
    from suture._minify.case import CaseError

    try:
        repro_file.load(file)
    except (repro_file.NotARepro, OSError):
        return False
    except CaseError:
        return True  # a damaged one
    return True


def _minify(arguments: argparse.Namespace) -> int:
    from suture._minify import modes, repro_file
    from suture._minify.case import CaseError
    from suture._minify.plain_text import printable_lines
    from suture.repro import progress_line, settings_of

    settings = settings_of(arguments)

    def out(text: str) -> None:
        say(printable_lines(text))

    try:
        file = arguments.file or launcher_of(arguments.process, settings, out)
        if file is None:
            return FINDING
        repro = repro_file.load(file)
    except Unusable as error:
        return modes.cannot_run(str(error), out)
    except (repro_file.NotARepro, CaseError, OSError) as error:
        say(f"suture minify: {error}")
        return USAGE
    if arguments.predicate:
        try:
            with progress_line() as watch:
                minified = modes.minify_by_command(repro, file.name, arguments.predicate, settings, out, watch)
        except OSError as error:  # no shell, no directory for temporary files
            return modes.cannot_run(str(error), out)
        return _ended(minified, arguments.json)
    try:
        modes.install_backend(repro, modes.backend_maker(repro))
    except Exception as error:  # of the user's backend
        return modes.cannot_run(f"the backend could not be made: {type(error).__name__}: {error}", out)
    with progress_line() as watch:
        minified = modes.minify(repro, settings, out, watch)
    return _ended(minified, arguments.json)


def _ended(minified: Minified, as_json: bool) -> int:
    if as_json:
        emit_text(minified.to_json() + "\n")
    return minified.exit_code


# --- programs ------------------------------------------------------------------------------------------------------------


def _minify_program(arguments: argparse.Namespace) -> int:
    from suture._minify import program, repro_file
    from suture._minify.certify import CANNOT_RUN
    from suture._minify.goals import GoalError
    from suture._minify.oracle import MinifyError, NotReproduced
    from suture.repro import settings_of

    held = _held_program(arguments.file)
    settings = settings_of(arguments)
    try:
        if held is not None:
            done = program.minify_held(held, arguments.file, settings, say, arguments.predicate)
        elif arguments.goal or arguments.predicate:
            kept = program.Kept(arguments.predicate, arguments.goal or "", arguments.arguments)
            done = program.minify(arguments.file, settings, say, kept)
        else:
            code = _minify(arguments)  # says what is wrong with it
            if code == USAGE and arguments.file.is_file():
                say("suture minify: of a program, --goal GOAL or --predicate COMMAND says what to keep")
            return code
    except (NotReproduced, GoalError) as error:
        say(f"NOT REPRODUCED: {error}")
        return FINDING
    except MinifyError as error:
        say(f"CANNOT RUN HERE: {error}")
        return CANNOT_RUN
    except SyntaxError as error:
        say(f"suture minify: {repro_file.no_python(arguments.file, error)}")
        return USAGE
    except (OSError, UnicodeDecodeError) as error:
        say(f"suture minify: {arguments.file}: {error}")
        return USAGE
    if arguments.json:
        emit(done.to_dict())
    if done.result.stopped == "interrupted":
        return INTERRUPTED
    return FINDING if done.certified is False else OK

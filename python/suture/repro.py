"""What minifier_launcher.py and repro.py call. They are files of literals; everything that happens is here.

    if __name__ == "__main__":
        raise SystemExit(main(__file__, forward, make_backend))

Modes (the first word after the file; docs/minify.md)
    run       compile and call the graph once, in a child process, and say whether it fails as expected
    query     the same; prints the verdict only
    minify    reduce the graph as long as it fails in the same way; writes repro.py
    analyze   name the first op whose result is wrong, or without which it does not fail. A backend or a program that is code of
              the file is not run without --run-code: `suture repro FILE analyze` is safe with files of others
    bisect    name the stage of the compiler, the pass, the decision that makes the difference
    explain   say what the file holds; nothing of it is run, not even its backend is made
    program   (of a file that holds a program) run the program in this process, with its arguments: for a debugger
Exit codes of run, query, analyze and bisect: 1 REPRODUCED, 0 NOT REPRODUCED, 77 CANNOT RUN HERE. Of minify: 0 a repro was written and fails
in a new process, 1 it does not fail, 77, 130 interrupted (what was found is written).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture._minify.defaults import BUDGET, RUN_SECONDS

if TYPE_CHECKING:
    from suture._minify.modes import Say, Settings
    from suture._minify.progress import Progress

INTERRUPTED = 130

MODES = {
    "run": "run the graph once and say whether it fails as expected",
    "query": "the same, for other programs: prints the verdict only",
    "minify": "reduce the graph as long as it fails in the same way",
    "analyze": "name the first op whose result is wrong, or without which it does not fail",
    "bisect": "name the stage of the compiler that makes the difference",
    "explain": "say what the file holds, without running any of it",
}
PROGRAM_MODES = {
    "run": "run the program once and say whether it does as expected",
    "query": MODES["query"],
    "minify": "reduce the program as long as it does the same",
    "analyze": "say what is at fault, or what suture check says of it",
    "bisect": MODES["bisect"],
    "explain": MODES["explain"],
    "program": "run the program in this process, with its arguments: for a debugger",
}


def main(
    file: str,
    forward: Callable[..., Any],
    make_backend: Callable[[], Any] | None = None,
    *,
    default: str = "run",
    argv: Sequence[str] | None = None,
) -> int:
    """Does what the command line names with the file itself; the exit code.

    file          the repro file
    forward       its graph under NumPy, for whoever imports the file
    make_backend  makes the backend, for one that is known by no name
    default       the mode when none is named
    """
    arguments = _asked(file, default, argv)
    sys.argv = [file]  # what the user's code finds
    try:
        return run_mode(arguments.mode, Path(file), make_backend, settings_of(arguments))
    except KeyboardInterrupt:  # before there was anything to write
        return INTERRUPTED


def program(
    file: str,
    *,
    goal: str,
    function: str = "",
    arguments: Sequence[str] = (),
    default: str = "run",
    argv: Sequence[str] | None = None,
    **_: Any,
) -> None:
    """Does what the command line names with a file that holds a program (suture._minify.program_file), and ends the process with
    the exit code of the mode. Where a tool runs the file as a program this returns at once, and the program runs."""
    from suture.cli import _program

    if _program.is_running:
        return
    asked = _asked(file, default, argv, PROGRAM_MODES)
    if asked.mode == "program":
        sys.argv = [file, *arguments]
        return
    try:
        code = run_program_mode(asked.mode, Path(file), settings_of(asked))
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise SystemExit(code)


def run_program_mode(mode: str, path: Path, settings: Settings, say: Say | None = None) -> int:
    """One of PROGRAM_MODES, but "program", for the program in the file at `path`. say: takes what is to be told; None: stdout."""
    from suture._minify import modes, program_modes
    from suture._minify.goals import NoGoal
    from suture._minify.repro_file import NotARepro

    say = say or _say
    try:
        return program_modes.run_mode(mode, path, settings, say)
    except (NotARepro, NoGoal, OSError) as error:
        return modes.cannot_run(str(error), say)


def _say(text: str) -> None:
    """What a file or a failure says may be from anybody: nothing of it reaches the terminal but text."""
    from suture._minify.plain_text import printable_lines

    shown = printable_lines(text)
    try:
        try:
            print(shown, flush=True)
        except UnicodeEncodeError:
            print(shown.encode("ascii", "backslashreplace").decode(), flush=True)
    except OSError as error:
        _go_on_without_output(error)


def _go_on_without_output(error: OSError) -> None:
    """Its reader went away (`| head`), or there is no room for it: what was asked for is done all the same, files are written, and
    the exit code is what it would be."""
    if not isinstance(error, BrokenPipeError):
        with suppress(OSError):
            print(f"what this says cannot be written: {error.strerror or error}", file=sys.stderr)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())  # what is still in its buffer goes there, too
    os.close(nowhere)


def _parser(file: str, default: str, known: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=Path(file).name,
        description="A program that fails." if known is PROGRAM_MODES else "A graph that failed, and its inputs.",
        epilog="\n".join(f"{name:8} {text}" for name, text in known.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mode", nargs="?", choices=list(known), default=default, metavar="MODE", help=", ".join(known))
    add_settings(parser)
    add_run_code(parser)
    return parser


def _asked(file: str, default: str, argv: Sequence[str] | None, known: Mapping[str, str] = MODES) -> argparse.Namespace:
    """What the command line says. An option that the mode does not have is a usage error."""
    parser = _parser(file, default, known)
    try:
        asked = parser.parse_args(argv)
    finally:  # --help ends here
        _flush()
    if foreign := foreign_settings(asked):
        parser.error(f"{', '.join(foreign)}: of no meaning for the mode {asked.mode}")
    return asked


def foreign_settings(asked: argparse.Namespace) -> list[str]:
    """Options that the mode does not have."""
    given = [] if asked.mode == "minify" else [o for o in settings_given(asked) if o != _OF_MODES.get(asked.mode)]
    return given + ([_RUN_CODE] if asked.run_code and asked.mode != "analyze" else [])


def _flush() -> None:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        _go_on_without_output(error)


def settings_given(arguments: argparse.Namespace) -> list[str]:
    """The options of add_settings that the command line has."""
    return [option for option, name, _ in _SETTINGS if getattr(arguments, name) is not None]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The options that `suture minify` has, too."""
    for option, name, (kind, metavar, text) in _SETTINGS:
        parser.add_argument(option, dest=name, type=kind, metavar=metavar, help=text)


def add_run_code(parser: argparse.ArgumentParser) -> None:
    """The option of the mode `analyze`."""
    parser.add_argument(_RUN_CODE, action="store_true", help="let analyze run the backend or the program in the file")


def _count(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number


def _seconds(word: str) -> float:
    number = float(word)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("a number above 0")
    return number


# (option, name, (type, metavar, help)) of add_settings; what is not given has the default of Settings.
_SETTINGS: list[tuple[str, str, tuple[Callable[[str], Any], str, str]]] = [
    ("--workers", "workers", (_count, "N", "cases judged at the same time (default: all cores)")),
    ("--time-limit", "seconds", (_seconds, "SECONDS", "of the whole search")),
    ("--run-limit", "run_limit", (_seconds, "SECONDS", f"of a run; longer is a hang (default: {RUN_SECONDS:g})")),
    ("--budget", "budget", (_count, "N", f"runs that the search may take (default: {BUDGET})")),
    ("--out", "out", (Path, "DIR", "where files are written")),
    ("--checkpoint", "checkpoint", (Path, "FILE", "keeps verdicts; the search goes on from there")),
    ("--log", "log", (Path, "FILE", "one line per step, taken or not")),
]
_RUN_CODE = "--run-code"
# The one option that other modes than `minify` have.
_OF_MODES = dict.fromkeys(("run", "query", "analyze", "bisect"), "--run-limit")


def settings_of(arguments: argparse.Namespace) -> Settings:
    """What add_settings added."""
    from suture._minify import modes

    names = [*(name for _, name, _ in _SETTINGS), "run_code"]
    given: dict[str, Any] = {name: value for name in names if (value := getattr(arguments, name, None)) is not None}
    return modes.Settings(**{"workers": modes.default_workers()} | given)


@contextmanager
def progress_line() -> Iterator[Callable[[Progress], None]]:
    """On a terminal, one line that says how far the search is and how much is left at most; it goes away at the end."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return

    def show(progress: Progress) -> None:
        line = (
            f"{progress.stage}: {progress.after} {progress.unit}, {progress.calls} calls in {progress.seconds:.0f} s, "
            f"at most {progress.bound} more in this stage"
        )
        sys.stderr.write(f"\r\x1b[K{line[:78]}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def run_mode(
    mode: str, path: Path, make_backend: Callable[[], Any] | None, settings: Settings, say: Say | None = None
) -> int:
    """One of MODES for the file at `path`. say: as in run_program_mode."""
    from suture._minify import modes, repro_file
    from suture._minify.case import CaseError
    from suture._minify.oracle import MinifyError

    say = say or _say
    try:
        repro = repro_file.load(path)
    except (repro_file.NotARepro, CaseError, OSError) as error:
        return modes.cannot_run(str(error), say)
    if mode == "explain":
        say(modes.explained(repro))
        return modes.DONE
    try:
        if mode != "analyze" or modes.may_analyze(repro, settings):
            modes.install_backend(repro, make_backend)
    except Exception as error:  # of the user's backend
        return modes.cannot_run(f"the backend could not be made: {type(error).__name__}: {error}", say)
    if mode == "minify":
        with progress_line() as watch:
            return modes.minify(repro, settings, say, watch).exit_code
    if mode == "run":
        say(modes.explained(repro))
    actions = {"run": modes.run, "query": modes.run, "analyze": modes.analyze, "bisect": modes.bisect}
    try:
        return actions[mode](repro, settings, say)
    except (MinifyError, OSError) as error:  # no process, no directory for temporary files
        return modes.cannot_run(str(error), say)

"""The command line: `suture <verb>` and `python -m suture <verb>`. One file per verb, each with a class Command.

Human text goes to stderr, data (`--json`) to stdout. Exit codes: 0 healthy, 1 finding at or above --fail-on, 2 usage,
3 the program failed, 4 a defect of Suture, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

OK, FINDING, USAGE, PROGRAM_FAILED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 130

# In the order in which a user meets them; each is a module of this package.
VERBS = {
    "check": "run a program and examine it: graph breaks, recompiles, kernels, bytecode",
    "explain": "run a program and explain each compiled function",
    "run": "run a program with logs or a trace switched on",
    "logs": "print the events of a recorded trace as logs",
    "where": "say which line of Python a line of a kernel is made from, and back",
    "bisect": "find the step of the compiler that makes a failure: pass, change, fusion",
    "decompile": "print Python source for bytecode, checked by compiling it again",
    "minify": "reduce a graph that failed to the smallest one that fails in the same way",
    "repro": "read a repro file without running it: explain, analyze, or what else it can do",
    "backends": "list the backends that can run graphs",
    "cache": "look at, verify or clear the disk cache",
    "doctor": "say whether Suture can work here, and with which settings",
}


class Command(Protocol):
    """What a verb's module offers as class Command."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def _parser() -> argparse.ArgumentParser:
    import suture

    parser = argparse.ArgumentParser(
        prog="suture", description="Suture compiles NumPy functions and tells what it did and why."
    )
    parser.add_argument("--version", action="version", version=f"suture {suture.__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, text in VERBS.items():
        command = import_module(f"suture.cli.{name}").Command()
        child = verbs.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=getattr(command, "example", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(child)
        child.set_defaults(command=command, parser=child)
    return parser


def _parsed(words: list[str]) -> Any:
    """argparse gives no more than one run of words to `arguments`; what follows an option, or --, is the program's, too."""
    arguments, rest = _parser().parse_known_args(words)
    late = getattr(arguments.command, "takes_late_arguments", False)
    at = rest.index("--") if late and "--" in rest else len(rest)
    unknown = [word for word in rest[:at] if word.startswith("-")]
    if unknown or (rest and not late):
        hint = f" (options of the program stand at the end, behind --: -- {' '.join(unknown)})" if late else ""
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown or rest)}{hint}")
    if rest:
        arguments.arguments += rest[:at] + rest[at + 1 :]
    arguments.words = words
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    from suture.cli._streams import open_streams, say

    words = list(sys.argv[1:] if argv is None else argv)
    arguments = _parsed(words)
    open_streams()
    try:
        return arguments.command.run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away, for example `| head`. Nothing more can be written, at exit neither.
        import os

        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        return OK
    except Exception:
        import traceback

        say(traceback.format_exc() + "suture: this is a defect of Suture; please report it with the lines above")
        return INTERNAL

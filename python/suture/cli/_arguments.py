"""FILE and what stands behind it on the command line of the verbs that run a program.

As after `python`, every word behind FILE is the program's. One that is spelt like an option of the verb was perhaps meant for
the verb: it goes to the program, and the user is told how both are written.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
from collections.abc import Mapping

from suture.cli._streams import say


def add_program_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        metavar="NAME",
        default="",
        help="what runs graphs of functions that name no backend; `suture backends`",
    )
    add_file(parser, "the Python program to run")


def goal_word(words: str) -> str:
    """The type of --goal."""
    from suture._minify.goals import NoGoal, parse

    try:
        parse(words)
    except NoGoal as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return words


def add_file(parser: argparse.ArgumentParser, text: str) -> None:
    """FILE, and behind it what is its program's; all options of the verb are there already."""
    parser.add_argument("file", metavar="FILE", help=text)
    rest = parser.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="arguments of the program")
    rest.required = False  # Python 3.11 would list it among what is missing
    takes_value = {word: action.nargs != 0 for word, action in parser._option_string_actions.items()}
    parser.set_defaults(own_options=takes_value)


def program_args(arguments: argparse.Namespace) -> list[str]:
    """Arguments may be separated by --, which is ours and not the program's. Without it, those that look like options of
    the verb are told: they go to the program all the same."""
    args, separated = _behind_file(arguments)
    taken, rest = ([], args) if separated else _own_options(args, arguments.own_options)
    if taken and not getattr(arguments, "quiet", False):
        say(
            f"suture {arguments.verb}: {' '.join(taken)} after {arguments.file} goes to the program. For this command: "
            f"{_as_typed(arguments, [*taken, arguments.file, *rest])}. For the program, without this note: "
            f"{_as_typed(arguments, [arguments.file, '--', *args])}"
        )
    return args


def refuse_args(arguments: argparse.Namespace, why: str) -> str:
    """A sentence about words behind a FILE that takes none, with how options among them are written; "" without such words."""
    args, _ = _behind_file(arguments)
    if not args:
        return ""
    taken, rest = _own_options(args, arguments.own_options)
    sentence = f"{' '.join(args)}: {why}"
    if taken and not rest:
        sentence += f"; options stand before FILE: {_as_typed(arguments, [*taken, arguments.file])}"
    return sentence


def _behind_file(arguments: argparse.Namespace) -> tuple[list[str], bool]:
    """What stands there, and whether -- stands between."""
    args: list[str] = arguments.args
    if args[:1] == ["--"]:
        args = args[1:]
    before = arguments.words[: len(arguments.words) - len(args)]
    return args, before[-1] == "--"  # argparse may have taken it away


def _own_options(args: list[str], takes_value: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Those of the verb, with their values, and the other words."""
    taken: list[str] = []
    rest: list[str] = []
    words = iter(args)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in takes_value:
            rest.append(word)
            continue
        taken.append(word)
        if takes_value[name] and not equals:
            taken += itertools.islice(words, 1)
    return taken, rest


def _as_typed(arguments: argparse.Namespace, words: list[str]) -> str:
    """The command with `words` in place of FILE and what is behind it."""
    args, separated = _behind_file(arguments)
    *given, _ = arguments.words[: len(arguments.words) - len(args) - separated]
    return shlex.join(["suture", *(word for word in given if word != "--"), *words])

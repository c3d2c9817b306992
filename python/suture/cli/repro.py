"""suture repro FILE [MODE]: what `python FILE MODE` does, without running the file: for files that come from somebody else.

The file is read by its syntax tree (suture._minify.repro_file, program_file). `explain` runs nothing that is in it, and `analyze` only with
--run-code; `run`, `query`, `minify` and `bisect` run what they need of it: the backend or the program.
Exit code: that of the mode (suture.repro); 2 when the file is none of ours.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture.cli import USAGE
from suture.cli._streams import emit, say

if TYPE_CHECKING:
    from suture._minify.modes import Say
    from suture._minify.program_file import ProgramFile
    from suture._minify.repro_file import ReproFile


class Command:
    example = (
        "examples:\n  suture repro repro.py            what the file holds; nothing of it is run\n"
        "  suture repro repro.py analyze    the first op that is wrong; no code of the file is run\n"
        "  suture repro repro.py bisect     as python repro.py bisect"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from suture.repro import MODES, add_run_code, add_settings

        parser.add_argument("file", metavar="FILE", type=Path, help="repro.py or minifier_launcher.py")
        modes = "; ".join(f"{name}: {text}" for name, text in MODES.items())
        parser.add_argument("mode", metavar="MODE", nargs="?", choices=list(MODES), default="explain", help=modes)
        parser.add_argument("--json", action="store_true", help="print what was found as JSON on stdout")
        add_settings(parser)
        add_run_code(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        from suture import repro
        from suture._minify.case import CaseError
        from suture._minify.repro_file import NotARepro

        if foreign := repro.foreign_settings(arguments):
            say(f"suture repro: {', '.join(foreign)}: of no meaning for the mode {arguments.mode}")
            return USAGE
        try:
            found = _read(arguments.file)
        except (NotARepro, CaseError, OSError) as error:
            say(f"suture repro: {error}")
            return USAGE
        said: list[str] = []
        code = _run(found, arguments, said.append if arguments.json else _tell)
        if arguments.json:
            row = {"schema": "suture.repro/1", "file": str(arguments.file), "mode": arguments.mode, "exit_code": code}
            emit(row | {"holds": _held(found), "said": "\n".join(said)})
        return code


def _tell(what: str) -> None:
    """What a file says may be from anybody: nothing of it reaches the terminal but text."""
    from suture._minify.plain_text import printable_lines

    say(printable_lines(what))


def _read(path: Path) -> ReproFile | ProgramFile:
    from suture._minify import program_file, repro_file

    try:
        return repro_file.load(path)
    except repro_file.NotARepro as no_graph:
        try:
            return program_file.load(path)
        except repro_file.NotARepro:
            raise no_graph from None


def _run(found: ReproFile | ProgramFile, arguments: argparse.Namespace, tell: Say) -> int:
    from suture import repro
    from suture._minify import modes
    from suture._minify.repro_file import ReproFile

    settings = repro.settings_of(arguments)
    if not isinstance(found, ReproFile):
        return repro.run_program_mode(arguments.mode, arguments.file, settings, tell)
    return repro.run_mode(arguments.mode, arguments.file, modes.backend_maker(found), settings, tell)


def _held(found: ReproFile | ProgramFile) -> dict[str, Any]:
    from suture._minify.case import signature_of_inputs
    from suture._minify.repro_file import ReproFile

    if not isinstance(found, ReproFile):
        names = ("title", "goal", "function", "origin", "arguments", "fault")
        return {"kind": "program", **{name: getattr(found, name) for name in names}}
    case, origin = found.case, found.origin
    return {
        "kind": "graph",
        "title": found.title,
        **{name: origin.get(name, otherwise) for name, otherwise in (("function", ""), ("file", ""), ("line", 0))},
        "backend": case.backend,
        "backend_is_code": bool(found.backend_code),
        "options": dict(case.options),
        "ops": case.op_count,
        "inputs": dict(zip(found.names, signature_of_inputs(case.inputs), strict=True)),
        "expected": found.expected or None,
    }

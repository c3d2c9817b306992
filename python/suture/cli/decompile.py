"""suture decompile FILE.pyc | FILE.py | MODULE | MODULE:QUALNAME: Python source for bytecode, checked by compiling it again.

The source goes to stdout, what was proved about it to stderr. Nothing is imported or run.
"""

from __future__ import annotations

import argparse
from collections import Counter

from suture.cli import FINDING, OK, USAGE
from suture.cli._streams import emit, emit_text, say


class Command:
    example = (
        "examples:\n  suture decompile module.cpython-312.pyc        of any supported version of Python\n"
        "  suture decompile json.decoder:JSONDecoder.decode     one function; the module is not imported\n"
        "  suture decompile script.py --tier 4                  its bytecode, annotated\n"
        "  suture decompile module.pyc --check                  exit code 1 unless every function is verified"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "target",
            metavar="TARGET",
            help="a .pyc or .py file, or a module; :QUALNAME selects a function or class in it",
        )
        parser.add_argument("--json", action="store_true", help="print source and verdicts as JSON on stdout")
        parser.add_argument(
            "--check", action="store_true", help="print no source; exit with 1 when a function is not verified"
        )
        parser.add_argument(
            "--tier",
            type=int,
            default=1,
            choices=(1, 2, 3, 4),
            help="first tier to try: 1 idiomatic, 2 the same, 3 dispatch loops, 4 disassembly",
        )
        parser.add_argument("--no-verify", action="store_true", help="do not compile the text again")
        parser.add_argument(
            "--python",
            metavar="PATH",
            help="the interpreter to compile the text with; needed for other versions when it is not on PATH",
        )

    def run(self, arguments: argparse.Namespace) -> int:
        from suture._decompile import decompile

        try:
            result = decompile(
                arguments.target, tier=arguments.tier, check=not arguments.no_verify, python=arguments.python
            )
        except (TypeError, ValueError, OSError) as error:
            say(f"suture decompile: {error}")
            return USAGE
        if arguments.json:
            emit(result.to_dict())
        elif not arguments.check:
            emit_text(result.source)
        if not arguments.json:
            say(summary(result.codes, result.verdict))
            for note in result.notes:
                say(f"  {note}")
        failed = arguments.check and not result.verified
        return FINDING if failed else OK


def summary(codes: list, verdict: str) -> str:
    """ "3 code objects in tier 1, 1 in tier 4; unverified: not decompiled" """
    tiers = sorted(Counter(code.tier for code in codes).items())
    parts = [f"{count} in tier {tier}" for tier, count in tiers]
    parts[0] = parts[0].replace(" in", " code object in" if tiers[0][1] == 1 else " code objects in", 1)
    return f"{', '.join(parts)}; {verdict}"

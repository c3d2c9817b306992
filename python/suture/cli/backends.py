"""suture backends: the backends that suture.compile(backend=...) knows, one line each."""

from __future__ import annotations

import argparse

from suture.cli import OK
from suture.cli._streams import emit, say


class Command:
    example = "example: suture backends --json"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the list as JSON on stdout")

    def run(self, arguments: argparse.Namespace) -> int:
        from suture.backends import describe_backends

        rows = describe_backends()
        if arguments.json:
            emit({"schema": "suture.backends/1", "backends": [row._asdict() for row in rows]})
            return OK
        name, origin = (max(len(row[column]) for row in rows) for column in (0, 1))
        for row in rows:
            say(f"{row.name:<{name}}  {row.origin:<{origin}}  {row.doc}".rstrip())
        return OK

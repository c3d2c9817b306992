"""suture logs TRACE: a recorded trace as logs. Reads only; no path named inside a trace is opened."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from suture.cli import OK, USAGE
from suture.cli._streams import emit, say, text


class Command:
    example = "example: suture logs --logs graph_breaks,recompiles traces/"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("trace", metavar="TRACE", help="a trace file, or the directory given to SUTURE_TRACE")
        parser.add_argument(
            "--logs",
            metavar="SETTINGS",
            default="graph_breaks,recompiles",
            help="as SUTURE_LOGS (default: graph_breaks,recompiles)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per record on stdout")

    def run(self, arguments: argparse.Namespace) -> int:
        from suture import _toolbox

        try:
            settings = _toolbox.parse_logs(arguments.logs)
            files = trace_files(arguments.trace)
            for file in files:
                check_trace(file)
        except (ValueError, OSError) as error:
            say(f"suture logs: {error}")
            return USAGE
        text().write(settings.help)
        for file in files:
            renderer = _toolbox.LogRenderer(settings, None)
            for line in read_lines(file):
                self._print(renderer.render(line), arguments.json)
            self._print(renderer.finish(), arguments.json)
        return OK

    def _print(self, records: list, as_json: bool) -> None:
        for record in records:
            if as_json:
                fields = ("logger", "level", "artifact", "compile_id", "file", "line", "function", "text")
                emit({name: getattr(record, name) for name in fields})
            else:
                name = record.artifact or record.logger.removeprefix("suture.")
                say(f"[{record.compile_id or '-'}] {name}: {record.text}")


def trace_files(path: str) -> list[str]:
    """The trace files of a directory, oldest first, or the file itself."""
    if not os.path.isdir(path):
        return [path] if os.stat(path) else []
    names = sorted(name for name in os.listdir(path) if name.endswith(".jsonl"))
    if not names:
        raise OSError(f"{path} holds no trace (*.jsonl)")
    return [os.path.join(path, name) for name in names]


def check_trace(path: str) -> None:
    """OSError for a file that is no trace; one that a crash left empty is."""
    with open(path, "rb") as file:
        start = file.read(16)
    if start and not start.startswith(b'{"schema":'):
        raise OSError(f"{path} is not a trace: it does not begin with a schema")


def read_lines(path: str) -> Iterator[str]:
    """Lines of a trace; the last one may be cut off by a crash, which the renderer passes over."""
    with open(path, encoding="utf-8", errors="replace") as file:
        yield from file

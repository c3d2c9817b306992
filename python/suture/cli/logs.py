"""suture logs TRACE: a recorded trace as logs, as a Chrome trace, or compared with another one.

Reads only; no path named inside a trace is opened.
"""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Iterator

from suture.cli import OK, USAGE
from suture.cli._program import file_trouble
from suture.cli._streams import emit, emit_text, say, text


class Command:
    example = "example: suture logs traces/ graph_breaks,recompiles    suture logs --diff before/ after/"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "trace", metavar="TRACE", nargs="?", help="a trace file, or the directory given to SUTURE_TRACE"
        )
        parser.add_argument(
            "settings",
            metavar="SETTINGS",
            nargs="?",
            help="as SUTURE_LOGS, filters included (default: graph_breaks,recompiles)",
        )
        parser.add_argument("--logs", metavar="SETTINGS", help="the same as an option")
        parser.add_argument("--format", choices=("prefix", "compact"), default="prefix", help="as SUTURE_LOGS_FORMAT")
        parser.add_argument(
            "--diff",
            metavar=("BEFORE", "AFTER"),
            nargs=2,
            help="what changed between two traces: breaks, skips, recompiles, graphs, kernels, phases",
        )
        parser.add_argument(
            "--chrome", metavar="FILE", help="write the trace for chrome://tracing and Perfetto; '-': to stdout"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per record on stdout")

    def run(self, arguments: argparse.Namespace) -> int:
        try:
            if arguments.diff:
                before, after = arguments.diff
                return self._diff(before, after, arguments.json)
            if not arguments.trace:
                raise ValueError("which trace? (a file, or the directory given to SUTURE_TRACE)")
            if arguments.chrome:
                return self._chrome(arguments.trace, arguments.chrome)
            return self._render(arguments)
        except (ValueError, OSError) as error:
            say(f"suture logs: {file_trouble(error) if isinstance(error, OSError) else error}")
            return USAGE

    def _render(self, arguments: argparse.Namespace) -> int:
        from suture import _toolbox

        if arguments.settings and arguments.logs:
            raise ValueError("the settings are given twice")
        settings = _toolbox.parse_logs(arguments.settings or arguments.logs or "graph_breaks,recompiles")
        files = trace_files(arguments.trace)
        text().write(settings.help)
        for file in files:
            renderer = _toolbox.LogRenderer(settings, None)
            for line in read_lines(file):
                self._print(renderer.render(line), arguments)
            self._print(renderer.finish(), arguments)
        return OK

    def _print(self, records: list, arguments: argparse.Namespace) -> None:
        for record in records:
            if arguments.json:
                fields = ("logger", "level", "artifact", "compile_id", "file", "line", "function", "text")
                emit({name: getattr(record, name) for name in fields})
            elif arguments.format == "compact":
                say(record.text)
            else:
                name = record.artifact or record.logger.removeprefix("suture.")
                mark = f"{record.level.upper()}: " if record.level in ("warning", "error") else ""
                say(f"[{record.compile_id or '-'}] {name}: {mark}{record.text}")

    def _diff(self, before: str, after: str, as_json: bool) -> int:
        from suture import _toolbox

        runs = read_run(before), read_run(after)
        if as_json:
            emit_text(_toolbox.trace_diff_json(*runs) + "\n")
        else:
            text().write(_toolbox.trace_diff_text(*runs))
        return OK

    def _chrome(self, trace: str, target: str) -> int:
        from suture import _toolbox

        chrome = _toolbox.chrome_trace(read_run(trace)) + "\n"
        if target == "-":
            emit_text(chrome)
        else:
            with open(target, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(chrome)
            say(f"written: {target} (open it in chrome://tracing or ui.perfetto.dev)")
        return OK


def trace_files(path: str) -> list[str]:
    """The trace files of a directory, oldest first, or the file itself. OSError for what is no trace."""
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name.endswith(".jsonl"))
        if not names:
            raise OSError(f"{path} holds no trace (*.jsonl)")
        files = [os.path.join(path, name) for name in names]
    else:
        files = [path] if os.stat(path) else []
    for file in files:
        check_trace(file)
    return files


def check_trace(path: str) -> None:
    """OSError for a file that is no trace; one that a crash left empty is. A pipe would be waited for, for ever."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a file")
    with open(path, "rb") as file:
        start = file.read(16)
    if start and not start.startswith(b'{"schema":'):
        raise OSError(f"{path} is not a trace: it does not begin with a schema")


def read_lines(path: str) -> Iterator[str]:
    """Lines of a trace. The last one may be cut off by a crash; other lines that are no records are counted aloud."""
    total = unreadable = 0
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            total += 1
            unreadable += line.endswith("\n") and not (line.startswith("{") and line.endswith("}\n"))
            yield line
    if unreadable:
        say(f"suture: {unreadable} of {total} lines of {path} are no records; what they told is missing here")


def read_run(path: str) -> list[list[str]]:
    return [list(read_lines(file)) for file in trace_files(path)]

"""suture where KERNEL:LINE: the user line, the ops and the graph nodes that a line of a kernel is made from.
suture where FILE.py:LINE: the lines of kernels that are made from a line of the program.

Reads recorded line tables only (docs/provenance.md): nothing runs, and no file named inside a trace is opened.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from suture.cli import FINDING, OK, USAGE
from suture.cli._streams import emit_text, say, text
from suture.cli.logs import check_trace, read_lines, trace_files

_LARGEST = 64 << 20  # bytes of a table; a cache or a dump that holds more was not written by Suture


class Command:
    example = (
        "examples:\n  suture where f_0123456789abcdef.cpp:15         a file of the cache directory (its end is enough)\n"
        "  suture where cpp_fused_add_0:15 --in traces/      a kernel; the line counts in its file\n"
        "  suture where script.py:5 --in suture_compile_debug"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "place",
            metavar="NAME:LINE",
            help="NAME is a kernel, a graph, a kernel file or a file of your program, by its path or the end of it",
        )
        parser.add_argument(
            "--in",
            dest="directory",
            metavar="PATH",
            help="a trace (file or directory), a debug dump, or a cache directory (default: the cache in use)",
        )
        parser.add_argument("--json", action="store_true", help="print the answer as JSON on stdout")

    def run(self, arguments: argparse.Namespace) -> int:
        from suture import _core, _toolbox

        where = arguments.directory or _core.cache_directory()
        try:
            if not where:
                raise ValueError("the cache is off (SUTURE_CACHE_DIR=off); --in names a trace or a debug dump")
            tables = list(line_tables(where))
            if not tables:
                raise ValueError(f"{where} holds no kernels; --in names a trace, a debug dump or a cache directory")
            answer, lines, found = _toolbox.where(tables, arguments.place)
            if arguments.json:
                emit_text(answer + "\n")
            else:
                text().write(lines)
        except (ValueError, OSError) as error:
            say(f"suture where: {error}")
            return USAGE
        return OK if found else FINDING


def line_tables(path: str) -> Iterator[tuple[str, int, str]]:
    """Every table below a directory: of a cache, of debug dumps, of traces. Or of one trace file."""
    from suture import _core, _toolbox

    suffix = _core.kernel_lines_suffix
    if not os.path.exists(path):
        raise OSError(f"there is no {path}")
    if not os.path.isdir(path):
        for file in trace_files(path):
            yield from _toolbox.line_tables_of_trace(list(read_lines(file)))
        return
    for directory, below, names in os.walk(path):
        below.sort()
        for name in sorted(names):
            file = os.path.join(directory, name)
            if name.endswith(suffix):
                yield file.removesuffix(suffix) + ".cpp", 1, _read(file)
            elif name == _toolbox.kernel_lines_file:
                yield from _toolbox.line_table_of_dump(file, _read(file))
            elif name.endswith(".jsonl") and _is_trace(file):
                yield from _toolbox.line_tables_of_trace(list(read_lines(file)))


def _is_trace(path: str) -> bool:
    """A dump has files of this name too, beside its table."""
    try:
        check_trace(path)
    except OSError:
        return False
    return True


def _read(path: str) -> str:
    if not os.path.isfile(path):
        return ""  # a pipe would be waited for, for ever
    if os.path.getsize(path) > _LARGEST:
        raise OSError(f"{path} is too large to be a table that Suture wrote")
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()

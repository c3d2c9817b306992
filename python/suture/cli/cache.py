"""suture cache info|verify|clear: the disk cache of kernels and generated sources, the saved internal errors and the
records of processes that died.

`clear` removes all of them; send a saved internal error with your report, and `suture minify --last`, before.
"""

from __future__ import annotations

import argparse
from typing import Any

from suture.cli import FINDING, OK
from suture.cli._streams import emit, say


class Command:
    example = "example: suture cache info"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["info", "verify", "clear"], nargs="?", default="info")
        parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")

    def run(self, arguments: argparse.Namespace) -> int:
        result, text, code = getattr(self, f"_{arguments.action}")()
        if arguments.json:
            emit({"schema": "suture.cache/1", "action": arguments.action, **result})
        else:
            say(text)
        return code

    def _info(self) -> tuple[dict[str, Any], str, int]:
        from suture import _core, cache

        info = cache.info()
        if not info["enabled"]:
            return info, "the cache is off (SUTURE_CACHE_DIR=off)", OK
        text = (
            f"{info['directory']}\n{info['kernels']} kernels, {info['sources']} sources, {info['bytes'] / 1024:.1f} KiB"
        )
        if info["internal_errors"]:
            text += f"\n{info['internal_errors']} saved internal error(s) ({_core.internal_error_prefix}*.txt): please report them"
        if info["problem"]:
            return info, f"{text}\nnot used: {info['problem']}", FINDING
        return info, text, OK

    def _verify(self) -> tuple[dict[str, Any], str, int]:
        from suture import cache

        damaged = cache.verify()
        lines = [f"{file}: {what}" for file, what in damaged] or ["every entry is intact"]
        return {"damaged": damaged}, "\n".join(lines), FINDING if damaged else OK

    def _clear(self) -> tuple[dict[str, Any], str, int]:
        from suture import cache

        removed = cache.clear()
        return {"removed": removed}, f"{removed} files removed", OK

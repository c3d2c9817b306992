"""Printing a check report: plain text from the toolbox; on a terminal the same lines with colour.

`rich` is used when it is installed, the output is a terminal and NO_COLOR is not set.
"""

from __future__ import annotations

import os
from typing import Any, TextIO

from suture import _toolbox
from suture._events import to_json

# First word of a line (after its indentation) -> style.
_STYLES = {
    "Station": "bold blue",
    "error": "bold red",
    "warning": "bold yellow",
    "note": "cyan",
    "why": "dim",
    "cost": "magenta",
    "advice": "green",
    "verdict": "bold",
}


def wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_report(report: dict[str, Any], stream: TextIO) -> None:
    text = _toolbox.clinic_text(to_json(report))
    if wants_colour(stream):
        try:
            return _print_styled(text, stream)
        except ImportError:
            pass
    stream.write(text)


def _print_styled(text: str, stream: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, force_terminal=True, highlight=False, soft_wrap=True)
    for line in text.splitlines():
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        style = _STYLES.get(word, "")
        console.print(Text(line, style=style))

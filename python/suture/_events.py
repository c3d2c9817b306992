"""What the tools of this package share: source lines for quotes."""

from __future__ import annotations

from typing import Any


def to_json(value: Any) -> str:
    """JSON for the toolbox. Names of files may hold bytes that are no UTF-8 (lone surrogates in Python), JSON may not."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def source_line(file: str, line: int) -> str:
    """One line of a source file, "" when it cannot be read. Sources typed into a notebook are in linecache too."""
    import linecache

    return linecache.getline(file, line)

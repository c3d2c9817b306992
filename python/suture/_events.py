"""What the tools of this package share: source lines for quotes."""

from __future__ import annotations


def source_line(file: str, line: int) -> str:
    """One line of a source file, "" when it cannot be read. Sources typed into a notebook are in linecache too."""
    import linecache

    return linecache.getline(file, line)

"""Text that others wrote, before it reaches a terminal, a file or a signature."""

from __future__ import annotations

_MOST = 1 << 14  # characters of what an exception says


def of_exception(exception: object) -> str:
    """What an exception or a warning says: its class is anybody's."""
    try:
        text = str(exception)
    except Exception as error:
        return f"<its text raised {type(error).__name__}>"
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def of_os_error(error: OSError, place: object = "") -> str:
    """What failed and where; `place` where the error itself names none."""
    where = error.filename or place
    return f"{error.strerror or error}: {where}" if where else str(error.strerror or error)


def not_run(error: OSError) -> str:
    """Why a search ends."""
    return f"a candidate cannot be run: {of_os_error(error)}; TMPDIR says where candidates are written"


def printable(line: str) -> str:
    """Whatever is no text is shown as an escape: what steers a terminal, what no encoding has."""
    return line if line.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in line)


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))

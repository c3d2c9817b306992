"""Write-ahead records (suture._minify.record) on the command line: which there are, and a launcher made from one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from suture.cli import OK
from suture.cli._streams import emit, say

if TYPE_CHECKING:
    from suture._minify.modes import Say, Settings
    from suture._minify.record import Record


class Unusable(Exception):
    """A record from which no file can be made that does it again."""


def launcher_of(pid: int | None, settings: Settings, out: Say) -> Path | None:
    """A launcher made from the newest record of this process; None: of the processes that died. None, after saying why, when there
    is no such record."""
    from suture._minify import modes, record, repro_file
    from suture._minify.case import CaseError

    records = record.open_records()
    if pid is None:
        taken = record.newest_of_the_dead(records)
    else:
        taken = next((each for each in records if each.pid == pid), None)
    if taken is None:
        out(_missing(pid))
    else:
        out(f"taken: {_told(taken)}")
    if pid is None:
        _tell_left_out(records, taken, out)
    if taken is None:
        return None
    try:
        made = record.repro_of(taken)
    except CaseError as error:
        raise Unusable(
            f"the record of process {taken.pid} does not hold what is needed to do it again: {error}"
        ) from None
    path = repro_file.write(made, settings.directory, repro_file.LAUNCHER)
    out(f"Wrote {modes.shown(path)}")
    return path


def _missing(pid: int | None) -> str:
    from suture import _core

    if not _core.record_directory():
        return "there are no records: they are in the cache, and the cache is off (SUTURE_CACHE_DIR=off)"
    if pid is None:
        return "no process died while it compiled or ran a graph"
    return f"there is no record of process {pid}; suture minify --list says of which there are"


def _told(record: Record) -> str:
    """Which process, what it was doing, since when, and the program."""
    ending = "is alive and has been" if record.alive else "died while"
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.began))
    since = f"for {record.age}, since" if record.alive else f"begun {record.age} ago,"
    return f"process {record.pid} {ending} {record.doing}, {since} {began}: {_one_line(record.command)}"


def _tell_left_out(records: list[Record], taken: Record | None, out: Say) -> None:
    """What is newer than the record that was taken."""
    from suture._minify import record

    since = taken.began if taken else 0.0
    for each in records:
        if each.began > since and each is not taken:
            out(f"left out: {_told(each)}; end it and run this again, or: suture minify --process {each.pid}")
    for path, changed, why in record.unreadable():
        if changed > since:
            out(f"left out: {path}: {why}")


def list_records(as_json: bool) -> int:
    from suture._minify import record

    records = record.open_records()
    if as_json:
        emit({"schema": "suture.records/1", "records": [_row(each) for each in records]})
        return OK
    if not records:
        say("nothing was begun and not ended")
    for each in records:
        state = "alive" if each.alive else "died"
        say(f"{each.age:>6} ago  process {each.pid} ({state}): {each.doing}: {_one_line(each.command)}")
    return OK


def _one_line(command: list[str]) -> str:
    """Programs given with -c have lines of their own."""
    return " ".join(command).encode("unicode_escape").decode("ascii")


def _row(record: Record) -> dict[str, object]:
    case = record.facts["case"]
    return {
        "pid": record.pid,
        "alive": record.alive,
        "began": record.began,
        "doing": record.facts["call"]["kind"],
        "function": case["function"],
        "file": case["file"],
        "line": case["line"],
        "command": record.command,
        "record": str(record.path),
    }

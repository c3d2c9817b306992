"""suture.cache: the disk cache of kernels and generated sources, where internal errors and write-ahead records are, too."""

from __future__ import annotations

import os
from typing import Any

from suture import _core

_KERNEL, _SOURCE, _PRELUDE, _LINES = ".kernel", ".cpp", ".h", _core.kernel_lines_suffix


def _files(directory: str) -> list[os.DirEntry[str]]:
    """Files that the cache made; anything else in the directory is left alone."""
    try:
        with os.scandir(directory) as entries:
            return [
                entry
                for entry in entries
                if entry.is_file(follow_symlinks=False)
                and (
                    entry.name.endswith((_KERNEL, _SOURCE, _PRELUDE, _LINES))
                    or (entry.name[0] == "." and entry.name.endswith(".tmp"))
                    or _is_internal_error(entry.name)
                )
            ]
    except OSError:
        return []


def _is_internal_error(name: str) -> bool:
    return name.startswith(_core.internal_error_prefix) and name.endswith(".txt")


def info() -> dict[str, Any]:
    """directory, enabled, problem, kernels, sources, internal_errors, bytes. `problem` is "" when the cache can be used."""
    directory = _core.cache_directory()
    files = _files(directory) if directory else []
    return {
        "directory": directory,
        "enabled": bool(directory),
        "problem": _problem(directory) if directory else "",
        "kernels": sum(entry.name.endswith(_KERNEL) for entry in files),
        "sources": sum(entry.name.endswith(_SOURCE) for entry in files),
        "internal_errors": sum(_is_internal_error(entry.name) for entry in files),
        "bytes": sum(entry.stat(follow_symlinks=False).st_size for entry in files),
    }


def _problem(directory: str) -> str:
    """What would keep the compiler from using the directory. A directory that does not exist is made at the first compile."""
    if not os.path.lexists(directory):
        return ""
    status = os.lstat(directory)
    if not os.path.isdir(directory) or os.path.islink(directory):
        return "not a directory of its own (symbolic links are refused)"
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    if status.st_mode & 0o022:
        return "others may write to it; make it private with chmod 700"
    return "" if os.access(directory, os.W_OK | os.X_OK) else "not writable"


def verify() -> list[tuple[str, str]]:
    """(file, what is wrong) for every damaged entry. A damaged entry is never loaded; it only costs a compile."""
    return _core.cache_verify() if os.path.isdir(_core.cache_directory()) else []


def clear() -> int:
    """Removes every kernel, generated source and saved internal error, and what processes that died were doing; returns how many
    files. Loaded kernels keep working."""
    removed = _core.remove_records() if _core.cache_directory() else 0
    for entry in _files(_core.cache_directory()):
        try:
            os.unlink(entry.path)
            removed += 1
        except OSError:
            continue
    return removed

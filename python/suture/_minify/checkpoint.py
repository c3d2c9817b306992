"""Verdicts of a search in a file, from which the same search goes on: one JSON object per line; the first says which search it is."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from suture._minify.oracle import MinifyError
from suture._minify.signature import Verdict


class Checkpoint:
    """`verdicts` by the key of what was judged; `add` writes one down at once. MinifyError when the file is of another search, is
    no checkpoint, or cannot be read or written; what could not be written whole is taken back, so that the file stays a checkpoint."""

    def __init__(self, path: Path, search: str) -> None:
        self._path = path
        self.verdicts: dict[str, Verdict] = {}
        try:
            is_new = not (path.exists() and path.stat().st_size)
            if not is_new:
                self._read(search)
            self._file = path.open("ab", buffering=0)
            if is_new:
                self._write({"suture_minify": 1, "search": search})
        except OSError as error:
            raise self._trouble(error) from error

    def _read(self, search: str) -> None:
        whole, _, torn = self._path.read_bytes().rpartition(b"\n")
        first, *rows = whole.split(b"\n")
        header = {"suture_minify": 1, "search": search}
        found = _parsed(first)
        if not isinstance(found, dict) or found.keys() != header.keys():
            raise MinifyError(f"{self._path} is no checkpoint, and stays as it is: choose another file")
        if found != header:
            raise MinifyError(f"{self._path} is the checkpoint of another search: choose another file, or remove it")
        for number, line in enumerate(rows, 2):
            row = _parsed(line)
            try:
                self.verdicts[row["case"]] = Verdict(row["verdict"])
            except (KeyError, TypeError, ValueError):
                raise MinifyError(
                    f"line {number} of the checkpoint {self._path} is no verdict: choose another file, or remove it"
                ) from None
        if torn:  # by the end of the process that wrote it
            os.truncate(self._path, len(whole) + 1)

    def _write(self, row: dict[str, Any]) -> None:
        line = json.dumps(row).encode() + b"\n"
        whole = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            with contextlib.suppress(OSError):  # a device has no length
                os.ftruncate(self._file.fileno(), whole)
            raise self._trouble(error) from error

    def add(self, key: str, verdict: Verdict) -> None:
        self._write({"case": key, "verdict": verdict})

    def _trouble(self, error: OSError) -> MinifyError:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return MinifyError(f"the checkpoint {self._path} cannot be used: {reason}; choose another file")


def _parsed(line: bytes) -> Any:
    """None: it is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None

"""Verdicts of a search in a file, from which the same search goes on: one JSON object per line; the first says which search it is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from suture._minify.oracle import MinifyError
from suture._minify.signature import Verdict


class Checkpoint:
    """`verdicts` by the key of what was judged; `add` writes one down at once. MinifyError when the file is of another search, is
    no checkpoint, or cannot be read or written."""

    def __init__(self, path: Path, search: str) -> None:
        self._path = path
        self.verdicts: dict[str, Verdict] = {}
        try:
            if path.exists() and path.stat().st_size:
                self._read(search)
                self._file = path.open("a", encoding="utf-8")
            else:
                self._file = path.open("w", encoding="utf-8")
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
        try:
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
        except OSError as error:
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

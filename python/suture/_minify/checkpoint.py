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
        lines = self._path.read_text(encoding="utf-8").splitlines()
        try:
            if json.loads(lines[0]) != {"suture_minify": 1, "search": search}:
                raise MinifyError(
                    f"{self._path} is the checkpoint of another search: choose another file, or remove it"
                )
            for line in lines[1:]:
                row = json.loads(line)
                self.verdicts[row["case"]] = Verdict(row["verdict"])
        except json.JSONDecodeError as error:
            # The last line of a process that was killed may be torn.
            if not self.verdicts and len(lines) < 2:
                raise MinifyError(f"{self._path} is no checkpoint: {error}") from error
            with self._path.open("r+", encoding="utf-8") as file:
                whole = [line + "\n" for line in lines[: 1 + len(self.verdicts)]]
                file.truncate(len("".join(whole).encode()))

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

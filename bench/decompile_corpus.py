"""Decompiles every code object of the standard library and of Lib/test, of every supported Python found on this machine.

    python -m bench.decompile_corpus [--python 3.12]... [--part lib|test] [--sample N] [--tier N] [--failures] [--check]

Each module is compiled by its own Python, decompiled, recompiled by the same Python and compared. One line per code object that is
not in the first tier with --failures. --tier 2 begins with flags, --tier 3 with dispatch loops: the measure of what they can express, with no bars.
--check: exit 1 when a bar is missed. Each file has a time limit; a crash or a hang of the decompiler is counted and the run
goes on.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

VERSIONS = [(3, 11), (3, 12), (3, 13)]
SECONDS_PER_FILE = 120.0
# Share of code objects in tier 1 and verified, by version; everything is in tiers 1 to 3, within this many seconds for the library.
TIER_1_BAR = {(3, 11): 99.9, (3, 12): 99.9, (3, 13): 99.9}
LIBRARY_SECONDS = 60.0


def library_of(version: tuple[int, int]) -> Path | None:
    from suture._recompile import RUNNING, other_python

    if version == RUNNING:
        import os

        return Path(os.__file__).resolve().parent
    python = other_python(version)
    if python is None:
        return None
    asked = [python.executable, "-I", "-S", "-c", "import os; print(os.__file__)"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)
    return Path(done.stdout.strip()).resolve().parent if done.returncode == 0 else None


def files_of(library: Path, part: str) -> list[Path]:
    found = sorted(library.rglob("*.py"))
    kept = [path for path in found if "site-packages" not in path.parts and "lib2to3" not in path.parts]
    in_test = [
        ("test" in path.relative_to(library).parts or "tests" in path.relative_to(library).parts) for path in kept
    ]
    return [path for path, test in zip(kept, in_test, strict=True) if test == (part == "test")]


# --- the worker: one process per Python, so that a crash costs one file -------------------------------------------------


def decompile_file(path: str, version: tuple[int, int], tier: int) -> dict[str, Any] | None:
    from suture import _toolbox
    from suture._recompile import compiler_for

    compiler, why = compiler_for(version)
    assert compiler is not None, why
    source = Path(path).read_bytes()
    try:
        text = decoded(source)
        data = compiler(text, 0)
    except (SyntaxError, ValueError, RecursionError, LookupError):
        return None  # files that are wrong on purpose
    start = time.perf_counter()
    _toolbox.decompile_marshal(data, version, None, "", None, "", tier)
    middle = time.perf_counter()
    record = _toolbox.decompile_marshal(data, version, compiler, "", None, "", tier)
    end = time.perf_counter()
    return {"codes": record["codes"], "decompile": middle - start, "whole": end - middle}


def decoded(source: bytes) -> str:
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return io.TextIOWrapper(io.BytesIO(source), encoding).read()


def work(pipe: Connection, version: tuple[int, int], tier: int) -> None:
    while True:
        path = pipe.recv()
        if path is None:
            return
        try:
            pipe.send(decompile_file(path, version, tier))
        except Exception as error:
            pipe.send({"error": f"{type(error).__name__}: {error}"})


class Worker:
    def __init__(self, version: tuple[int, int], tier: int) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._version = version
        self._tier = tier
        self._start()

    def _start(self) -> None:
        self._pipe, other = self._context.Pipe()
        self._process = self._context.Process(target=work, args=(other, self._version, self._tier), daemon=True)
        self._process.start()
        other.close()

    def ask(self, path: str) -> Any:
        """The worker's answer, or "crash" or "hang"."""
        try:
            self._pipe.send(path)
            if self._pipe.poll(SECONDS_PER_FILE):
                return self._pipe.recv()
            outcome = "hang"
        except (EOFError, OSError):
            outcome = "crash"
        self._process.kill()
        self._process.join()
        self._start()
        return outcome

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join(10)


# --- the table ----------------------------------------------------------------------------------------------------------


@dataclass
class Totals:
    files: int = 0
    codes: int = 0
    tiers: Counter[int] = field(default_factory=Counter)
    first: int = 1  # the tier to begin with
    verified_first: int = 0  # in that tier and verified
    unverified: int = 0
    broken: list[str] = field(default_factory=list)  # crashes, hangs, errors
    decompile: float = 0.0
    whole: float = 0.0

    def add(self, path: Path, answer: Any, failures: bool) -> None:
        if answer is None:
            return
        self.files += 1
        if isinstance(answer, str) or "error" in answer:
            self.broken.append(f"{path}: {answer if isinstance(answer, str) else answer['error']}")
            return
        self.decompile += answer["decompile"]
        self.whole += answer["whole"]
        for qualname, line, tier, verdict, note in answer["codes"]:
            self.codes += 1
            self.tiers[tier] += 1
            self.verified_first += tier == self.first and verdict.startswith("verified")
            self.unverified += not verdict.startswith("verified")
            if failures and tier > self.first:
                print(f"{path}:{line} {qualname}: tier {tier}: {verdict}; {note}")

    def share(self) -> float:
        return 100.0 * self.verified_first / self.codes if self.codes else 100.0

    def row(self, name: str) -> str:
        tiers = "".join(f"{self.tiers[tier]:>8}" for tier in (1, 2, 3, 4))
        return (
            f"{name:<12}{self.files:>6}{self.codes:>8}{tiers}{self.share():>9.3f}{self.unverified:>7}{len(self.broken):>7}"
            f"{self.decompile:>9.2f}{self.whole:>9.2f}"
        )


HEADER = (
    f"{'':<12}{'files':>6}{'codes':>8}{'tier 1':>8}{'tier 2':>8}{'tier 3':>8}{'tier 4':>8}{'T1 ok %':>9}{'unver.':>7}{'broken':>7}"
    f"{'dec. s':>9}{'all s':>9}"
)


def missed(version: tuple[int, int], part: str, totals: Totals) -> list[str]:
    name = f"{version[0]}.{version[1]} {part}"
    problems = [f"{name}: {broken}" for broken in totals.broken]
    if totals.share() < TIER_1_BAR[version]:
        problems.append(f"{name}: tier 1 verified {totals.share():.2f} %, wanted {TIER_1_BAR[version]} %")
    if totals.tiers[4]:
        problems.append(f"{name}: {totals.tiers[4]} code objects are not decompiled (tier 4)")
    if totals.unverified:
        problems.append(f"{name}: {totals.unverified} code objects are not verified")
    if part == "lib" and totals.whole > LIBRARY_SECONDS:
        problems.append(f"{name}: {totals.whole:.0f} s, wanted {LIBRARY_SECONDS:.0f} s")
    return problems


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="decompile-corpus")
    parser.add_argument("--python", action="append", metavar="X.Y", help="only this version; may be repeated")
    parser.add_argument("--part", choices=("lib", "test"), help="only the library, or only its tests")
    parser.add_argument("--sample", type=int, metavar="N", help="N files of each part, the same ones each time")
    parser.add_argument("--tier", type=int, choices=(1, 2, 3), default=1, help="the tier to begin with")
    parser.add_argument("--failures", action="store_true", help="name every code object that is not in that tier")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    options = parser.parse_args(arguments)
    wanted = [tuple(map(int, text.split("."))) for text in options.python or []] or VERSIONS
    problems: list[str] = []
    rows = []
    for version in VERSIONS:
        if version not in wanted:
            continue
        library = library_of(version)
        if library is None:
            print(f"there is no Python {version[0]}.{version[1]} here: left out", file=sys.stderr)
            continue
        worker = Worker(version, options.tier)
        for part in [options.part] if options.part else ["lib", "test"]:
            totals = Totals(first=options.tier)
            files = files_of(library, part)
            if options.sample and options.sample < len(files):
                files = sorted(random.Random(1).sample(files, options.sample))
            for path in files:
                totals.add(path, worker.ask(str(path)), options.failures)
            rows.append(totals.row(f"{version[0]}.{version[1]} {part}"))
            problems += missed(version, part, totals) if options.tier == 1 else totals.broken
        worker.close()
    print("\n".join([HEADER, *rows]))
    print("\n".join(problems) if problems else "all bars are met")
    return 1 if problems and options.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How much of what compiled functions run prints as Python: random programs of control flow, decompiled.

    python -m bench.compiled_text [--programs N] [--seed N] [--show REASON] [--dump]

Every program (tests/support/control_flow.py) is compiled and called; then each transformed code, resume and iteration function
that it left is printed. The table has the share of each tier, and why the others are in no higher one, most frequent first.
--show prints programs and texts of the first codes whose reason holds these words. --dump writes debug dumps instead, of
which every .py is compiled and imported.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

import suture
from suture import _compiled_code
from tests.support.control_flow import PROLOGUE, compile_method, observe, programs

_MOST_SHOWN = 3


@dataclass
class Reasons:
    codes: Counter[str] = field(default_factory=Counter)
    programs: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, why: str, source: str) -> None:
        self.codes[why] += 1
        self.programs[why].add(source)

    def lines(self) -> Iterator[str]:
        for why, number in self.codes.most_common():
            yield f"{number:6} in {len(self.programs[why])} programs: {why}"


@dataclass
class Tally:
    tiers: Counter[int] = field(default_factory=Counter)
    no_statements: Reasons = field(default_factory=Reasons)
    no_dispatch_loop: Reasons = field(default_factory=Reasons)
    shown: int = 0


def random_programs(count: int, start: int) -> list[str]:
    """The same ones for the same arguments. In batches, because hypothesis mutates what it has drawn."""
    found: dict[str, None] = {}
    batch = settings(
        max_examples=25, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    while len(found) < count:

        @seed(start)
        @batch
        @given(programs())
        def collect(source: str) -> None:
            found[source] = None

        collect()
        start += 1
    return list(found)[:count]


def compiled_after_calls(source: str) -> suture.JitCallable:
    compiled = []

    def compile(function):
        compiled.append(compile_method(function))
        return compiled[0]

    observe(source, compile)
    return getattr(compiled[0], "__func__", compiled[0])


def texts_of(compiled: suture.JitCallable) -> Iterator[_compiled_code.CodeText]:
    """Without those of graphs and guards, which are no code objects."""
    printed = _compiled_code.compiled_text(compiled)
    yield from printed.codes if printed is not None else ()


def reasons_of(text: _compiled_code.CodeText) -> tuple[str, str]:
    """Why it is no statements, and if so no dispatch loop, without what differs from program to program."""
    why = next((why for _, _, tier, _, why in text.codes if tier == text.tier and why), text.verdict)
    statements, _, loop = re.sub(r"\d+", "#", why).partition("; as a dispatch loop: ")
    kind = re.sub(r"\W|_at_.*|_code_.*", "", text.name).strip("_")
    return f"{kind}, {statements}", loop


def count(tally: Tally, source: str, words: str | None) -> None:
    for text in texts_of(compiled_after_calls(source)):
        tally.tiers[text.tier] += 1
        if text.tier == 1:
            continue
        why, why_no_loop = reasons_of(text)
        tally.no_statements.add(why, source)
        if why_no_loop:
            tally.no_dispatch_loop.add(why_no_loop, source)
        if words is not None and words in why + why_no_loop and tally.shown < _MOST_SHOWN:
            tally.shown += 1
            print("=" * 100, source[len(PROLOGUE) :], text.source, sep="\n")


def print_tally(tally: Tally) -> None:
    total = tally.tiers.total()
    print(
        f"{total} code objects: " + ", ".join(f"tier {t} {n} ({n / total:.1%})" for t, n in sorted(tally.tiers.items()))
    )
    print("not in tier 1:", *tally.no_statements.lines(), sep="\n")
    print("in tier 4:", *tally.no_dispatch_loop.lines(), sep="\n")


IMPORT_ALL = """
import pathlib, py_compile, runpy, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    try:
        py_compile.compile(str(path), doraise=True)
        runpy.run_path(str(path), run_name="imported")
    except BaseException as error:
        print(f"{path}: {type(error).__name__}: {error}")
"""


def broken_files(sources: list[str], directory: Path) -> list[str]:
    """Python files of the programs' debug dumps that do not compile or cannot be imported."""
    with suture.prepare_debug(directory), contextlib.redirect_stdout(io.StringIO()):
        for source in sources:
            compiled_after_calls(source)
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, str(directory)], capture_output=True, text=True, cwd=directory, check=False
    )
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", metavar="REASON")
    parser.add_argument("--dump", action="store_true")
    asked = parser.parse_args()
    sources = random_programs(asked.programs, asked.seed)
    print(f"{len(sources)} programs")
    if asked.dump:
        with tempfile.TemporaryDirectory() as directory:
            broken = broken_files(sources, Path(directory))
            count_of_files = len(list(Path(directory).rglob("*.py")))
        print(f"{count_of_files} Python files in the dumps, {len(broken)} complaints", *broken, sep="\n")
        return bool(broken)
    tally = Tally()
    for source in sources:
        count(tally, source, asked.show)
    print_tally(tally)
    return 0


if __name__ == "__main__":
    sys.exit(main())

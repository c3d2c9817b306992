"""The decompiler against depyf: the same functions, the time of each, in one run.

Functions are the code objects of functions, nested ones included, in a sample of the standard library's modules. Both sides get
live code objects and give text; neither checks it here. depyf comes from PyPI into an environment of its own. A function's
ratio is depyf's time for it over Suture's (processor time; depyf's first run, because it remembers its results, Suture's best of
five); functions that depyf does not finish, by an
error or within the limit, are counted and have no ratio.
"""

from __future__ import annotations

import json
import marshal
import os
import subprocess
import sys
import time
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean, median

from bench import bars

LIMIT = 2.0  # seconds per function
MODULES = [
    "abc", "argparse", "ast", "base64", "bisect", "calendar", "cmd", "codecs", "collections/__init__", "configparser", "contextlib",
    "copy", "csv", "dataclasses", "difflib", "enum", "fnmatch", "fractions", "functools", "gettext", "heapq", "inspect", "json/decoder",
    "json/encoder", "locale", "numbers", "pathlib", "pprint", "queue", "random", "shlex", "statistics", "string", "textwrap", "typing",
]  # fmt: skip
ENVIRONMENT = Path("build/depyf")


def functions() -> Iterator[types.CodeType]:
    library = Path(os.__file__).parent
    for module in MODULES:
        path = library / f"{module}.py"
        if not path.exists():
            continue
        todo = [compile(path.read_bytes(), str(path), "exec", 0, True)]
        for code in todo:
            todo += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
            if code.co_flags & 0x1 and not code.co_name.startswith("<"):
                yield code


def best_of(times: int, call: object) -> float:
    figures = []
    for _ in range(times):
        start = time.process_time()
        call()  # type: ignore[operator]
        figures.append(time.process_time() - start)
    return min(figures)


# --- the other side, run inside its own environment -----------------------------------------------------------------------

CHILD = """
import json, signal, sys, time
sys.path.insert(0, sys.argv[1])
from bench.decompile import LIMIT, best_of, functions
from depyf.decompiler import Decompiler

class Slow(BaseException): pass
def ring(*_): raise Slow
signal.signal(signal.SIGALRM, ring)
for code in functions():
    outcome, seconds = "text", 0.0
    # depyf catches every exception in places, so the alarm rings again.
    signal.setitimer(signal.ITIMER_REAL, 3 * LIMIT, 0.2)
    try:
        seconds = best_of(1, lambda: Decompiler(code).decompile())
    except Slow:
        outcome = "time limit"
    except RecursionError:
        outcome = "recursion"
    except Exception:
        outcome = "error"
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps([outcome, seconds]), file=sys.stderr, flush=True)
"""


def depyf_figures() -> list[tuple[str, float]]:
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True, timeout=120)
    installed = subprocess.run(
        [str(python), "-c", "import depyf.decompiler"], capture_output=True, timeout=60, check=False
    )
    if installed.returncode != 0:
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "depyf",
            "astor",
            "dill",
        ]
        subprocess.run(command, check=True, timeout=300)
    child = [str(python), "-c", CHILD, str(Path.cwd())]
    # Its text and its remarks go to stdout; nobody reads them.
    done = subprocess.run(
        child, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=1800, check=False
    )
    rows = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-500:])
    return [(outcome, seconds) for outcome, seconds in rows]


def suture_figures() -> list[float]:
    from suture import _toolbox

    version = sys.version_info[:2]

    def one(code: types.CodeType) -> float:
        def run() -> None:
            _toolbox.decompile_marshal(marshal.dumps(code), version, None, "", None, "", 1)

        return best_of(5, run)

    return [one(code) for code in functions()]


def against_depyf() -> None:
    theirs, ours = depyf_figures(), suture_figures()
    if len(theirs) != len(ours):
        raise RuntimeError(f"depyf saw {len(theirs)} functions, Suture {len(ours)}")
    outcomes = Counter(outcome for outcome, _ in theirs)
    both = [(seconds, own) for (outcome, seconds), own in zip(theirs, ours, strict=True) if outcome == "text"]
    ratios = sorted(seconds / own for seconds, own in both)
    print(f"{len(ours)} functions of {len(MODULES)} modules, Python {sys.version_info[0]}.{sys.version_info[1]}")
    print("depyf: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    print(f"Suture: {1e6 * median(ours):.0f} us median, {1e3 * sum(ours):.0f} ms for all")
    print(
        f"where depyf gives a text: {1e6 * median(seconds for seconds, _ in both):.0f} us median, {sum(s for s, _ in both):.2f} s in all"
    )
    mean = sum(seconds for seconds, _ in both) / sum(own for _, own in both)
    print(
        f"ratio of the average times per function: {mean:.0f}; of each function: median {median(ratios):.0f}, geometric mean "
        f"{geometric_mean(ratios):.0f}, lowest tenth below {ratios[len(ratios) // 10]:.0f}, lowest {ratios[0]:.1f}"
    )
    bars.at_least("decompile, average time per function: times faster than depyf", mean, 50, "x")

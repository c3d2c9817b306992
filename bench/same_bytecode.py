"""How much difference in spelling same_bytecode sees through: every module of the standard library, compiled, against the same
module printed by ast.unparse and compiled again, for each version of Python that is here. Package "test" is left out.

A child of each version compiles; the comparison is ours. Time is that of reading and comparing alone.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from collections import Counter

from bench import bars
from suture import _recompile, _toolbox

# Pairs of marshalled code on stdout: two lengths, two texts.
CHILD = """
import ast, marshal, os, struct, sys, warnings
warnings.simplefilter("ignore")
sys.setrecursionlimit(5000)
library = os.path.dirname(os.__file__)
for directory, names, files in os.walk(library):
    names[:] = sorted(name for name in names if name not in ("site-packages", "test", "tests", "__pycache__"))
    for file in sorted(files):
        if not file.endswith(".py"):
            continue
        with open(os.path.join(directory, file), "rb") as source:
            text = source.read()
        try:
            tree = ast.parse(text)
            pair = [marshal.dumps(compile(each, file, "exec", 0, True)) for each in (text, ast.unparse(tree))]
        except (SyntaxError, ValueError, RecursionError):
            continue
        sys.stdout.buffer.write(struct.pack("<II", *map(len, pair)) + b"".join(pair))
"""


def interpreter(version: tuple[int, int]) -> str | None:
    if version == _recompile.RUNNING:
        return sys.executable
    other = _recompile.other_python(version)
    return other.executable if other else None


def compare_library(version: tuple[int, int], executable: str) -> tuple[Counter[str], list[str], float]:
    verdicts: Counter[str] = Counter()
    differences, seconds = [], 0.0
    with subprocess.Popen([executable, "-I", "-S", "-c", CHILD], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        while header := child.stdout.read(8):
            first, second = (child.stdout.read(size) for size in struct.unpack("<II", header))
            start = time.process_time()
            codes = _toolbox.compare_code_marshal(first, second, version)
            seconds += time.process_time() - start
            verdicts.update(verdict for _, verdict, _ in codes)
            differences += [f"{name}: {why}" for name, verdict, why in codes if verdict == "different"]
    return verdicts, differences, seconds


def ceiling() -> None:
    for text in _toolbox.decodable_versions():
        major, minor = map(int, text.split("."))
        executable = interpreter((major, minor))
        if executable is None:
            print(f"Python {text}: no interpreter here")
            continue
        verdicts, differences, seconds = compare_library((major, minor), executable)
        total = sum(verdicts.values())
        same = verdicts["same bytecode"]
        print(f"Python {text}: {same} of {total} code objects the same, {100 * same / total:.3f} %, in {seconds:.1f} s")
        for difference in differences[:5]:
            print(f"  {difference}")
        bars.at_least(
            f"code objects that are the same when printed anew, Python {text}", 100 * same / total, 99.9, " %"
        )

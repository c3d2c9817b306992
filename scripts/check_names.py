"""Naming rules of .clang-tidy. Headers are checked in one translation unit that includes them all, which takes seconds; `--all`
also checks every source file of a configured build, which takes minutes.

    check_names.py [--all BUILD_DIRECTORY]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
TIDY = "clang-tidy-19"
# Text for generated kernels, and what needs LLVM's headers.
ELSEWHERE = ("toolchain/prelude/", "toolchain/plugin/")


def headers() -> list[str]:
    names = [path.relative_to(SRC).as_posix() for path in sorted(SRC.rglob("*.h"))]
    return [name for name in names if not name.startswith(ELSEWHERE)]


def flags() -> list[str]:
    import nanobind
    import numpy

    system = [sysconfig.get_path("include"), numpy.get_include(), nanobind.include_dir()]
    return ["-std=c++20", f"-I{SRC}", *(word for path in system for word in ("-isystem", path))]


def complaints(command: list[str]) -> list[str]:
    """Lines of one run that name a place; a run that fails without one is a complaint too."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if re.search(r": (?:warning|error): ", line)]
    return lines or ([f"{' '.join(command[:3])}: {done.stderr.strip()[-500:]}"] if done.returncode else [])


def check_headers() -> list[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as unit:
        unit.write("#include <Python.h>\n" + "".join(f'#include "{name}"\n' for name in headers()))
        unit.flush()
        return complaints([TIDY, "-quiet", f"--config-file={ROOT / '.clang-tidy'}", unit.name, "--", *flags()])


def check_sources(build: str) -> list[str]:
    files = [path for path in sorted(SRC.rglob("*.cpp")) if not path.relative_to(SRC).as_posix().startswith(ELSEWHERE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda path: complaints([TIDY, "-quiet", "-p", build, str(path)]), files)
        return [line for run in runs for line in run]


def main(arguments: list[str]) -> int:
    found = check_sources(arguments[1]) if arguments[:1] == ["--all"] else check_headers()
    problems = list(dict.fromkeys(line.replace(f"{ROOT}/", "") for line in found))
    for problem in problems:
        print(problem)
    print(f"names: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

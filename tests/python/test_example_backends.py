"""examples/backends: the package installs, its backends are found by their entry points, and its own tests pass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("scikit_build_core")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "backends"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """run(*arguments): a Python in which the package is installed, from a copy of the directory."""
    directory = tmp_path_factory.mktemp("example_backends")
    shutil.copytree(EXAMPLE, directory / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", directory / "site", directory / "source"], check=True, timeout=200)
    path = os.pathsep.join(map(str, (directory / "site", ROOT / "python")))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}

    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=directory,
            env={**inherited, "PYTHONPATH": path, "SUTURE_CACHE_DIR": str(directory / "cache"), **environment},
            timeout=280,
        )

    run.directory = directory
    return run


def test_the_names_are_found_without_importing_the_package(installed):
    data = json.loads(installed("-m", "suture", "backends", "--json").stdout)
    rows = {row["name"]: row for row in data["backends"]}
    assert rows["c_elementwise"]["origin"] == "suture_example_backends.c_elementwise:c_elementwise"
    assert rows["printing"]["doc"] == "from package suture-example-backends"


PROGRAM = """\
import numpy as np
import suture


@suture.compile
def f(x):
    return np.sqrt(x) * 2 + 1


print(f(np.array([0.0, 4.0])))
print(f.status()["backend"], f.status()["skipped"])
"""


def test_a_program_runs_on_them(installed):
    (installed.directory / "program.py").write_text(PROGRAM)
    printing = installed("program.py", SUTURE_BACKEND="printing")
    assert printing.stdout == "[1. 5.]\nprinting False\n", printing.stderr
    assert "# f: 1 inputs, 1 outputs" in printing.stderr and "np.sqrt(x)" in printing.stderr
    compiled = installed("program.py", SUTURE_BACKEND="c_elementwise")
    assert compiled.stdout == "[1. 5.]\nc_elementwise False\n", compiled.stderr


def test_its_own_tests_pass(installed):
    chosen = "not contract or np.add or np.sqrt or np.sin or symbolic or conditions or layout"
    options = ["-q", "-p", "no:cacheprovider", "-k", chosen, "--deselect", "test_printing_keeps_the_contract"]
    done = installed(
        "-m", "pytest", "-p", "suture.pytest_plugin", str(installed.directory / "source" / "tests"), *options
    )
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 40

"""Fixtures for the tests of the tools."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import suture

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def restore_config() -> Iterator[None]:
    """Options, logs and traces are put back after the test."""
    before = suture.config.to_dict()
    yield
    for name, value in before.items():
        if getattr(suture.config, name) != value:
            setattr(suture.config, name, value)


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """run_python(*arguments, **environment): a child interpreter with this checkout on its path, in an empty directory."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**inherited, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", **environment},
            timeout=240,
        )

    return run


SEED = """\
import sys
import numpy as np
import suture

@suture.compile
def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n

for size in (32, 48, 64):
    print(float(f(np.ones((size, size)), 3.0)[0, 0]))
"""


@pytest.fixture
def seed_program(tmp_path: Path) -> Path:
    """The seed function in a file of its own, called with three sizes."""
    path = tmp_path / "prog.py"
    path.write_text(SEED)
    return path


@pytest.fixture
def write_program(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "written.py"
        path.write_text(text)
        return path

    return write

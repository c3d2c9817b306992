"""For every Python test: on a Python without opcode tables no frame can compile, so the tests that count compiled frames are skipped.
A shell starts commands in the background with SIGINT ignored, and children inherit that: Ctrl-C is tested all the same. Kernels, and
records of processes that tests let die, go to a cache of the tests' own, in this process and in those that it starts."""

from __future__ import annotations

import os
import platform
import signal
from pathlib import Path

import pytest

from suture import _core

CACHES = Path(__file__).resolve().parents[1] / "build" / "test_cache"


def pytest_configure() -> None:
    os.environ["XDG_CACHE_HOME"] = str(CACHES)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _core.supported_python():
        return
    versions = ", ".join(_core.supported_versions())
    skip = pytest.mark.skip(
        reason=f"Python {platform.python_version()} has no opcode tables; frames compile on {versions}"
    )
    for item in items:
        if "any_python" not in item.keywords:
            item.add_marker(skip)

"""For every Python test: on a Python without opcode tables no frame can compile, so the tests that count compiled frames are skipped.
A shell starts commands in the background with SIGINT ignored, and children inherit that: Ctrl-C is tested all the same."""

from __future__ import annotations

import platform
import signal

import pytest

from suture import _core


def pytest_configure() -> None:
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

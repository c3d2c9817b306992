"""Timing two callables against each other in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def seconds(call: Callable[[], object], rounds: int = 15, at_least: float = 0.01) -> list[float]:
    """Seconds per call, one figure per round; the number of calls in a round is chosen so that it lasts `at_least`."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        elapsed = time.perf_counter() - start
        if elapsed >= at_least or calls >= 1 << 20:
            break
        calls *= 2
    figures = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        figures.append((time.perf_counter() - start) / calls)
    return figures


def text(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.2f} {unit}"
    return f"{value * 1e9:.0f} ns"


def compare(label: str, plain: Callable[[], object], compiled: Callable[[], object], rounds: int = 15) -> float:
    """Prints and returns how many times faster `compiled` is. Rounds alternate, so that both see the same machine."""
    for call in (plain, compiled, plain, compiled):
        call()
    slow, fast = [], []
    for _ in range(3):
        slow += seconds(plain, rounds // 3)
        fast += seconds(compiled, rounds // 3)
    ratio = median(slow) / median(fast)
    print(
        f"{label:34s} NumPy {text(median(slow)):>10s}   Suture {text(median(fast)):>10s}   {ratio:6.2f}x  (best {min(slow) / min(fast):.2f}x)"
    )
    return ratio

"""Timing two callables against each other in one process.

Times are processor time of this process, so other programs on the machine cost little; they still share caches and clock
speed, which is why rounds of the two sides alternate and medians are compared. Page faults are counted next to the times: a large
part of what NumPy spends on arrays of megabytes is the kernel clearing fresh pages, and a reader should see when that is so.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass
class Cost:
    seconds: float  # median of the rounds, per call
    best: float
    faults: float  # minor page faults per call


class Rounds:
    """One side of a comparison. A round is as many calls as last `at_least` seconds."""

    def __init__(self, call: Callable[[], object], at_least: float = 0.02) -> None:
        self.call, self.figures, self.faults = call, [], 0
        for _ in range(3):  # compile, reach a steady allocator
            call()
        self.calls = 1
        while self.one() * self.calls < at_least and self.calls < 1 << 20:
            self.calls *= 2

    def one(self) -> float:
        call, calls = self.call, range(self.calls)
        start = time.process_time()
        for _ in calls:
            call()
        return (time.process_time() - start) / self.calls

    def run(self) -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        self.figures.append(self.one())
        self.faults += resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    def cost(self) -> Cost:
        return Cost(median(self.figures), min(self.figures), self.faults / (len(self.figures) * self.calls))


def text(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def compare(
    label: str, plain: Callable[[], object], compiled: Callable[[], object], rounds: int = 15, against: str = "NumPy"
) -> tuple[float, Cost]:
    """Prints how many times faster `compiled` is; returns the ratio of the medians and the cost of `compiled`."""
    sides = Rounds(plain), Rounds(compiled)
    for _ in range(rounds):
        for side in sides:
            side.run()
    slow, fast = (side.cost() for side in sides)
    ratio = slow.seconds / fast.seconds
    print(
        f"{label:34s} {against} {text(slow.seconds):>9s} ({slow.faults:.0f} page faults)   "
        f"Suture {text(fast.seconds):>9s} ({fast.faults:.0f})   {ratio:6.2f}x  (best {slow.best / fast.best:.2f}x)"
    )
    return ratio, fast

"""What a search tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What happened last.

    what     the question in words; verdict: the answer
    before, after  size of what is reduced before and after the last step, in `unit` (nodes or lines)
    calls    judged candidates so far; bound: how many more this stage needs at most
    seconds  since the search began
    """

    stage: str
    what: str
    verdict: str
    before: int
    after: int
    calls: int
    bound: int
    seconds: float
    unit: str = "nodes"

    def __str__(self) -> str:
        if self.after < self.before:
            return f"SUCCESS: Went from {self.before} to {self.after} {self.unit}"
        return (
            f"{self.stage}: {self.what}: {self.verdict} ({self.calls} calls, at most {self.bound} more in this stage)"
        )

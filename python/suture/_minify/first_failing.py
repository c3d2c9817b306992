"""The one binary search of the minifier's tools."""

from __future__ import annotations

from collections.abc import Callable


def first_failing(count: int, fails: Callable[[int], bool]) -> int:
    """The smallest n with fails(n), when fails(0) is false, fails(count) is true, and there is one change between them; with more
    changes, one of them. Neither end is asked."""
    low, high = 0, count  # low passes, high fails
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return high

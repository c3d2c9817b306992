"""The figures the project promises. A benchmark reports each one here; `python -m bench` ends with the list, met or not."""

from __future__ import annotations

_lines: list[tuple[str, bool]] = []


def at_least(what: str, value: float, bar: float, unit: str = "") -> None:
    _lines.append((f"{what}: {value:.2f}{unit}, bar at least {bar:g}{unit}", value >= bar))


def at_most(what: str, value: float, bar: float, unit: str = "") -> None:
    _lines.append((f"{what}: {value:.2f}{unit}, bar at most {bar:g}{unit}", value <= bar))


def holds(what: str, value: bool) -> None:
    _lines.append((what, value))


def report() -> bool:
    """Prints the bars and tells whether all were met."""
    for line, met in _lines:
        print(f"{'met ' if met else 'MISSED'}  {line}")
    return all(met for _, met in _lines)

"""A backend that prints what it is given and leaves the work to NumPy: the smallest useful one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import suture


def printing(graph: suture.Graph, example_inputs: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """Prints every graph as NumPy source on stderr and runs it under NumPy."""
    print(f"# {graph.name}: {len(graph.placeholders)} inputs, {len(graph.outputs)} outputs", file=sys.stderr)
    print(graph.code, file=sys.stderr)
    return graph.forward()

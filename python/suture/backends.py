"""Backends: what runs a captured graph. How to write one: docs/backends.md.

from suture import backends

def mine(graph, example_inputs):
    print(graph.code)
    return backends.native(graph, example_inputs)     # or eager, lowered_eager

suture.compile(f, backend=mine)
"""

from __future__ import annotations

from suture._backends import (
    ENTRY_POINT_GROUP,
    Backend,
    BackendInfo,
    describe_backends,
    eager,
    list_backends,
    lowered_eager,
    native,
    register_backend,
)
from suture._explain_backend import Explain

__all__ = [
    "ENTRY_POINT_GROUP",
    "Backend",
    "BackendInfo",
    "Explain",
    "describe_backends",
    "eager",
    "list_backends",
    "lowered_eager",
    "native",
    "register_backend",
]

"""PyTorch's minifier on one graph shape, in an environment with torch:

    python minify_peer.py LENGTH POSITION[,POSITION...] all|any looks|compiles

The graph is a chain of unary ops. all: it fails while the ops at the two positions are both in it (relu and floor); any: while one of
those at the positions is (relu). looks: the test of a candidate looks for them, and compiles nothing. compiles: it is the one that
PyTorch's launcher uses (`backend_fails`: the candidate runs, is compiled by a backend, the message is compared); the backend looks for
the ops and raises. Nothing is written to disk. Prints one JSON line: ops that are left, how often the test was asked, seconds.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main(length: int, positions: list[int], together: bool, compiles: bool) -> None:
    import torch
    from functorch.compile import minifier
    from torch import fx
    from torch._dynamo.repro.after_dynamo import backend_fails

    unary = [torch.sin, torch.cos, torch.tanh, torch.abs]
    kinds = [torch.relu, torch.floor] if together else [torch.relu] * len(positions)
    marked = dict(zip(positions, kinds, strict=True))
    graph = fx.Graph()
    last = graph.placeholder("x")
    for i in range(length):
        last = graph.call_function(marked.get(i, unary[i % len(unary)]), (last,))
    graph.output((last,))
    module = fx.GraphModule(torch.nn.Module(), graph)
    asked = 0

    def ops(failing: Any) -> list[Any]:
        return [node.target for node in failing.graph.nodes if node.op == "call_function"]

    def backend(failing: Any, inputs: Any) -> Any:
        if set(kinds) <= set(ops(failing)):
            raise RuntimeError("no code for relu")
        return failing.forward

    def fails(failing: Any, inputs: Any) -> bool:
        nonlocal asked
        asked += 1
        if compiles:
            return bool(backend_fails(failing, inputs, backend, "no code for relu"))
        return set(kinds) <= set(ops(failing))

    start = time.perf_counter()
    smallest, _ = minifier(module, [torch.linspace(-1, 2, 24).reshape(6, 4)], fails, dump_state=lambda *_: None)
    seconds = time.perf_counter() - start
    print(json.dumps({"ops": len(ops(smallest)), "calls": asked, "seconds": seconds}))


if __name__ == "__main__":
    positions = [int(word) for word in sys.argv[2].split(",")]
    main(int(sys.argv[1]), positions, sys.argv[3] == "all", sys.argv[4] == "compiles")

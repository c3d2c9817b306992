"""python -m bench [--check] [NAME...] runs the named benchmarks, or all; --list names them. --check: exit 1 when a bar is missed."""

from __future__ import annotations

import os
import sys

from bench import accuracy, bars, decompile, dispatch, minify, programs, record_cost, same_bytecode, startup, trace_cost


def main(arguments: list[str]) -> int:
    benchmarks = {
        "seed": programs.seed,
        "small": programs.small,
        "writes": programs.writes,
        "dispatch": dispatch.split,
        "terrain": programs.terrain,
        "kmeans": programs.kmeans,
        "compile": startup.compile_phases,
        "import": startup.import_time,
        "trace_cost": trace_cost.trace_cost,
        "decompile": decompile.against_depyf,
        "same_bytecode": same_bytecode.ceiling,
        "accuracy": accuracy.accuracy_of_the_judge,
        "record_cost": record_cost.record_cost,
        "minify": minify.minify,
    }
    if "--list" in arguments:
        print("\n".join(benchmarks))
        return 0
    check = "--check" in arguments
    names = [name for name in arguments if name != "--check"]
    unknown = [name for name in names if name not in benchmarks]
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(benchmarks)}", file=sys.stderr)
        return 2
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(
        f"load {load:.1f} on {cores} cores{'; the machine is busy, expect worse figures' if load > cores / 2 else ''}\n"
    )
    for name in names or benchmarks:
        print(f"== {name}")
        benchmarks[name]()
        print(flush=True)
    met = bars.report()
    return 1 if check and not met else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

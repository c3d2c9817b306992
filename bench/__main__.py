"""python -m bench [NAME...] runs the named benchmarks, or all; --list names them."""

from __future__ import annotations

import sys

from bench import programs, startup


def main(arguments: list[str]) -> int:
    benchmarks = {
        "seed": programs.seed,
        "small": programs.small,
        "terrain": programs.terrain,
        "kmeans": programs.kmeans,
        "compile": startup.compile_phases,
        "import": startup.import_time,
    }
    if "--list" in arguments:
        print("\n".join(benchmarks))
        return 0
    unknown = [name for name in arguments if name not in benchmarks]
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(benchmarks)}", file=sys.stderr)
        return 2
    for name in arguments or benchmarks:
        print(f"== {name}")
        benchmarks[name]()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The minifier: from a failing graph to the smallest one that fails in the same way.

case.py       what fails: a graph, its inputs, a backend, options; as values, as JSON, as files
signature.py  what "the same failure" means
run_case.py   runs a case in this process and says how it ended
oracle.py     runs cases in child processes with limits and compares endings with the signature
minimise.py   the search: candidates of the engine (src/toolbox/reduce), judged by the oracle
"""

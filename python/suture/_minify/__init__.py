"""The minifier: from a failing graph to the smallest one that fails in the same way.

case.py          what fails: a graph, its inputs, a backend, options; as values, as JSON, as files
signature.py     what "the same failure" means
run_case.py      runs a case in this process and says how it ended
oracle.py        runs cases in child processes with limits and compares endings with the signature
minimise.py      the search: candidates of the engine (src/toolbox/reduce), judged by the oracle
checkpoint.py    verdicts in a file, from which a search goes on
defaults.py      what a search may take; progress.py: what it tells whoever watches
lowered.py       failures behind the passes, as the lowered graph
suspects.py      what the failure says of its place: what the search asks about first

launcher.py      what a failure leaves behind: minifier_launcher.py, BackendCompilerFailed
checked_runs.py  compiled graphs whose failing runs leave files
repro_file.py    minifier_launcher.py and repro.py: written, and read without running them
data.py          inputs as literals that give back every bit
backend_code.py  how such a file gets a backend that the user's program made
backend_needs.py what that needs beside the file: modules to send along, packages
certify.py       runs a file in a clean process
record.py        write-ahead records: what a process that died was doing
"""

"""The minifier: from a call that failed to the smallest file that still fails the same way.

    launcher      what a failed compile leaves behind
    repro_file    minifier_launcher.py and repro.py: written, and read without running them
    data          inputs as literals that give back every bit
    record        what a process that died was doing
"""

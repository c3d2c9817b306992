"""What a search may take, unless it is told otherwise. `--help`, functions and files say these numbers."""

from __future__ import annotations

BUDGET = 2000  # judged candidates that lead the search
RUN_SECONDS = 30.0  # of one stage of one run; longer is a hang
PROGRAM_SECONDS = 60.0  # of a run of a program that is bisected

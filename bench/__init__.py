"""Benchmarks: every figure the project quotes comes from `./dev bench`. Speed is printed as ratios within one run."""

"""Benchmarks: each states its question, measures both sides in one run, and gives a ratio.

`make bench` runs them all and prints one table; `python -m benchmarks NAME …` runs some; `--write` puts the figures
into docs/benchmarks.md.
"""

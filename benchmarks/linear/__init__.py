"""Finite Newton machines against linear peers: ``python -m benchmarks.linear``.

settings.py has the cases, contestants.py who takes part in each, objective.py, speed.py, nystroem.py and ordinal.py
what a process measures, page.py and figure.py what is shown. Turns, repeats and ratios are those of benchmarks.against.
"""

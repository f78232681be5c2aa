"""Exact incremental learning against fitting again: ``python -m benchmarks.incremental``.

settings.py has the cases, jobs.py what a process measures, __main__.py takes turns, keeps results and writes the page.
"""

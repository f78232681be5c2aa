"""Figures of Laskov, Gehl, Krüger, Müller, "Incremental support vector learning", JMLR 7, 2006.

python -m benchmarks.papers.laskov2006 --help, or `make paper-laskov2006`.

settings.py has all numbers and what was read into the paper, data.py the rows; runs.py makes one run; figures.py,
claims.py and report.py show what the runs left in the store.
"""

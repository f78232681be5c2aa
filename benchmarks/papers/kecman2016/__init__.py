"""Tables and figures of Kecman, Melki, "Fast online algorithms for support vector machines", SoutheastCon 2016.

python -m benchmarks.papers.kecman2016 --help, or `make paper-kecman2016`.

settings.py has all numbers and what was read into the paper, data.py the rows, published.py the paper's tables; runs.py
makes one run, lists.py has the paper's lists in NumPy; summary.py reads the store; tables.py, claims.py,
differences.py, figures.py and report.py show it.
"""

"""Tables and figures of Ertekin, Bottou, Giles, "Nonconvex online support vector machines", TPAMI 33(2), 2011.

python -m benchmarks.papers.ertekin2011 --help, or `make paper-ertekin2011`.

settings.py has all numbers, published.py the tables of the paper, data.py the splits; runs.py makes one run,
summary.py averages; tables.py, figures.py, claims.py and report.py show it.
"""

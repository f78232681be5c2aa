"""Tables 1 and 3 to 6 and Figure 1 of Keerthi, DeCoste, "A modified finite Newton method", JMLR 6, 2005.

python -m benchmarks.papers.keerthi2005 --help, or `make paper-keerthi2005`.

settings.py has our numbers, published.py those of the paper, data.py the rows; solvers.py is the only file that calls a
solver, measure.py judges what it found, runs.py makes one run; tables.py, figures.py, claims.py and report.py show what
the runs left in the store.
"""

"""Tables 1 and 3 to 6 and Figure 1 of Keerthi, DeCoste, "A modified finite Newton method", JMLR 6, 2005.

solvers.py is the only file that calls a solver.
"""

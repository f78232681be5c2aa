"""Tables and figures of Kecman, Melki, "Fast online algorithms for support vector machines", SoutheastCon 2016.

lists.py has the paper's algorithms in NumPy, as printed.
"""

"""What is otherwise than in the paper."""

from __future__ import annotations

from benchmarks.writing import table

from . import data
from .settings import SETS
from .summary import Summary

#: m, n and the share of entries that are not zero, as published. Adult has 123 columns in every copy that we know.
PUBLISHED = {
    "adult": ("1605, 4781, 16,100, 32,561", "120", "0.21"),
    "w8a": ("2477, 7366, 24,692, 49,749", "300", "0.04"),
    "news20": ("19,996", "1,355,191", "0.000336"),
}

DIFFERENCES = """\
- **Subsets.** Adult-1 is a1a as published, Adult-9 and Web-8 are all training rows of adult and w8a. The rows of
  Adult-4, Adult-7, Web-1, Web-4 and Web-7 are not in the data we have (w3a is, but the paper does not use it): random
  subsets of the same sizes with the classes in proportion, the smaller within the larger. They are not prefixes because
  w8a is sorted by class.
- **News20.** Single words of the *bydate* messages with their headers, where the paper has up to three words in a
  row, without headers: fewer rows and a fifteenth of the columns. Words that occur once are left out, the others are
  there or not, rows have unit length, and the classes are the paper's. It is another problem: times, CV errors and
  support vectors of the paper do not carry over.
- **Financial and Yahoo** are not public.
- **LIBLINEAR** takes the constant 1 as a feature (`-B 1`), so that it has the same objective; its C for the squared
  hinge is half of the paper's. Its rows are converted beforehand, and its times are those of its C function; ours are
  those of `fit`, which checks its input and computes the dual solution too.
- **The paper's method** is the package's own driver with its heuristics, its stopping rule (13) and CG without a
  preconditioner; the line search is by Newton's method on the slope instead of sorting. *Ours, CG* is the estimator: it
  scales the weights, solves Newton's systems only as well as the step needs, and stops by the duality gap. *Ours,
  defaults* chooses between CG and Cholesky: the latter on Adult and Web.
- **Passes.** Ours: parts of the rows by their share; that a Hessian is made counts as one, though it costs more.
  LIBLINEAR: at most so many, from what it prints: an iteration of coordinate descent is one though rows are shrunk; CG
  steps are one each though only active rows take part, and an iteration of Newton is three more.
- **Folds** are stratified and random. The paper does not say how its folds were made."""


def sizes(summary: Summary) -> str:
    rows = []
    for source, (m, n, s) in PUBLISHED.items():
        name = next((k for k in reversed(SETS) if SETS[k].source == source and k in summary.names("fit")), None)
        if name:
            X, y = data.load(name)
            share = X.nnz / (X.shape[0] * X.shape[1])
            ours = [f"{X.shape[0]:,}", f"{X.shape[1]:,}", f"{share:.3g}", f"{100 * (y > 0).mean():.1f} %"]
            rows.append([SETS[name].title, *ours, m, n, s])
    return table(["", "m", "n", "sparsity", "positive", "published m", "n", "sparsity"], rows) if rows else ""

"""Published violations and gaps: hostile problems, and the values recomputed from the rows in double.

``kkt_violation_``, ``duality_gap_`` and the last rows of ``history_`` differ from the values of
:mod:`tests.oracle.published` by at most 10 %, or 1e-3 of `tol`, and the rounding errors of one evaluation.
"""

from tests.gaps import FAMILIES, disagreements

from .faults import require

TRIALS, LIMIT = 500 * len(FAMILIES), 60.0


def cases():
    return list(FAMILIES)


def trial(case, rng, number):
    try:
        found = disagreements(case, rng)
    except ValueError as error:
        require(str(error).strip(), "ValueError without a message")
        return "refused"
    require(not found.wrong, "; ".join(found.wrong))
    return {"works": 1, "values": found.compared, "values below rounding": found.blunt}

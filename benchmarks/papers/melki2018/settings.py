"""Every number of the reproduction."""

from benchmarks.papers.frame import published

PUBLISHED = published(__file__)

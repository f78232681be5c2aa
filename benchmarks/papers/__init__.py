"""Reproductions of published results, one folder for each paper."""

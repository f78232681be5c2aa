"""Reproductions of published results, one folder for each paper; frame.py says what a folder has."""

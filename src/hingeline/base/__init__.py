"""Shared by all estimators: rows, kernel values, labels, the fit template, parameter checks, progress."""

"""Kernel classifiers that learn from all rows at once."""

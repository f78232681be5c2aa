"""Kernel classifiers that learn from a stream."""

"""Benchmarks of hingeline; see README.md in this folder."""

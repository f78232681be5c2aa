"""Exact incremental and decremental estimators."""

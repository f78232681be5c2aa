"""Promises that are broken. This module imports nothing, so that a worker without estimators starts quickly."""


class Fault(AssertionError):
    """A promise is broken."""


def require(condition, message):
    """Raise Fault if a promise is broken."""
    if not condition:
        raise Fault(message)

"""Streams: alarms when the loss rises, and adapters to the package river.

:class:`ADWIN` watches a loss. ``hingeline.streams.river`` has the adapters; it is the only module that imports river.
"""

from .adwin import ADWIN

__all__ = ["ADWIN"]

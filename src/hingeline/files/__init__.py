"""Model files: save and load without pickle."""

from .models import load, save

__all__ = ["load", "save"]

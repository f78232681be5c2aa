"""Command line of the comparison."""

import sys

from benchmarks.harness import Program, main

from . import settings
from .contestants import contestants

if __name__ == "__main__":
    sys.exit(main(Program("against", "hingeline against its peers", settings, contestants)))

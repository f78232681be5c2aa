"""Command line of the papers' programs."""

import sys

from benchmarks.papers.frame import main

if __name__ == "__main__":
    sys.exit(main())

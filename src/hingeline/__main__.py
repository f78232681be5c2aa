"""``python -m hingeline`` is the command ``hingeline``."""

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m hingeline.labelling``: the command ``hingeline label``."""

from __future__ import annotations

import argparse
import sys

from . import command


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="hingeline label", description=command.__doc__)
    command.add_arguments(parser)
    try:
        return command.run(parser.parse_args(arguments))
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        print(f"hingeline label: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

"""The entry point of `repair` and of `python -m repair`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit the process with its status."""
    from repair.cli import run_app

    sys.exit(run_app())


if __name__ == "__main__":
    main()

"""The command `polars-ec`: the entry point, which needs the extra `cli` to go any further."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line, or say in one line what to install."""
    try:
        _open_standard_streams()
        # Only now: the commands need typer, and their files need the standard streams to be open.
        try:
            import typer  # noqa: F401
        except ModuleNotFoundError:
            sys.exit("polars-ec: the command line needs typer: pip install 'polars_ec[cli]'")
        from polars_ec.cli.commands import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)  # 128 + SIGINT, as shells have it


def _open_standard_streams() -> None:
    """A file that is opened while one of them is closed would get its number, and what is printed by it."""
    while (handle := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(handle)


if __name__ == "__main__":
    main()

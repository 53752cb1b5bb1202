"""The command `polars-ec`: the entry point, which needs the extra `cli` to go any further."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say in one line what to install."""
    try:
        import typer  # noqa: F401
    except ModuleNotFoundError:
        sys.exit("polars-ec: the command line needs typer: pip install 'polars_ec[cli]'")
    from polars_ec._commands import app

    app(prog_name="polars-ec")


if __name__ == "__main__":
    main()

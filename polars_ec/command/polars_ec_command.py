"""The entry point of the command `polars-ec`, outside the package, so that importing that can be interrupted quietly."""

from __future__ import annotations

import os
import signal
import sys

_at_work = False


def main() -> None:
    """Run the command line, or say in one line what to install."""
    # Once and now: Polars hooks itself before the handler that it finds, so that an interrupt ends its queries too.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    try:
        # First of all: the files of the commands need the standard streams to be open.
        _open_standard_streams()
        import polars_ec  # noqa: F401

        global _at_work
        _at_work = True
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


def _interrupted(number: int, _frame: object) -> None:
    if not _at_work:  # there is nothing to tidy up yet: end as most programs do
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    # A query of Polars raises one of its own; a second one would come while the first is told.
    if not isinstance(sys.exc_info()[1], KeyboardInterrupt):
        raise KeyboardInterrupt


if __name__ == "__main__":
    main()

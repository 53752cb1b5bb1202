"""The entry point of the command `polars-ec`, outside the package, so that importing that can be interrupted quietly."""

from __future__ import annotations

import os
import signal
import sys

_at_work = False


def main() -> None:
    """Run the command line."""
    # Once and now: Polars hooks itself before the handler that it finds, so that an interrupt ends its queries too.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from polars_ec.cli.main import main as run

    global _at_work
    _at_work = True
    run()


def _interrupted(number: int, _frame: object) -> None:
    if not _at_work:  # there is nothing to tidy up yet: end as most programs do
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    # A query of Polars raises one of its own; a second one would come while the first is told.
    if not isinstance(sys.exc_info()[1], KeyboardInterrupt):
        raise KeyboardInterrupt


if __name__ == "__main__":
    main()

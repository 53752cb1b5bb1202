"""`python -m polars_ec` is the command `polars-ec`."""

from __future__ import annotations

from polars_ec.cli.main import main

if __name__ == "__main__":
    main()

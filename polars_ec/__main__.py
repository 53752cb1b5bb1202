"""`python -m polars_ec` is the command `polars-ec`."""

from __future__ import annotations

from polars_ec_command import main

if __name__ == "__main__":
    main()

"""The papers that polars_ec rests on, computed again: every equation, table, figure and procedure, beside what is printed."""

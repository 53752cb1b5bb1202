"""Benchmarks are run by `make bench`; pytest collects nothing here."""

collect_ignore_glob = ["*.py"]

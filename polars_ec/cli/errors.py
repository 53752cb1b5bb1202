"""Errors of the command line, by the exit code that they end in."""

from __future__ import annotations


class UsageError(Exception):
    """The command asks for what is not there: exit code 2."""


class DataError(Exception):
    """The data are not what they say they are: exit code 1."""

"""Metrics in the forms that other libraries take."""

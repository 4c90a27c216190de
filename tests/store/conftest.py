"""Modules that tests import, which are no tests: one registers a result of its own."""

collect_ignore = ["diagram.py"]

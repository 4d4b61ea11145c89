"""The command line; nothing heavy is imported before a command runs."""

from sparsebody.cli.group import Group, main

__all__ = ["Group", "main"]

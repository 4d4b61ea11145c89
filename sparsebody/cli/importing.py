"""Modules of the user that a command runs first."""

from __future__ import annotations

import importlib
import runpy
import sys

import click


def import_module(name: str) -> None:
    """Import a module by name, also from the working directory, or run a .py file.

    Raises
    ------
    click.BadParameter
        If there is no such module or file.
    """
    try:
        if name.endswith(".py"):
            runpy.run_path(name)
            return
        if "" not in sys.path:
            sys.path.insert(0, "")
        importlib.import_module(name)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        message = f"{error}; give a module or a .py file"
        raise click.BadParameter(message, param_hint="--import") from error

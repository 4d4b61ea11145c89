"""Completion of commands in bash, zsh and fish.

The names of a table and the parameters of a mechanism are read from the source of their modules,
for importing these would take longer than a user waits for a completion.
"""

import ast
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
from click import shell_completion

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "sparsebody"
VARIABLE = "_SPARSEBODY_COMPLETE"
_PACKAGE = Path(__file__).parents[1]
_GALLERY = "model.gallery"

Items = list[shell_completion.CompletionItem[str]]
Completer = Callable[[click.Context, click.Parameter, str], Items]


# ---- tables and signatures, unimported --------------------------------------------------------


@cache
def _parsed(module: str) -> ast.Module:
    """Return the syntax tree of a module of this package."""
    path = _PACKAGE.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(source.read_text(encoding="utf-8"))


@cache
def _table(module: str, name: str) -> dict[str, ast.expr]:
    """Return the entries of a dictionary that a module states, those with words as keys."""
    for statement in _parsed(module).body:
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
            if isinstance(statement, ast.AnnAssign)
            else []
        )
        if [target.id for target in targets if isinstance(target, ast.Name)] == [name]:
            value = statement.value  # type: ignore[attr-defined]
            pairs = zip(value.keys, value.values, strict=True)
            return {str(key.value): one for key, one in pairs if isinstance(key, ast.Constant)}
    raise LookupError(f"{module} states no table {name}")


def table_names(module: str, name: str) -> list[str]:
    """Return the names in a table, such as those of ORDERINGS in `ordering`."""
    return list(_table(module, name))


def parameters(mechanism: str) -> dict[str, list[str]]:
    """Return the parameters of a mechanism of the gallery, and suggested values of each.

    Suggested are the words of a Literal, true and false, or the default; {} if there is no such
    mechanism.
    """
    # "name": GalleryEntry(module.function, ...)
    entry = _table(_GALLERY, "GALLERY").get(mechanism)
    if not isinstance(entry, ast.Call) or not isinstance(entry.args[0], ast.Attribute):
        return {}
    function, module = entry.args[0].attr, entry.args[0].value
    assert isinstance(module, ast.Name)
    for statement in _parsed(f"{_GALLERY}.{module.id}").body:
        if isinstance(statement, ast.FunctionDef) and statement.name == function:
            pairs = zip(statement.args.args, statement.args.defaults, strict=True)
            return {one.arg: list(_values(one.annotation, default)) for one, default in pairs}
    return {}


def _values(annotation: ast.expr | None, default: ast.expr) -> Iterator[str]:
    if isinstance(default, ast.Constant) and isinstance(default.value, bool):
        yield from ("true", "false")
    elif isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        words = annotation.slice
        for word in words.elts if isinstance(words, ast.Tuple) else [words]:
            yield str(ast.literal_eval(word))
    elif isinstance(default, ast.Constant):
        yield str(default.value)


# ---- what options complete to -----------------------------------------------------------------


def _items(words: list[str], incomplete: str) -> Items:
    return [shell_completion.CompletionItem(word) for word in words if word.startswith(incomplete)]


def names(*tables: tuple[str, str], more: tuple[str, ...] = ()) -> Completer:
    """Return a completer to the names of tables, each a module and a name, and to `more`."""

    def complete(_: click.Context, __: click.Parameter, word: str) -> Items:
        return _items([*more, *(name for table in tables for name in table_names(*table))], word)

    return complete


def sources(suffixes: tuple[str, ...]) -> Completer:
    """Return a completer to mechanisms of the gallery, folders, and files with a suffix."""

    def complete(_: click.Context, __: click.Parameter, word: str) -> Items:
        gallery = [] if os.sep in word else table_names(_GALLERY, "GALLERY")
        return _items([*gallery, *_paths(word, suffixes)], word)

    return complete


def _paths(word: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield folders, with a separator behind, and files beside what was typed."""
    folder, _, _ = word.rpartition(os.sep)
    typed = word[: len(folder) + 1] if os.sep in word else ""
    try:
        entries = sorted(os.scandir(Path(typed or ".").expanduser()), key=lambda one: one.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            yield f"{typed}{entry.name}{os.sep}"
        elif entry.name.lower().endswith(suffixes):
            yield f"{typed}{entry.name}"


def assignments(_: click.Context, __: click.Parameter, incomplete: str) -> Items:
    """Complete -p to "key=" of the mechanism that is named in the line, then to a value.

    Click has parsed no arguments of a line that ends with -p, so the mechanism is looked for among
    all words of the line.
    """
    known: dict[str, list[str]] = {}
    for word in shell_completion.split_arg_string(os.environ.get("COMP_WORDS", "")):
        known = known or parameters(word)
    key, is_assigned, _value = incomplete.partition("=")
    words = [f"{key}={value}" for value in known.get(key, [])]
    return _items(words if is_assigned else [f"{name}=" for name in known], incomplete)


# ---- shells -----------------------------------------------------------------------------------


class WholeWords(shell_completion.BashComplete):
    """Completion in bash of words with "=" in them, at which bash itself breaks words."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' line type value
    COMPREPLY=()
    for line in $(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \\
            %(complete_var)s=bash_complete "$1"); do
        IFS=',' read -r type value <<< "$line"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value == *[=/] ]] && compopt -o nospace ;;
        esac
    done
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def source(self) -> str:
        """Return the script, whatever bash is installed here."""
        return self.source_template % self.source_vars()

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor and the one at it."""
        line = os.environ["COMP_WORDS"]
        words = shell_completion.split_arg_string(line)
        incomplete = words.pop() if len(words) > 1 and not line[-1:].isspace() else ""
        breaks = os.environ.get("COMP_BREAKS", "=")
        ends = (incomplete.rfind(mark) + 1 for mark in "=:" if mark in breaks)
        self._before_break = incomplete[: max(ends, default=0)]
        return words[1:], incomplete

    def format_completion(self, item: shell_completion.CompletionItem[Any]) -> str:
        """Return a completion without the part up to bash's last word break, which bash keeps."""
        return f"{item.type},{item.value.removeprefix(self._before_break)}"


shell_completion.add_completion_class(WholeWords)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands, mechanisms, parameters and files in SHELL.

    \b
      bash: echo 'source <(sparsebody completion bash)' >> ~/.bashrc
      zsh:  echo 'source <(sparsebody completion zsh)' >> ~/.zshrc
      fish: sparsebody completion fish > ~/.config/fish/completions/sparsebody.fish
    """  # noqa: D301 (a backspace keeps click from filling the lines)
    of_shell = shell_completion.get_completion_class(shell)
    assert of_shell is not None
    main = click.get_current_context().find_root().command
    click.echo(of_shell(main, {}, PROGRAM, VARIABLE).source(), nl=False)

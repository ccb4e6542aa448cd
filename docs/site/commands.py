"""The page of all commands and their options, from the help that they print."""

import re
from typing import Any

from typer.main import get_command

from ssgp.cli.app import app

__all__ = ["command_page"]

INTRODUCTION = """# Commands and options

What `ssgp COMMAND --help` prints, for every command. [The command line](../command_line.md) shows them at work.
"""


def command_page() -> str:
    """The page, in Markdown."""
    group: Any = get_command(app)
    context = group.make_context("ssgp", [], resilient_parsing=True)
    commands = [group.get_command(context, name) for name in group.list_commands(context)]
    return "\n".join([INTRODUCTION, *(_section(command, context) for command in commands if not command.hidden)])


def _section(command: Any, parent: Any) -> str:  # noqa: ANN401  commands are click's or typer's own, by version
    context = type(parent)(command, info_name=command.name, parent=parent)
    arguments = [_record(option, context) for option in command.params if option.param_type_name == "argument"]
    options = [_record(option, context) for option in command.get_params(context) if option.param_type_name == "option"]
    usage = command.get_usage(context).replace("Usage: ", "")
    listed = "\n".join(f"`{name}`\n: {meaning}\n" for name, meaning in (*arguments, *options))
    return f"## ssgp {command.name}\n\n{_typed(command.help)}\n\n```text\n{usage}\n```\n\n{listed}"


def _record(option: Any, context: Any) -> tuple[str, str]:  # noqa: ANN401
    name, meaning = option.get_help_record(context) or (option.make_metavar(context), option.help or "")
    return name, _typed(" ".join(meaning.split()).replace("[", r"\["))


def _typed(text: str) -> str:
    """A text whose options are in the font of what is typed."""
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]+)", r"`\1`", text)

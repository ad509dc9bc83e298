"""`funke completion`: scripts that complete commands, options and job ids in bash, zsh and fish.

The words come from the parsers when the script is printed; ids of jobs from `funke list` when Tab is pressed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from funke.ops.cli.terminal import asking_for_options, finish, new_parser, say

__all__ = ["actions_of", "completion_script", "show_completion"]

_HELP = """\
bash:  funke completion bash > ~/.local/share/bash-completion/completions/funke
zsh:   funke completion zsh > "${fpath[1]}/_funke"
fish:  funke completion fish > ~/.config/fish/completions/funke.fish
"""
# Commands whose argument is the id of a job.
_OF_JOBS = ("status", "logs", "cancel", "savepoint", "stop", "checkpoint", "recover")
# An id in a line of `funke list`, which is plain behind a pipe.
_IDS = "funke list 2>/dev/null | grep -o '[0-9a-f]\\{32\\}'"


def show_completion(arguments: list[str]) -> None:
    """Print the script for a shell."""
    parser = new_parser("completion", "prints a script that completes commands, options and job ids")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _HELP
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])
    options = parser.parse_args(arguments)
    script = completion_script(options.shell)
    say(options, script)
    finish(options, shell=options.shell, script=script)


def completion_script(shell: str) -> str:
    """The script for a shell."""
    by_command = {name: options_of(name) for name in _commands()}
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](by_command)


def _commands() -> list[str]:
    from funke.ops.cli.main import COMMANDS

    return list(COMMANDS)


def options_of(command: str) -> list[str]:
    """The options of a command, as its own parser has them."""
    return sorted(each for action in actions_of(command) for each in action.option_strings)


def actions_of(command: str) -> list[argparse.Action]:
    """The options and arguments that a command takes."""
    from funke.ops.cli.arguments import program_options
    from funke.ops.cli.main import command_of

    if command in ("run", "run-application", "info"):
        return program_options(command)
    with asking_for_options() as actions:
        command_of(command)([])
    return actions


def _cases(options: dict[str, list[str]], text: Callable[[str, Sequence[str]], str]) -> str:
    return "\n".join(text(name, names) for name, names in sorted(options.items()))


def _bash(options: dict[str, list[str]]) -> str:
    cases = _cases(options, lambda name, names: f'    {name}) options="{" ".join(names)}" ;;')
    return f"""\
# Completion of funke for bash.
_funke() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(sorted(options))} --help --version" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case ${{COMP_WORDS[1]}} in
    {"|".join(_OF_JOBS)}) [ "${{word:0:1}}" = - ] || options=$({_IDS}) ;;
    *) [ "${{word:0:1}}" = - ] || {{ COMPREPLY=($(compgen -f -- "$word")); return; }} ;;
  esac
  COMPREPLY=($(compgen -W "$options" -- "$word"))
}}
complete -o filenames -F _funke funke"""


def _zsh(options: dict[str, list[str]]) -> str:
    cases = _cases(options, lambda name, names: f"    {name}) options=({' '.join(names)}) ;;")
    return f"""\
#compdef funke
# Completion of funke for zsh.
_funke() {{
  local -a options
  if (( CURRENT == 2 )); then
    compadd -- {" ".join(sorted(options))} --help --version
    return
  fi
  case $words[2] in
{cases}
  esac
  if [[ $PREFIX == -* ]]; then
    compadd -- $options
    return
  fi
  case $words[2] in
    {"|".join(_OF_JOBS)}) compadd -- ${{(f)"$({_IDS})"}} ;;
    *) _files ;;
  esac
}}
if [ "$funcstack[1]" = _funke ]; then _funke "$@"; else compdef _funke funke; fi"""


def _fish(options: dict[str, list[str]]) -> str:
    lines = ["# Completion of funke for fish."]
    lines.append(f"complete -c funke -n __fish_use_subcommand -f -a '{' '.join(sorted(options))} --help --version'")
    lines.append(f'complete -c funke -n "__fish_seen_subcommand_from {" ".join(_OF_JOBS)}" -f -a "({_IDS})"')
    for name, names in sorted(options.items()):
        for option in names:
            # fish has names of one letter, long ones, and those of one dash that are long.
            kind = "l" if option.startswith("--") else "s" if len(option) == 2 else "o"
            lines.append(f'complete -c funke -n "__fish_seen_subcommand_from {name}" -{kind} {option.lstrip("-")}')
    return "\n".join(lines)

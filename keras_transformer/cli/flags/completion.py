"""Shell completion of commands, flags and their values, for bash, zsh and fish.

The shell calls `keras-transformer --complete` with the words before the cursor at each Tab.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module

_BASH = """\
_keras_transformer() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" --complete "${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _keras_transformer keras-transformer"""
_ZSH = """\
autoload -U +X compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit"""
_FISH = """\
function __keras_transformer
    set -l words (commandline -opc)
    $words[1] --complete $words[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c keras-transformer -a '(__keras_transformer)'"""
# What each shell evaluates; the first is meant where none is named.
SCRIPTS = {"bash": _BASH, "zsh": f"{_ZSH}\n{_BASH}", "fish": _FISH}


def complete(words: Sequence[str], modules: Mapping[str, str]) -> list[str]:
    """Returns what the last word may become; nothing where that is free, as paths are.

    Args:
        words: Those after the program's name, up to the cursor; the last may be empty. `=` is a
            word of its own, as in bash, or a part of one, as in other shells.
        modules: Each command's module.
    """
    *before, last = words or [""]
    flag, has_value, value = last.partition("=")
    if flag.startswith("--") and has_value:
        return [f"{flag}={one}" for one in complete([*before, flag, value], modules)]
    if last == "=":
        last = ""
    if not before:
        return _that_begin(last, [*modules, "--debug", "--help", "--version"])
    command, *typed = [word for word in before if word != "="]
    if command not in modules:
        return []
    parser = import_module(modules[command]).build_parser()
    if command == "plot" and not typed:
        return _that_begin(last, parser.kinds)
    if command == "plot":
        kind, *typed = typed
        if kind not in parser.kinds:
            return []
        parser = parser.of(kind)
    flag = next((word for word in reversed(typed) if word.startswith("--")), "").partition("=")[0]
    return _that_begin(last, parser.flags if last.startswith("-") else parser.values(flag))


def _that_begin(start: str, candidates: Iterable[str]) -> list[str]:
    return sorted(one for one in candidates if one.startswith(start))

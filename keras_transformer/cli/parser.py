"""The flags of a subcommand, made from the fields of dataclasses: a command line and a YAML file
become a checked instance of each.
"""

import dataclasses
import os
import re
from argparse import SUPPRESS, Action
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from jsonargparse import ArgumentError, ArgumentParser, DefaultHelpFormatter, Namespace

from keras_transformer.cli.flags.config_files import config_files, refuse_double_keys
from keras_transformer.cli.flags.declarations import (
    choices,
    declaration,
    default_of,
    description,
    field_texts,
    own_first,
    without_none,
)
from keras_transformer.suggestions import did_you_mean

Options = TypeVar("Options")
# Commands whose texts are the lines of standard input.
_READ_LINES = frozenset(
    "translate fill-mask classify rerank tag embed generate perplexity neighbours tokenize".split()
)


# Characters of a text that an error repeats.
_LONG_TEXT = 40


class UsageError(ValueError):
    """The command line or its YAML file cannot be understood; the text says which flag and why."""


class CommandParser:
    """Flags for one subcommand, built from the fields of dataclasses.

    A field `beam_size: int = 1` becomes `--beam-size INT` and the YAML key `beam_size`; its help is
    the field's entry in the dataclass docstring. Flags win over `--config`, which wins over
    defaults.

    Args:
        command: The subcommand's name, for the usage line.
        summary: What the subcommand does, shown on top of the help.
        prints_config: Whether `--print-config` prints the options that are parsed, and ends.

    Attributes:
        command: The subcommand's name, for the usage line.
    """

    def __init__(self, command: str, summary: str, *, prints_config: bool = True) -> None:
        self.command = command
        self._types: dict[str, Any] = {}
        self._flags = ["--config", "--help", *(["--print-config"] if prints_config else [])]
        self._positionals: set[str] = set()
        self._usage: list[str] = []
        self._added: dict[str, Action] = {}
        self._brief: Mapping[str, str] = {}
        self._parser = ArgumentParser(
            prog=f"keras-transformer {command}",
            usage="%(prog)s [options]",
            description=summary,
            formatter_class=_HelpFormatter,
            exit_on_error=False,
            allow_abbrev=False,
            print_config="--print-config" if prints_config else None,
        )
        self._parser.add_argument(
            "--config", action="config", metavar="YAML", help="Read options from this YAML file."
        )

    @classmethod
    def of_model(cls, command: str, summary: str, **groups: type) -> "CommandParser":
        """Returns the parser of a command that opens a model, with a dataclass for each title."""
        parser = cls(command, summary)
        parser.add_positional("model", "Exported directory, or training run.")
        for title, options_class in groups.items():
            parser.add_fields(options_class, title=title)
        return parser

    def add_positional(
        self, name: str, help_text: str, *, many: bool = False, required: bool = True
    ) -> None:
        """Adds a path without a flag, such as the model directory.

        Args:
            name: Its key.
            help_text: Its line in the help.
            many: Whether it may be repeated; its value is then a list.
            required: Whether it must be given; its value is otherwise None.
        """
        self._types[name] = list[Path] if many else Path
        self._positionals.add(name)
        shown = f"{name} [{name} ...]" if many else name if required else f"[{name}]"
        self._usage = [*self._usage, shown]
        self._parser.usage = f"%(prog)s {' '.join(self._usage)} [options]"
        count = "+" if many else None if required else "?"
        self._parser.add_argument(name, type=Path, metavar=name, help=help_text, nargs=count)

    def add_fields(
        self,
        options_class: type,
        *,
        title: str = "options",
        prefix: str = "",
        skip: Sequence[str] = (),
        defaults: Mapping[str, Any] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Adds a flag for every field of a dataclass.

        Args:
            options_class: The dataclass; field types may be str, int, float, bool, Path, Literal,
                tuples or lists of those, and each of them or None. The flag of a field whose
                metadata has "repeat" may be given several times; without a value it means that of
                "alone".
            title: Heading of the group in the help.
            prefix: Put before each flag, such as "model." for `--model.dropout`.
            skip: Fields that get no flag.
            defaults: Values that replace the fields' own defaults.
            notes: Texts put after the fields' help, in brackets.
        """
        hints = get_type_hints(options_class)
        texts = field_texts(options_class)
        for name, note in (notes or {}).items():
            texts[name] = f"{texts[name]} ({note})"
        group = self._parser.add_argument_group(title)
        for field in own_first(options_class):
            if field.name in skip:
                continue
            default = (defaults or {}).get(field.name, default_of(field))
            annotation = hints[field.name]
            if default is None and type(None) not in get_args(annotation):
                annotation = annotation | None
            self._types[prefix + field.name] = annotation
            flag = flag_of(prefix + field.name)
            declared = declaration(annotation, default)
            if field.metadata.get("repeat"):
                declared["action"] = "extend"
            if "alone" in field.metadata:
                declared |= {"nargs": "?", "const": field.metadata["alone"]}
            added = group.add_argument(flag, help=texts.get(field.name, ""), **declared)
            self._added[flag] = added
            self._flags += added.option_strings

    def shorten_help(self, texts: Mapping[str, str]) -> None:
        """Makes `--help` show the flags that most calls need, and `--help-all` all of them.

        Args:
            texts: The line of each such flag.
        """
        self._brief = texts
        self._flags.append("--help-all")
        self._parser.add_argument("--help-all", action="help", help="Show all options, and exit.")

    def parse(self, arguments: Sequence[str]) -> Namespace:
        """Reads flags and YAML.

        Raises:
            UsageError: A flag or key is unknown, missing or holds a value of the wrong type.
        """
        for file in config_files(arguments):
            try:
                refuse_double_keys(Path(file))
            except ValueError as error:
                raise UsageError(str(error)) from error
        if self._brief and not {"-h", "--help"}.isdisjoint(arguments):
            self._leave_brief_help()
        try:
            return self._parser.parse_args(list(arguments))
        except ArgumentError as error:
            raise UsageError(self._explain(str(error), arguments)) from error

    def written(self, options: Namespace) -> str:
        """Returns parsed options as the YAML that `--config` reads."""
        return self._parser.dump(options)

    def given(
        self, arguments: Sequence[str], options_class: type, *, skip: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Returns the fields of a dataclass that flags or YAML give, without defaults.

        Args:
            arguments: What `parse` has read without an error.
            options_class: The dataclass.
            skip: Fields that have no flag.
        """
        found = self._parser.parse_args(list(arguments), defaults=False)
        names = (field.name for field in dataclasses.fields(options_class))
        return {name: found[name] for name in names if name not in skip and name in found}

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags, in the order in which they were added."""
        return tuple(self._flags)

    def values(self, flag: str) -> tuple[str, ...]:
        """Returns the values that the type of a flag names; none if it names none."""
        keys = {flag_of(key): key for key in self._types if key not in self._positionals}
        return choices(self._types[keys[flag]]) if flag in keys else ()

    def _leave_brief_help(self) -> None:
        """Makes the library's help the short one, with a line a flag where that is wide enough."""
        self._parser.description = (
            f"{self._parser.description} These are the options that most calls need; --help-all "
            "shows all of them."
        )
        self._parser.formatter_class = _BriefHelpFormatter
        for flag, action in self._added.items():
            action.help = self._brief.get(flag, SUPPRESS)

    @property
    def _whole_help(self) -> str:
        return "--help-all" if self._brief else "--help"

    def _shown(self, key: str) -> str:
        """Returns a key as the user types it: a flag, or the bare name of a positional."""
        return key if key in self._positionals else flag_of(key)

    def _explain(self, message: str, arguments: Sequence[str]) -> str:
        """Turns the library's message about a key into one line about the flag or the file."""
        file = next(reversed(list(config_files(arguments))), None)
        about_key = re.match(r'Parser key "([\w.]+)"', message)
        key = about_key.group(1) if about_key else None
        if key in self._types:
            given = re.search(r"(?:Given|Got) value: (.*)", message)
            value = given.group(1) if given else ""
            hint = did_you_mean(value, choices(self._types[key])) or "."
            got = f", got {value!r}{hint}" if given else "."
            shown = self._shown(key)
            typed = any(argument.partition("=")[0] == shown for argument in arguments)
            if file and not typed and key not in self._positionals:
                shown = f"{key} in {file}"
            return f"{shown} expects {description(self._types[key])}{got}"
        missing = re.match(r"the following arguments are required: (.+)", message)
        if missing:
            keys = [key.strip() for key in missing.group(1).split(",")]
            return f"missing: {', '.join(map(self._shown, keys))}; see --help."
        unknown = re.match(r"Option '([\w.-]+)' is not accepted", message)
        if unknown:
            name = unknown.group(1)
            hint = did_you_mean(name, self._types) or f"; see {self._whole_help}."
            return f"unknown key {name!r} in {file or 'the --config file'}{hint}"
        foreign = re.match(r"unrecognized arguments: (([^\s=]*).*)", message, re.DOTALL)
        if foreign:
            # A text is one argument, of several words.
            whole = (one for one in arguments if " " in one and foreign[1].startswith(one))
            message += self._advice(next(whole, foreign[2]))
        message = message.removeprefix('Parser key "config": ')
        if file and (about_key or message.startswith("Problems parsing config")):
            message = f"--config {file}: {message}"
        return " ".join(message.split())

    def _advice(self, foreign: str) -> str:
        """Returns what to give instead of an argument that the command does not know."""
        if foreign.startswith("-") or self.command not in _READ_LINES:
            return did_you_mean(foreign, self._flags) or f"; see {self._whole_help}."
        tests = "".join(f", or from {flag} {foreign}" for flag in self._flags if "-test-" in flag)
        reads = f"; {self.command} reads texts from standard input, as with"
        looks_like_a_file = bool(Path(foreign).suffix) and " " not in foreign
        if os.path.exists(foreign) or looks_like_a_file:
            return f"{reads} `< {quote(foreign)}`{tests}."
        text = foreign if len(foreign) < _LONG_TEXT else f"{foreign[:_LONG_TEXT]}…"
        return f"{reads} `echo {quote(text)} | keras-transformer {self.command} …`."


def flag_of(name: str) -> str:
    """Returns the flag of a field."""
    return "--" + name.replace("_", "-")


def read_fields(
    namespace: Namespace, options_class: type[Options], *, skip: Sequence[str] = ()
) -> Options:
    """Builds the dataclass from a parsed namespace; its own validation runs here.

    Raises:
        ValueError: A value is refused; the message names the flag.
        TypeError: The same for a value of the wrong type.
    """
    hints = get_type_hints(options_class)
    values = {}
    for field in own_first(options_class):
        if field.name in skip:
            continue
        value = namespace[field.name]
        is_tuple = get_origin(without_none(hints[field.name])) is tuple
        values[field.name] = tuple(value) if is_tuple and value is not None else value
    try:
        return options_class(**values)
    except (ValueError, TypeError) as error:
        raise _reworded(error, _with_flags(str(error), values)) from error


@contextmanager
def flags_in_errors(*options_classes: type, model_fields: Iterable[str] = ()) -> Iterator[None]:
    """Makes the errors of Python code name flags instead of fields.

    Args:
        *options_classes: Dataclasses whose fields are flags.
        model_fields: Names that follow `--model.`.

    Raises:
        ValueError: The error with its flags.
        TypeError: The error with its flags.
    """
    try:
        yield
    except (ValueError, TypeError, FileExistsError) as error:
        message = _with_flags(str(error), model_fields, "model.")
        for options_class in options_classes:
            names = [field.name for field in dataclasses.fields(options_class)]
            message = _with_flags(message, names)
        if message == str(error) or len(error.args) != 1:
            raise
        raise _reworded(error, message) from error


def _reworded(error: Exception, message: str) -> Exception:
    """Returns the error with another message, of the built-in class if its own needs more."""
    kinds = (FileExistsError, TypeError, ValueError)
    kind = next(kind for kind in kinds if isinstance(error, kind))
    return (type(error) if type(error).__init__ is kind.__init__ else kind)(message)


def _with_flags(message: str, names: Iterable[str], prefix: str = "") -> str:
    """Writes fields of a dataclass as the flags that the user types.

    A name that may be a plain word, such as `sample`, is one only at the start or before `=`.
    """
    for name in names:
        flag = f"--{prefix}{name.replace('_', '-')}"
        message = re.sub(rf"(?<![\w.'-]){name}=True\b", flag, message)
        word = rf"(?<![\w./'-]){name}(?![\w/'-])"
        plain = rf"\A{name}\b(?=[ =])|(?<![\w./'-]){name}(?==)"
        message = re.sub(word if "_" in name else plain, flag, message)
    return message


class _HelpFormatter(DefaultHelpFormatter):
    """Help lines that end in the default, if there is one to name."""

    def _get_help_string(self, action: Action) -> str:
        text = action.help or ""
        if action.required and action.option_strings:
            return f"{text} (required)"
        if action.default is None or action.default is False or action.default in (SUPPRESS, []):
            return text
        return f"{text} (default: %(default)s)"


class _BriefHelpFormatter(_HelpFormatter):
    """Help lines whose texts stand beside flags as long as `--train-source PATH [PATH ...]`."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, max_help_position=34, **options)

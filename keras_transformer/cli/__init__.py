"""The command `keras-transformer`, which runs a subcommand and reports an error as one line on
stderr and an exit code.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from keras_transformer import __version__
from keras_transformer.distribution import install_command
from keras_transformer.messages import DEBUG_VARIABLE, is_debugging
from keras_transformer.suggestions import did_you_mean

COMMANDS = {
    "prepare": "tokenize a corpus once, for training that streams it from disk",
    "extract-terms": "write the terms of parallel text, as a list to translate by",
    "train": "train a model on parallel text",
    "distill": "train a small, fast model on the translations of a trained one",
    "import": "convert a model of another toolkit to a run",
    "vectors": "train word vectors on text",
    "neighbours": "write the words nearest to those of standard input",
    "update-vocabulary": "add words to the vocabulary of a run",
    "export": "write a trained run as an artefact that serves without TensorFlow",
    "translate": "translate the lines of standard input",
    "translate-file": "translate the texts of a file and leave the rest of it as it is",
    "fill-mask": "fill the masks in the lines of standard input",
    "classify": "write the class of each line of standard input",
    "rerank": "sort texts by how well they fit a query, best first",
    "tag": "write the tags of the words of standard input's lines",
    "embed": "write a vector for each line of standard input",
    "generate": "continue the lines of standard input",
    "perplexity": "write the perplexity of each line of standard input",
    "serve": "answer over REST and gRPC, as TensorFlow Serving does",
    "evaluate": "translate a test set and score it with BLEU and chrF",
    "score": "give the log-probabilities of given translations",
    "tokenize": "tokenize the lines of standard input, or detokenize them",
    "plot": "draw learning curves, attention, masks, positions, word vectors or a corpus",
}
# Commands whose module is not `commands.NAME`.
_MODULES = {
    "distill": "distillation.distill",
    "import": "import_model",
    "translate-file": "translate_file",
    "update-vocabulary": "update_vocabulary",
    "extract-terms": "extract_terms",
    "vectors": "vectors.vectors",
    "neighbours": "vectors.neighbours",
    "fill-mask": "understanding.fill_mask",
    "classify": "understanding.classify",
    "rerank": "understanding.rerank",
    "tag": "understanding.tag",
    "embed": "understanding.embed",
    "generate": "generation.generate",
    "perplexity": "generation.perplexity",
}
_CLI_PACKAGES = ("jsonargparse", "docstring_parser", "yaml", "tqdm")
# Kinds of error that our own checks raise: their text is meant for the user as it stands.
_EXPECTED = (ValueError, TypeError, OSError, ImportError, FloatingPointError)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        argv: The arguments after the program's name; those of the process if None.

    Returns:
        The exit code: 0 done, 1 failed, 2 wrong arguments, 130 interrupted, 141 the reader
        of the output is gone, 143 terminated.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments or is_debugging()
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] == "help":
        return main([*arguments[1:2], "--help"])
    if arguments[0] == "--version":
        print(f"keras-transformer {__version__}")
        return 0
    if arguments[0] in ("--completion", "--complete"):
        return _completion(arguments)
    if arguments[0] not in COMMANDS:
        return _fail("", _unknown_command(arguments[0]), code=2)
    if sys.stderr is None:  # closed: others write to descriptor 2, which must not be another file
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        closed = "standard output is closed: redirect it to a file, or to /dev/null."
        return _fail(arguments[0], closed, code=1)
    # TensorFlow's own messages, such as those about absent GPUs; its errors come as exceptions.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    before = os.environ.get(DEBUG_VARIABLE, "")
    os.environ[DEBUG_VARIABLE] = str(int(debug))  # also for the processes of the command
    try:
        return _run(arguments[0], arguments[1:], debug=debug)
    finally:
        os.environ[DEBUG_VARIABLE] = before


def _run(command: str, arguments: list[str], *, debug: bool) -> int:
    try:
        code = _load(command).main(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # --help and --print-config end this way
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt as interrupt:
        ended = type(interrupt).__name__ == "Terminated"  # without importing what trains
        what = "terminated" if ended else "interrupted"
        return _fail(command, f"{what}{interrupt}", code=143 if ended else 130)
    except BrokenPipeError:
        # The reader left (`| head`); without this the interpreter complains again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if debug:
            raise
        return _fail(command, _one_line(error), code=_exit_code(error))


def module_of(command: str) -> str:
    """Returns the name of the module that a subcommand is."""
    return f"{__name__}.commands.{_MODULES.get(command, command)}"


def _load(command: str) -> ModuleType:
    try:
        return import_module(module_of(command))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _CLI_PACKAGES:
            raise ImportError(
                f"the command line needs {error.name}: install it with "
                f"`{install_command('cli')}` (part of [train] too)."
            ) from error
        raise


def _exit_code(error: Exception) -> int:
    return 2 if type(error).__name__ == "UsageError" else 1


def _one_line(error: Exception) -> str:
    if isinstance(error, _EXPECTED):
        return " ".join(str(error).split()) or type(error).__name__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else "no message"
    return f"{type(error).__name__}: {first} (--debug shows the traceback)"


def _fail(command: str, message: str, *, code: int) -> int:
    name = f"keras-transformer {command}".strip()
    print(f"{name}: {'' if code in (130, 143) else 'error: '}{message}", file=sys.stderr)
    return code


def _completion(arguments: list[str]) -> int:
    """Prints the script that a shell evaluates, or answers what it asks for at a Tab."""
    from keras_transformer.cli.flags.completion import SCRIPTS, complete

    if arguments[0] == "--completion":
        shell = next(iter([*arguments[1:], *SCRIPTS]))
        if shell not in SCRIPTS:
            message = f"unknown shell {shell!r}, expected one of {', '.join(SCRIPTS)}"
            return _fail("", message, code=2)
        print(SCRIPTS[shell])
    else:
        found = complete(arguments[1:], {name: module_of(name) for name in COMMANDS})
        print(*found, sep="\n")
    return 0


def _unknown_command(name: str) -> str:
    hint = did_you_mean(name, COMMANDS)
    return f"unknown command {name!r}, expected one of {', '.join(COMMANDS)}{hint}"


def _overview() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return (
        "usage: keras-transformer COMMAND [options]\n\n"
        f"commands:\n{commands}\n\n"
        "options:\n"
        "  -h, --help  this text; after a command, its options with their defaults\n"
        "  --version   the version\n"
        '  --completion  a script for bash: eval "$(keras-transformer --completion)"; also\n'
        "              --completion zsh, --completion fish\n"
        "  --debug     show the traceback of an error, and long lists in whole (or set\n"
        f"              {DEBUG_VARIABLE}=1)"
    )

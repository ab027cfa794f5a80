"""`keras-transformer serve`: serves an artefact over TensorFlow Serving's REST and gRPC."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.cli.families import family_in
from keras_transformer.cli.flags.search import TITLE, own_search
from keras_transformer.cli.parser import CommandParser, UsageError, flags_in_errors, read_fields
from keras_transformer.distribution import install_command
from keras_transformer.search.keywords import search_options
from keras_transformer.search.options import SearchOptions

# A request gives them for itself.
_LEFT_OUT = ("seed", "require", "stop", "stop_tokens")
_SERVER_PACKAGES = ("starlette", "uvicorn", "uvloop", "httptools", "prometheus_client")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    from keras_transformer.serving.settings import ServeOptions

    parser = build_parser()
    given = parser.parse(arguments)
    if given.artefact is None and given.model_config is None:
        raise UsageError("missing: artefact, or --model-config; see --help.")
    options = read_fields(given, ServeOptions)
    search = _read_search(parser, arguments, given.artefact)
    try:
        from keras_transformer.serving.server import run_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _SERVER_PACKAGES:
            raise ImportError(
                f"serve needs {error.name}: install it with `{install_command('serve')}`."
            ) from error
        raise
    with flags_in_errors(SearchOptions, ServeOptions):
        run_server(options, search, lambda line: print(line, flush=True))
    return 0


def _read_search(
    parser: CommandParser, arguments: Sequence[str], artefact: Path | None
) -> dict[str, Any]:
    """Returns the options that were given, which each model that is loaded adds its own to."""
    given = parser.given(arguments, SearchOptions, skip=_LEFT_OUT)
    checked = given
    if artefact is None or family_in(artefact) not in ("encoder-decoder", "decoder"):
        # An encoder's fillings need no beams.
        checked = {name: value for name, value in given.items() if name != "num_hypotheses"}
    # Told now, with the names of flags, not by the first version that cannot be loaded.
    with flags_in_errors(SearchOptions):
        search_options({} if artefact is None else own_search(artefact), checked)
    return given


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow or the server."""
    from keras_transformer.serving.settings import ServeOptions

    parser = CommandParser(
        "serve",
        "Serve an exported artefact over TensorFlow Serving's REST and gRPC interfaces.",
    )
    parser.add_positional(
        "artefact",
        "Exported artefact, or directory of versions named by numbers.",
        required=False,
    )
    parser.add_fields(ServeOptions, title="server", skip=("artefact",))
    parser.add_fields(SearchOptions, title=TITLE, skip=_LEFT_OUT)
    return parser

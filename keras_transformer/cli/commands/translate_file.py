"""`keras-transformer translate-file`: translates the texts of a file, in its own format."""

import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from keras_transformer import __version__
from keras_transformer.cli.artefact import RuntimeOptions, open_whole_text_translator
from keras_transformer.cli.flags.search import TITLE, read_search
from keras_transformer.cli.long_lines import LineOptions
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.files.formats import FormatName, read_document
from keras_transformer.files.job import Outcome, Update, translate_document
from keras_transformer.files.memory import Memory, SimilarTexts
from keras_transformer.files.results import Results
from keras_transformer.files.segments import Reading
from keras_transformer.files.translating import SpanTranslator
from keras_transformer.search.options import SearchOptions
from keras_transformer.translation.by_sentence import OF_ONE_TEXT
from keras_transformer.whole_files import check_output, write_bytes

# Most lines that are named at the end.
_SHOWN = 10
# A file is always translated sentence by sentence.
_NO_FLAGS = ("long_lines",)
_LEFT_OUT = ("num_hypotheses", "require", *OF_ONE_TEXT)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Which texts of a file are translated, and how translations are marked.

    Args:
        format: The file's format; by the ending of its name if not given.
        update: Which texts are translated: "untranslated" ones, with "fuzzy" also those that need
            review, or "all".
        review: Which translations are marked as needing review, if the format can say so: "all", or
            with "low" those of low confidence, or with a span too few or too many.
        memory: Files that hold texts beside their translations (.po, XLIFF, TMX, .ts), whose
            translations are used for the same texts; may be repeated.
        fuzzy: Least percentage of words that a text must share with one of the memory to be
            translated with its help; 75 if no number is given. If both begin alike, the translation
            begins as that in the memory.
        to: Code of the language of the translations, if the file does not name it; used for plural
            forms and for names of languages in the file.
    """

    format: FormatName | None = None
    update: Update = "untranslated"
    review: Literal["all", "low"] = "all"
    memory: tuple[Path, ...] = field(default=(), metadata={"repeat": True})
    fuzzy: int | None = field(default=None, metadata={"alone": 75})
    to: str = ""

    def __post_init__(self) -> None:
        if self.fuzzy is not None and not self.memory:
            raise ValueError("fuzzy needs the files that similar texts are looked for in: memory.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    parser = build_parser()
    given = parser.parse(arguments)
    options = read_fields(given, FileOptions)
    search = read_search(parser, arguments, given.model, skip=_LEFT_OUT)
    lines = read_fields(given, LineOptions, skip=_NO_FLAGS)
    source, output = given.input, given.output
    check_output(output, is_directory=False)
    if output.exists() and output.samefile(source):
        raise ValueError(f"{output} is the input, too: give the output another name.")
    reading = Reading(language=options.to, review=options.review)
    document = read_document(source, reading, options.format)
    if not document.segments:
        raise ValueError(f"{source} holds no text that could be translated.")
    memory = Memory(options.memory, reading)
    translator = SpanTranslator(
        open_whole_text_translator(given.model, read_fields(given, RuntimeOptions), lines),
        language=lines.language,
        markup=lines.markup,
        similar=None if options.fuzzy is None else SimilarTexts(memory.pairs(), options.fuzzy),
        options=asdict(search),
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    with (
        Results(_unfinished(output), _job(given.model, search, lines, options)) as results,
        tqdm(unit="text", desc="translate", disable=not sys.stderr.isatty()) as progress,
    ):
        if len(results):
            progress.write(
                f"keras-transformer translate-file: goes on with {len(results)} texts that an "
                "interrupted job has translated.",
                file=sys.stderr,
            )
        outcome = translate_document(
            document,
            translator,
            update=options.update,
            memory=memory,
            results=results,
            progress=progress.update,
        )
        write_bytes(output, outcome.data)
        results.remove()
    _tell(output, outcome)
    return 0


def _unfinished(output: Path) -> Path | None:
    """Returns where translations are kept: beside what a link leads to; None beside a pipe."""
    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_file():
        return None
    return target.with_name(f".{target.name}.unfinished")


def _job(model: Path, search: SearchOptions, lines: LineOptions, options: FileOptions) -> str:
    """Returns what tells the translations of this job from those of others."""
    names = ("manifest.json", "config.json", "model.keras")
    files = [path for name in names if (path := model / name).is_file()]
    memory = () if options.fuzzy is None else options.memory
    read = [path.read_bytes() for path in (*files[:1], *memory, *filter(None, [lines.glossary]))]
    changed = [path.stat().st_mtime_ns for path in files]
    return hashlib.sha256(
        repr([read, changed, search, lines, options.fuzzy, __version__]).encode()
    ).hexdigest()


def _tell(output: Path, outcome: Outcome) -> None:
    helped = f", {outcome.similar} with a similar text of it" if outcome.similar else ""
    print(
        f"wrote {output}: {outcome.translated} texts translated, {outcome.remembered} of them by "
        f"the memory{helped}, {outcome.left} left as they were"
    )
    for warning in outcome.warnings:
        print(f"keras-transformer translate-file: {warning}", file=sys.stderr)
    # Forms of a plural stand in one line.
    lines = list(dict.fromkeys(doubt.line for doubt in outcome.doubts))
    if lines:
        named = ", ".join(map(str, lines[:_SHOWN]))
        more = ", ..." if len(lines) > _SHOWN else ""
        count = f"{len(lines)} of {outcome.translated} texts"
        print(f"low confidence in {count}: lines {named}{more}", file=sys.stderr)


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser.of_model(
        "translate-file",
        "Translate the texts of a file and write it again, the rest of it byte for byte as it was.",
    )
    parser.add_positional("input", "The file.")
    parser.add_positional("output", "File to write, of the same format.")
    parser.add_fields(FileOptions, title="file")
    parser.add_fields(SearchOptions, title=TITLE, skip=_LEFT_OUT)
    parser.add_fields(LineOptions, title="texts", skip=_NO_FLAGS)
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser

"""`keras-transformer classify`: writes the class of each line of standard input, or its labels if
the model gives several; or evaluates the model on a file of labelled texts.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.commands.understanding.pair_lines import pairs_in, row_lengths
from keras_transformer.cli.json_answers import SECOND_TEXT, JsonAnswers
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import (
    CountedLines,
    TextLineOptions,
    about_line,
    answer_lines,
    tell_cuts,
)
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.search.text_limits import LongTextError
from keras_transformer.understanding.class_scores import ClassScores, class_scores
from keras_transformer.understanding.results import Classification, threshold_of
from keras_transformer.understanding.text_understanding import TextUnderstanding


@dataclass(frozen=True, kw_only=True)
class ClassifyOptions:
    """The texts to classify.

    Args:
        pairs: Each line has two texts with a tab between them, as the model was trained.
        threshold: For models that give a text any number of labels, the least probability of the
            labels that are written; 0.5 if not given.
        test_tsv: File of labelled texts to classify instead of standard input, a label, a tab and a
            text (or two) a line; accuracy, precision, recall and F1 are printed. Commas separate
            the labels of a text, and a text without a label begins with the tab.
        json: Print these as one JSON object.
    """

    pairs: bool = False
    threshold: float | None = None
    test_tsv: Path | None = None
    json: bool = False

    def __post_init__(self) -> None:
        if self.test_tsv is None and self.json:
            raise ValueError("json sets the output format of test_tsv: give test_tsv, too.")
        if self.test_tsv is not None and self.pairs:
            raise ValueError(
                "pairs is for standard input only: leave it out, as the lines of test_tsv show "
                "whether they are pairs."
            )


class PairLines:
    """Classifies lines that hold two texts each.

    Args:
        encoder: The classifier.
        threshold: Least probability, from 0 to 1, of a label that a text is given by a model with
            several labels a text; 0.5 if None.

    Attributes:
        max_text_length: Most tokens of a line; None if there is no limit.
    """

    def __init__(self, encoder: TextUnderstanding, threshold: float | None = None) -> None:
        self._encoder = encoder
        self._threshold = threshold
        self.max_text_length = encoder.max_text_length

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each line has, separators between its texts included."""
        return row_lengths(self._encoder, [text.split("\t") for text in texts])

    def classify(self, texts: Sequence[str]) -> list[Classification]:
        """Returns the class of each line.

        Raises:
            PairError: A line has another number of texts; it has the index.
        """
        firsts, seconds = pairs_in(
            texts, "with --pairs every line has two texts and one tab between them"
        )
        return self._encoder.classify(firsts, seconds, threshold=self._threshold)


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, ClassifyOptions)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    encoder = open_encoder(given.model, runtime, "classification", **lines.limits)
    threshold = threshold_of(encoder.config, options.threshold)
    if lines.jsonl and (options.pairs or options.test_tsv is not None):
        raise ValueError(
            "--jsonl reads texts and pairs from standard input, as their keys show: leave out "
            "--pairs and --test-tsv."
        )
    if options.test_tsv is not None:
        scores = _test(encoder, options.test_tsv, lines, threshold)
        print(json.dumps(asdict(scores), ensure_ascii=False) if options.json else _report(scores))
        return 0
    pairs = PairLines(encoder, threshold)

    def answer(block: list[str]) -> Iterator[str]:
        found = (
            pairs.classify(block) if options.pairs else encoder.classify(block, threshold=threshold)
        )
        return (
            "\t".join(f"{label}\t{share:.6f}" for label, share in one.chosen.items())
            for one in found
        )

    def values(block: list[Any]) -> Iterator[dict[str, Any]]:
        seconds = [one.values[SECOND_TEXT] for one in block if SECOND_TEXT in one.values]
        for one in encoder.classify(block, seconds or None, threshold=threshold):
            shares = zip(encoder.config.labels, map(float, one.probabilities), strict=True)
            best = {"label": one.label, "probability": float(one.probability)}
            chosen = {"labels": list(one.chosen)} if threshold is not None else best
            yield {**chosen, "probabilities": dict(shares)}

    def lengths(block: Sequence[Any]) -> list[int]:
        names = ("text", SECOND_TEXT)
        rows = [[one.values[name] for name in names if name in one.values] for one in block]
        return row_lengths(encoder, rows)

    writes = ("label", "probability") if threshold is None else ("labels",)
    as_json = JsonAnswers(answer=values, writes=(*writes, "probabilities"), optional=SECOND_TEXT)
    classifier = pairs if options.pairs else encoder
    counted = CountedLines(classifier.max_text_length, lengths) if lines.jsonl else classifier
    answer_lines("classify", counted, lines, answer, as_json, blank_lines_are_texts=True)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return CommandParser.of_model(
        "classify",
        "Classify the lines of standard input: for each its label, a tab and the label's "
        "probability. A model that gives texts any number of labels (multi_label) writes all of "
        "--threshold or more, most probable first, with a tab before each further one; none is an "
        "empty line. With --test-tsv, say how well labelled texts are classified.",
        texts=ClassifyOptions,
        lines=TextLineOptions,
        runtime=RuntimeOptions,
    )


def _test(
    encoder: TextUnderstanding, path: Path, lines: TextLineOptions, threshold: float | None
) -> ClassScores:
    from keras_transformer.data.sources.tables.labelled import read_labelled

    read = read_labelled(path, multi_label=threshold is not None)
    ((_, numbers),) = read.files
    texts, numbers = read.without_blank_lines(), [numbers[place] for place in read.filled]
    blank = len(read) - len(texts)
    for note in (*texts.notes, *[f"{path}: {blank:,} blank lines are left out"] * bool(blank)):
        print(note, file=sys.stderr)
    labels = encoder.config.labels
    # Before any text is read by the model.
    read.check_labels(labels, "the classifier's")
    right = [list(texts.names_of(place)) for place in range(len(texts))]
    pairs = zip(texts.first, texts.second or (), strict=False)
    rows = ["\t".join(pair) for pair in pairs] or texts.first
    model = PairLines(encoder) if texts.second else encoder
    tell_cuts("classify", model, lines, rows, numbers, str(path))
    try:
        found = encoder.classify(texts.first, texts.second, threshold=threshold)
    except LongTextError as error:
        raise ValueError(about_line(error, numbers[error.index], str(path))) from error
    return class_scores([list(one.chosen) for one in found], right, labels)


def _report(scores: ClassScores) -> str:
    width = max(map(len, (*scores.labels, "macro F1")))
    lines = [f"{'':{width}}  precision  recall      F1  texts"]
    for label, one in scores.labels.items():
        shares = f"{one.precision:9.1%}  {one.recall:6.1%}  {one.f1:6.1%}"
        lines.append(f"{label:{width}}  {shares}  {one.texts:,}")
    texts = sum(one.texts for one in scores.labels.values())
    lines.append(f"{'macro F1':{width}}  {'':17}  {scores.macro_f1:6.1%}")
    lines.append(f"{'accuracy':{width}}  {'':17}  {scores.accuracy:6.1%}  {texts:,}")
    return "\n".join(lines)

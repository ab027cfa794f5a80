"""`keras-transformer plot`: draws runs, models and corpora as PNG or SVG."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from keras_transformer.cli.artefact import RuntimeOptions, load_run, open_tokenizers
from keras_transformer.cli.corpora import DataOptions, default_vocab_size, read_corpus
from keras_transformer.cli.families import family_in, require_family
from keras_transformer.cli.flags.pictures import (
    BatchOptions,
    HeadOptions,
    MaskOptions,
    PairOptions,
    PictureOptions,
    PositionOptions,
    TaggedOptions,
    TextOptions,
    WordOptions,
)
from keras_transformer.cli.keras_side import ThreadOptions, limit_threads, load_training
from keras_transformer.cli.parser import (
    CommandParser,
    UsageError,
    flag_of,
    flags_in_errors,
    read_fields,
)
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.config.family import ENCODER_DECODER
from keras_transformer.suggestions import did_you_mean
from keras_transformer.text.tokenizer import train_fitting_tokenizer
from keras_transformer.whole_files import check_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from keras_transformer.plotting.sentences import SeenPair


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    given = build_parser().parse(arguments)
    output = read_fields(given, PictureOptions).output
    from keras_transformer.plotting.style import check_format, save_picture

    check_format(output)
    check_output(output, is_directory=False)
    save_picture(KINDS[arguments[0]].draw(given), output)
    print(f"picture: {output}")
    return 0


class PlotParser:
    """Reads the kind of picture, then the options of that kind."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds."""
        return tuple(KINDS)

    def parse(self, arguments: Sequence[str]) -> Any:
        """Returns the options.

        Raises:
            UsageError: The kind or one of its options cannot be understood.
        """
        name, *rest = arguments or [""]
        return self.of(name).parse(rest)

    def of(self, name: str) -> CommandParser:
        """Returns the parser of a kind's options.

        Raises:
            UsageError: There is no such kind.
        """
        if name not in KINDS:
            hint = did_you_mean(name, KINDS)
            raise UsageError(f"unknown picture {name!r}, expected one of {', '.join(KINDS)}{hint}")
        kind = KINDS[name]
        parser = CommandParser(f"plot {name}", f"Draw {kind.summary}.")
        if kind.reads == "vectors":
            parser.add_positional("vectors", "File of word vectors.")
        elif kind.reads:
            parser.add_positional("run", "Training run.", many=kind.reads == "runs")
        parser.add_fields(PictureOptions, title="picture")
        for options in kind.options:
            parser.add_fields(options)
        return parser


def build_parser() -> PlotParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return PlotParser()


@dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Attributes:
        summary: What it shows.
        draw: Makes the figure from the options.
        options: What can be chosen.
        reads: Positional arguments: one "run", several "runs", a file of "vectors", or none.
    """

    summary: str
    draw: Callable[[Any], "Figure"]
    options: tuple[type, ...] = ()
    reads: Literal["run", "runs", "vectors"] | None = None


def _draw_curves(given: Any) -> "Figure":
    from keras_transformer.plotting.curves import learning_curves

    return learning_curves(given.run)


def _draw_positions(given: Any) -> "Figure":
    options = read_fields(given, PositionOptions)
    load_training()
    from keras_transformer.plotting.positions import position_curves

    return position_curves(options.length, options.model_dim)


def _draw_masks(given: Any) -> "Figure":
    options = read_fields(given, MaskOptions)
    load_training()
    from keras_transformer.plotting.masks import masks

    return masks(options.tokens, options.padding)


def _draw_attention(given: Any) -> "Figure":
    if family_in(given.run) not in (None, ENCODER_DECODER.name):
        return _draw_text_attention(given)
    for name in ("text", "tokens", "layer"):
        if given[name]:
            raise ValueError(
                f"--{name} is for an encoder or a decoder alone, and {given.run} translates: give "
                "--source."
            )
    pair = _see_pair(given)
    from keras_transformer.plotting.attention import attention_heads

    return attention_heads(pair, read_fields(given, HeadOptions).part)


def _draw_text_attention(given: Any) -> "Figure":
    pair, options = read_fields(given, PairOptions), read_fields(given, TextOptions)
    if options.text is None or pair.source is not None or pair.target is not None:
        raise ValueError(f"{given.run} holds no translation: give --text in place of --source.")
    limit_threads(read_fields(given, ThreadOptions).threads)
    model, tokenizer, _ = load_run(given.run)
    from keras_transformer.plotting.attention import text_attention
    from keras_transformer.plotting.query_key_features import query_key_features
    from keras_transformer.plotting.sentences import see_text

    seen = see_text(model, tokenizer, options.text)
    if not options.tokens:
        return text_attention(seen)
    if model.config.additive_attention or not model.config.scale_attention:
        raise ValueError(
            "--tokens draws scores that are products over √key_dim, which those of the model "
            f"{given.run} are not: leave it out."
        )
    return query_key_features(seen.compared(options.tokens, options.layer))


def _draw_tags(given: Any) -> "Figure":
    if not given.text.split():
        raise ValueError(f"--text must hold at least one word, got {given.text!r}.")
    threads = read_fields(given, ThreadOptions).threads
    tagger: Any = open_encoder(given.run, RuntimeOptions(threads=threads), "tagging")
    from keras_transformer.plotting.tags import tagged_text

    [words] = tagger.tag([given.text])
    is_chain = tagger.config.crf and hasattr(tagger, "model")
    return tagged_text(words, tagger.config.labels, tagger.model.head.chain if is_chain else None)


def _draw_alignment(given: Any) -> "Figure":
    pair = _see_pair(given)
    from keras_transformer.plotting.alignment import alignment

    return alignment(pair)


def _see_pair(given: Any) -> "SeenPair":
    options = read_fields(given, PairOptions)
    limit_threads(read_fields(given, ThreadOptions).threads)
    require_family(given.run, "encoder-decoder")
    if options.source is None:
        raise ValueError("--source is needed: the sentence that the model translates.")
    run = load_run(given.run)
    from keras_transformer.plotting.sentences import see_pair

    return see_pair(*run, options.source, options.target)


def _draw_corpus(given: Any) -> "Figure":
    options, data = read_fields(given, BatchOptions), read_fields(given, DataOptions)
    _refuse_unread(options, data)
    # Both before TensorFlow is loaded: what is wrong with them is told at once.
    tokenizers = None if options.run is None else open_tokenizers(options.run)
    pairs = read_corpus(data)
    if tokenizers is None:
        sentences = [*pairs.train.source, *pairs.train.target]
        pieces = default_vocab_size(data) if options.vocab_size is None else options.vocab_size
        with flags_in_errors(BatchOptions):
            tokenizers = (train_fitting_tokenizer(sentences, pieces),) * 2
    load_training()
    from keras_transformer.data.encoding.encode import encode_pairs
    from keras_transformer.plotting.corpus import corpus_lengths

    encoded = encode_pairs(pairs.train, *tokenizers, options.max_length)
    return corpus_lengths(encoded, options.batch_tokens, pairs.train.origin)


def _draw_vectors(given: Any) -> "Figure":
    options = read_fields(given, WordOptions)
    from keras_transformer.plotting.vectors import word_plane
    from keras_transformer.vectors.files import VectorFile
    from keras_transformer.vectors.neighbours import WordVectors

    vectors = WordVectors(VectorFile.open(given.vectors), options.distance)
    return word_plane(vectors, options.words)


def _refuse_unread(options: BatchOptions, data: DataOptions) -> None:
    """Raises an error that names a flag which would have no effect."""
    if options.run is not None and options.vocab_size is not None:
        raise ValueError(
            "--vocab-size is for training a vocabulary, but --run gives a trained one: leave one "
            "of the two out."
        )
    for name in ("valid_source", "valid_target", "valid_tsv", "valid_files"):
        if getattr(data, name):
            raise ValueError(
                f"{flag_of(name)} has no effect, since only the training pairs are drawn: leave "
                "it out."
            )


def _overview() -> str:
    width = max(map(len, KINDS))
    kinds = "\n".join(f"  {name:<{width}}  {kind.summary}" for name, kind in KINDS.items())
    return (
        "usage: keras-transformer plot PICTURE [options]\n\n"
        f"pictures:\n{kinds}\n\n"
        "keras-transformer plot PICTURE --help shows the options of one."
    )


KINDS = {
    "curves": Kind("the learning curves of one or several runs", _draw_curves, reads="runs"),
    "attention": Kind(
        "attention by layer and head for a sentence pair or a text, or two tokens' features",
        _draw_attention,
        (PairOptions, HeadOptions, TextOptions, ThreadOptions),
        reads="run",
    ),
    "tags": Kind("the tags of a text", _draw_tags, (TaggedOptions, ThreadOptions), reads="run"),
    "alignment": Kind(
        "which source tokens a translation comes from",
        _draw_alignment,
        (PairOptions, ThreadOptions),
        reads="run",
    ),
    "positions": Kind("the sinusoidal position vectors", _draw_positions, (PositionOptions,)),
    "masks": Kind("the masks of attention", _draw_masks, (MaskOptions,)),
    "vectors": Kind("word vectors in a plane", _draw_vectors, (WordOptions,), reads="vectors"),
    "corpus": Kind("lengths and padding of a corpus", _draw_corpus, (BatchOptions, DataOptions)),
}

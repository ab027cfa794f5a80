"""Pseudo-rehearsal (Robins 1995, "Catastrophic Forgetting, Rehearsal and Pseudorehearsal"): pairs
that a translation's run makes itself, of random pieces, by which a model that is trained further
keeps what it knows where there is no text of that kind.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.files import iter_lines
from keras_transformer.decoding.translator import Translator
from keras_transformer.models import Transformer
from keras_transformer.models.files.model_file import load_model_file
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.sentencepiece_messages import NORMAL, UNIGRAM, read_message
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.tasks.validation_translations import search_limits
from keras_transformer.whole_files import write_text

# The pairs are a part of the corpus, not of a run: runs with other seeds see the same.
_SEED = 0
# Lines longer than this cost time and teach no more.
_LONGEST = 60
# A translation with more tokens for each token of its source repeats itself.
_MOST_WRITTEN = 1.8
_MOST_DRAWS = 6


def rehearsal_pairs(
    place: RunDirectory, begun: RunDirectory, own: Pairs, share: float
) -> Pairs | None:
    """Returns the pairs that a run rehearses, which it keeps in its directory; None for none.

    Args:
        place: The run that is trained; `rehearsal.tsv` in it holds the pairs. A run that has not
            begun makes them, also if a file lies there, which may be of other text.
        begun: The finished run of a translation that it starts from.
        own: The pairs that it learns.
        share: Number of pairs to make for each of these.
    """
    if place.is_chief and not place.has_checkpoints:
        count = max(round(len(own) * share), 1)
        how = f"{begun.path} translates {count:,} random lines (--rehearsal 0 leaves them out)"
        print(f"rehearsal: {how}", flush=True)
        made = made_pairs(load_model_file(begun.model), begun.load_tokenizers(), own.source, count)
        lines = (f"{source}\t{target}\n" for source, target in made)
        write_text(place.rehearsal, "".join(lines))
    if not place.rehearsal.stat().st_size:
        print(f"rehearsal: {begun.path} ends no translation, so there is nothing to rehearse")
        return None
    # As they were written above: a quote mark is one.
    source, target = zip(*(line.split("\t") for line in iter_lines(place.rehearsal)), strict=True)
    return Pairs(source, target, "rehearsal")


def made_pairs(
    model: Transformer,
    tokenizers: tuple[Tokenizer, Tokenizer],
    like: Sequence[str],
    count: int,
) -> list[tuple[str, str]]:
    """Returns random lines of pieces with what a model translates them to, by greedy search.

    A piece is as likely as its vocabulary says. The lines are as long as those of `like`, at most
    60 tokens, and read as nonsense. Those that have no translation, or one that does not come to an
    end, are drawn again, a few times.

    Args:
        model: Translates.
        tokenizers: Those of its source and target.
        like: Source lines.
        count: Number of pairs.
    """
    source, target = tokenizers
    random = np.random.default_rng(_SEED)
    known = [row[:_LONGEST] for row in source.encode(like) if row]
    if not known:
        return []
    lengths, probabilities = [len(row) for row in known], piece_probabilities(source)
    # What it makes of a text, not what goes around it.
    translator = Translator(model, source, target, max_source_length=None, letterless="translate")
    limits = search_limits(known)
    pairs: list[tuple[str, str]] = []
    for _ in range(_MOST_DRAWS):
        missing = count - len(pairs)
        if not missing:
            break
        ends = np.cumsum(random.choice(lengths, missing))
        tokens = random.choice(len(probabilities), ends[-1], p=probabilities)
        drawn = [row.tolist() for row in np.split(tokens, ends[:-1])]
        lines = [line for line in map(_one_line, source.decode(drawn)) if line]
        found = map(_one_line, translator.translate(lines, **limits))
        pairs += [pair for pair in zip(lines, found, strict=True) if _ends(*pair, *tokenizers)]
    return pairs


def piece_probabilities(tokenizer: Tokenizer) -> npt.NDArray[np.float64]:
    """Returns the probability of each id of a vocabulary, `(vocab_size,)`; special ids have 0.

    A unigram model of SentencePiece holds them (Kudo 2018). Vocabularies of other kinds list the
    pieces that were merged or chosen first, the frequent ones, before the others, so a piece gets
    the inverse of its place among them (Zipf's law).

    Args:
        tokenizer: Reads the vocabulary.
    """
    texts = tokenizer.decode([[token] for token in range(tokenizer.vocab_size)])
    # A byte alone is no text.
    is_text = np.array(
        [bool(text.strip()) and "\N{REPLACEMENT CHARACTER}" not in text for text in texts]
    )
    weights = _unigram_weights(tokenizer) if tokenizer.kind == "sentencepiece" else None
    if weights is None:
        weights = 1 / np.maximum(np.cumsum(is_text), 1)
    weights = np.where(is_text, weights, 0)
    return weights / weights.sum()


def _unigram_weights(tokenizer: Tokenizer) -> npt.NDArray[np.float64] | None:
    """Returns the probabilities in a SentencePiece model; None if it is of another kind."""
    model = read_message(tokenizer.model)
    if model.trainer_spec.model_type != UNIGRAM:
        return None
    weights = np.zeros(tokenizer.vocab_size)
    for token, piece in enumerate(model.pieces[: tokenizer.vocab_size]):
        if piece.type == NORMAL:
            weights[token] = np.exp(piece.score)
    return weights


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _ends(line: str, translation: str, source: Tokenizer, target: Tokenizer) -> bool:
    """Returns whether there is a translation that does not only repeat itself up to a limit."""
    [read], [written] = source.encode([line]), target.encode([translation])
    return 0 < len(written) < _MOST_WRITTEN * len(read)

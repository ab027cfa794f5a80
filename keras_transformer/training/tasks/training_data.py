"""The data of a run: tokenizers and encoded pairs of its corpus."""

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from keras_transformer.config.sentence_marks import Begins
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.encoding.encode import EncodedPairs, encode_pairs
from keras_transformer.data.encoding.single_texts import EncodedTexts
from keras_transformer.data.encoding.stream import EncodedStream
from keras_transformer.data.encoding.subword_regularization import (
    ResegmentedPairs,
    segmentation_type,
)
from keras_transformer.data.prepared.batches import ShardedPairs
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.digest import TEXT_SHA256, text_sha256
from keras_transformer.markup.pairs import with_slots
from keras_transformer.markup.soft_terms.extraction import extract_terms
from keras_transformer.markup.soft_terms.pairs import with_soft_terms
from keras_transformer.noise.pairs import read_shares, with_noise
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import ModelType, Tokenizer, train_fitting_tokenizer
from keras_transformer.text.tokenizer_files import Tokenizers
from keras_transformer.text.training_text import TrainingText
from keras_transformer.training.run.options import TrainOptions


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """Tokenizers and the pairs or texts they encoded.

    Attributes:
        source_tokenizer: Reads the source side.
        target_tokenizer: Reads the target side; the same object if both share a vocabulary.
        train: The pairs or texts to train on.
        valid: Those to validate on after every round, or None.
        record: The entry in `training.json` on the data.
        training_text: Describes the training lines; None if an earlier version prepared them.
        valid_text: The pairs of `valid` as they are, the shortest first, where slots stand for
            spans in it; None else.
    """

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: EncodedPairs | ShardedPairs | EncodedTexts | EncodedStream
    valid: EncodedPairs | ShardedPairs | EncodedTexts | EncodedStream | None
    record: dict[str, Any]
    training_text: TrainingText | None = None
    valid_text: Pairs | None = None


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """A vocabulary to be trained.

    Attributes:
        size: Number of pieces in the vocabulary (in each, if there are two); None for as many as
            the corpus can teach.
        tokenizer_type: "unigram", "bpe" or "char".
        is_joint: Whether source and target share it.
        has_slots: Whether it has pieces that stand for spans of texts.
        has_term_marks: Whether it has those that stand around the translations of terms.
    """

    size: int | None
    tokenizer_type: ModelType = "unigram"
    is_joint: bool = True
    has_slots: bool = False
    has_term_marks: bool = False

    def train(self, corpus: Corpus) -> Tokenizers:
        """Trains the tokenizers of source and target on the training pairs."""
        train = partial(
            train_fitting_tokenizer,
            vocab_size=self.size,
            model_type=self.tokenizer_type,
            has_slots=self.has_slots,
            has_term_marks=self.has_term_marks,
        )
        source, target = corpus.train.source, corpus.train.target
        if self.is_joint:
            joint = train([*source, *target])
            return joint, joint
        return train(source), train(target)


def encode_corpus(
    corpus: Corpus,
    run: RunDirectory,
    options: TrainOptions,
    vocabulary: Vocabulary,
    tokenizers: Tokenizers | None = None,
    rehearsed: Pairs | None = None,
    *,
    special_ids: SpecialIds,
    begins: Begins,
) -> TrainingData:
    """Trains the tokenizers, unless they exist, and encodes the corpus.

    Args:
        corpus: Training pairs and, optionally, validation pairs.
        run: The run directory that holds the tokenizers or in which to save them.
        options: Longest sentence, and whether training pairs are segmented anew in every epoch.
        vocabulary: The vocabulary to train if there are no tokenizers.
        tokenizers: Existing tokenizers of source and target; None to train them. A resumed run
            loads those in its directory.
        rehearsed: Pairs that are trained on, too, and say nothing about the text that the model is
            for.
        special_ids: The model's.
        begins: The ids that it reads and writes before texts.

    Raises:
        ValueError: No pair is short enough.
    """
    for split in (corpus.train, corpus.valid):
        for note in split.notes if split else ():
            print(note)
    sha256 = text_sha256(corpus.train, corpus.valid)
    has_slots, as_it_is = options.has_slots, corpus.valid
    if options.noise:
        corpus = Corpus(_with_noise(corpus.train, options), corpus.valid)
    if has_slots:
        vocabulary = dataclasses.replace(vocabulary, has_slots=True)
        corpus = _with_slots(corpus, options)
    if options.soft_terms:
        vocabulary = dataclasses.replace(vocabulary, has_term_marks=True)
        corpus = Corpus(_with_soft_terms(corpus.train, options), corpus.valid)
    if run.has_checkpoints or not run.is_chief:
        source, target = run.load_tokenizers()
    else:
        source, target = tokenizers or vocabulary.train(corpus)
        run.save_tokenizers(source, target)
    if tokenizers is not None:
        kind = vocabulary.tokenizer_type
        kind = segmentation_type(source) if options.subword_sampling else kind
        vocabulary = Vocabulary(target.vocab_size, kind, source is target)
    if vocabulary.size is None:
        vocabulary = dataclasses.replace(vocabulary, size=target.vocab_size)
    longest = options.max_length - begins.most
    own = corpus.train
    pairs = own if rehearsed is None else own.joined(rehearsed)
    train = encode_pairs(pairs, source, target, longest).framed(special_ids, begins)
    print(f"training pairs: {train.report}")
    is_own = train.pair_numbers < len(own)
    if not is_own.any():
        raise ValueError(
            f"no pair of {own.origin} has at most max_length={options.max_length} tokens on both "
            "sides: raise it, or split the lines."
        )
    training_text = TrainingText.from_lines(
        [own.source[number] for number in train.pair_numbers[is_own]],
        longest_source=int(train.source.lengths[is_own].max()),
    )
    training_text = dataclasses.replace(
        training_text,
        markup=options.markup,
        span_patterns=options.span_pattern,
        soft_terms=options.soft_terms or 0.0,
    )
    if options.subword_sampling:
        train = ResegmentedPairs.from_encoded(
            train, pairs, source, target, vocabulary.tokenizer_type, longest
        )
    valid = None
    if corpus.valid is not None:
        valid = encode_pairs(corpus.valid, source, target, longest).framed(special_ids, begins)
        print(f"validation pairs: {valid.report}")
    record = {
        "origin": pairs.origin,
        # Not of what is rehearsed: a resumed run takes that from its own directory.
        TEXT_SHA256: sha256,
        "vocab_size": vocabulary.size,
        "tokenizer_type": vocabulary.tokenizer_type,
        "joint_vocabulary": vocabulary.is_joint,
        "train": dataclasses.asdict(train.report),
        "valid": dataclasses.asdict(valid.report) if valid else None,
    }
    valid_text = _texts_by_length(as_it_is, valid) if as_it_is and valid and has_slots else None
    return TrainingData(source, target, train, valid, record, training_text, valid_text)


def _with_noise(pairs: Pairs, options: TrainOptions) -> Pairs:
    """Returns training pairs with noise around the spans of the run, else of any profile."""
    profile: Any = options.markup if options.has_slots else "auto"
    shares, own = read_shares(options.noise), options.span_pattern
    sides = pairs.source, pairs.target
    sides = with_noise(*sides, shares, seed=options.seed, profile=profile, own=own)
    return Pairs(*sides, pairs.origin, pairs.notes)


def _with_slots(corpus: Corpus, options: TrainOptions) -> Corpus:
    """Returns a corpus with slots for the spans of its pairs, drawn from the seed in training."""
    profile: Any = options.markup

    def slotted(pairs: Pairs, seed: int | None) -> Pairs:
        sides = pairs.source, pairs.target
        sides = with_slots(*sides, profile, options.span_pattern, seed=seed)
        return Pairs(*sides, pairs.origin, pairs.notes)

    valid = corpus.valid and slotted(corpus.valid, None)
    return Corpus(slotted(corpus.train, options.seed), valid)


def _with_soft_terms(pairs: Pairs, options: TrainOptions) -> Pairs:
    """Returns training pairs with translations beside terms of their own."""
    terms = extract_terms(pairs.source, pairs.target)
    share, seed = options.soft_terms or 0.0, options.seed
    sources = with_soft_terms(pairs.source, pairs.target, terms, share=share, seed=seed)
    count = sum(one != other for one, other in zip(sources, pairs.source, strict=True))
    print(f"soft terms: {len(terms):,} known, beside terms of {count:,} of {len(pairs):,} sources")
    return Pairs(sources, pairs.target, pairs.origin, pairs.notes)


def _texts_by_length(pairs: Pairs, encoded: EncodedPairs) -> Pairs:
    """Returns the texts of encoded pairs, the shortest sources first."""
    order = np.argsort(encoded.source_lengths, kind="stable")
    numbers = encoded.pair_numbers[order].tolist()
    source, target = ([side[number] for number in numbers] for side in (pairs.source, pairs.target))
    return Pairs(source, target, pairs.origin)


def open_prepared(corpus: PreparedCorpus, run: RunDirectory, options: TrainOptions) -> TrainingData:
    """Takes tokenizers and pairs from a prepared corpus, without reading its shards.

    Args:
        corpus: Training pairs and, optionally, validation pairs.
        run: The run directory in which to save the tokenizers.
        options: Longest sentence; subword sampling is not possible without text.

    Raises:
        ValueError: The corpus holds longer sentences, or `options.subword_sampling` is True.
    """
    if options.markup is not None:
        raise ValueError(
            f"markup={options.markup!r} puts slots into text, and a prepared corpus holds ids: "
            "leave it out, or train on the text files."
        )
    if options.noise:
        raise ValueError(
            f"noise={' '.join(options.noise)} is put into text, and a prepared corpus holds ids: "
            "leave it out, and prepare the corpus with noise."
        )
    seen = corpus.record.training_text
    prepared = seen.soft_terms if seen else 0.0
    if options.soft_terms not in (None, prepared):
        raise ValueError(
            f"soft_terms={options.soft_terms} are put into text, and a prepared corpus holds ids: "
            f"give the {prepared:g} of the corpus, or prepare it with soft_terms."
        )
    if options.subword_sampling:
        raise ValueError(
            "subword_sampling needs the text, and a prepared corpus holds ids: leave it out, or "
            "train on the text files."
        )
    check_prepared_length(corpus, options)
    if not run.has_checkpoints:
        run.save_tokenizers(corpus.source_tokenizer, corpus.target_tokenizer)
    print(f"training pairs: {corpus.train.report}")
    if corpus.valid is not None:
        print(f"validation pairs: {corpus.valid.report}")
    record = {
        "origin": "prepared",
        "vocab_size": corpus.target_tokenizer.vocab_size,
        "made_from": corpus.record.made_from,
        "train": dataclasses.asdict(corpus.train.report),
        "valid": dataclasses.asdict(corpus.valid.report) if corpus.valid else None,
    }
    return TrainingData(
        corpus.source_tokenizer,
        corpus.target_tokenizer,
        corpus.train,
        corpus.valid,
        record,
        corpus.record.training_text,
    )


def check_prepared_length(corpus: PreparedCorpus, options: TrainOptions) -> None:
    """Raises `ValueError` if a corpus was prepared with longer rows than a run reads."""
    prepared = corpus.record.made_from["options"]
    if prepared["max_length"] > options.max_length:
        raise ValueError(
            f"the corpus was prepared with max_length={prepared['max_length']}, more than the "
            f"{options.max_length} of this run: raise max_length, or prepare the corpus with the "
            "lower one."
        )

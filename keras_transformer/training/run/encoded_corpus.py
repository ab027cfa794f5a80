"""What a run learns from: a corpus and the wish for a vocabulary come in, tokenizers and encoded
pairs leave.
"""

import dataclasses
from typing import Any

from keras_transformer.data.encoding.encode import EncodedPairs, encode_pairs
from keras_transformer.data.encoding.subword_sampling import SampledPairs, sampling_type
from keras_transformer.data.prepared.batches import ShardedPairs
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.text.tokenizer import ModelType, Tokenizer, train_tokenizer
from keras_transformer.text.training_text import TrainingText
from keras_transformer.training.run.run_directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """Tokenizers and the pairs they encoded.

    Attributes:
        source_tokenizer: Reads the source side.
        target_tokenizer: Reads the target side; the same object where both share a vocabulary.
        train: What the model learns from.
        valid: What it is scored on after every round, or None.
        record: What `training.json` says of the data.
        training_text: What the training lines look like; None where an earlier version prepared
            them.
    """

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: EncodedPairs | ShardedPairs
    valid: EncodedPairs | ShardedPairs | None
    record: dict[str, Any]
    training_text: TrainingText | None = None


def encode_corpus(
    corpus: Corpus,
    run: RunDirectory,
    *,
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
    vocab_size: int,
    tokenizer_type: ModelType,
    joint_vocabulary: bool,
    max_length: int,
    subword_sampling: bool = False,
) -> TrainingData:
    """Trains the tokenizers, unless there are some, and encodes the corpus.

    Args:
        corpus: Training pairs and, optionally, validation pairs.
        run: Holds the tokenizers, or gets them.
        tokenizers: Those of source and target, if they are not to be trained. Those of the run to
            resume stand in its directory.
        vocab_size: Pieces of the vocabulary (of each, with two).
        tokenizer_type: "unigram" or "bpe".
        joint_vocabulary: Whether source and target share a vocabulary.
        max_length: Longest sentence in tokens.
        subword_sampling: Whether training pairs are segmented anew in every epoch.

    Raises:
        ValueError: No pair is short enough.
    """
    if run.has_checkpoints or not run.is_chief:
        source, target = run.load_tokenizers()
    else:
        source, target = tokenizers or _train_tokenizers(
            corpus, vocab_size, tokenizer_type, joint_vocabulary
        )
        run.save_tokenizers(source, target)
    if tokenizers is not None:
        vocab_size, joint_vocabulary = target.vocab_size, source is target
        tokenizer_type = sampling_type(source) if subword_sampling else tokenizer_type
    train = encode_pairs(corpus.train, source, target, max_length)
    print(f"training pairs: {train.report}")
    training_text = TrainingText.from_lines(
        [corpus.train.source[number] for number in train.pair_numbers],
        longest_source=int(train.source.lengths.max()),
    )
    if subword_sampling:
        train = SampledPairs.from_encoded(
            train, corpus.train, source, target, tokenizer_type, max_length
        )
    valid = None
    if corpus.valid is not None:
        valid = encode_pairs(corpus.valid, source, target, max_length)
        print(f"validation pairs: {valid.report}")
    record = {
        "origin": corpus.train.origin,
        "vocab_size": vocab_size,
        "tokenizer_type": tokenizer_type,
        "joint_vocabulary": joint_vocabulary,
        "train": dataclasses.asdict(train.report),
        "valid": dataclasses.asdict(valid.report) if valid else None,
    }
    return TrainingData(source, target, train, valid, record, training_text)


def open_prepared(
    corpus: PreparedCorpus, run: RunDirectory, max_length: int, subword_sampling: bool = False
) -> TrainingData:
    """Takes tokenizers and pairs from a prepared corpus, without reading its shards.

    Args:
        corpus: Training pairs and, optionally, validation pairs.
        run: Gets the tokenizers.
        max_length: Longest sentence in tokens.
        subword_sampling: Must be False: there is no text to be segmented anew.

    Raises:
        ValueError: The corpus holds longer sentences, or `subword_sampling` is True.
    """
    if subword_sampling:
        raise ValueError(
            "subword_sampling needs the text, and a prepared corpus holds ids: leave it out, or "
            "train on the text files."
        )
    prepared = corpus.manifest.made_from["options"]
    if prepared["max_length"] > max_length:
        raise ValueError(
            f"the corpus was prepared with max_length={prepared['max_length']}, more than the "
            f"{max_length} of this run: raise max_length, or prepare the corpus with the lower one."
        )
    if not run.has_checkpoints:
        run.save_tokenizers(corpus.source_tokenizer, corpus.target_tokenizer)
    print(f"training pairs: {corpus.train.report}")
    if corpus.valid is not None:
        print(f"validation pairs: {corpus.valid.report}")
    record = {
        "origin": "prepared",
        "vocab_size": corpus.target_tokenizer.vocab_size,
        "made_from": corpus.manifest.made_from,
        "train": dataclasses.asdict(corpus.train.report),
        "valid": dataclasses.asdict(corpus.valid.report) if corpus.valid else None,
    }
    return TrainingData(
        corpus.source_tokenizer,
        corpus.target_tokenizer,
        corpus.train,
        corpus.valid,
        record,
        corpus.manifest.training_text,
    )


def _train_tokenizers(
    corpus: Corpus, vocab_size: int, tokenizer_type: ModelType, joint_vocabulary: bool
) -> tuple[Tokenizer, Tokenizer]:
    if joint_vocabulary:
        sentences = [*corpus.train.source, *corpus.train.target]
        joint = train_tokenizer(sentences, vocab_size, tokenizer_type)
        return joint, joint
    return (
        train_tokenizer(corpus.train.source, vocab_size, tokenizer_type),
        train_tokenizer(corpus.train.target, vocab_size, tokenizer_type),
    )

"""The corpus that `keras-transformer prepare` wrote, opened for training."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.data.prepared.batches import ShardedPairs
from keras_transformer.data.prepared.record import CorpusRecord
from keras_transformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class PreparedCorpus:
    """A corpus that `keras-transformer prepare` wrote, for `train`.

    Attributes:
        source_tokenizer: Reads the source side.
        target_tokenizer: Reads the target side; the same object if both share a vocabulary.
        train: The training pairs.
        valid: The validation pairs, or None.
        record: The record of the corpus.
    """

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: ShardedPairs
    valid: ShardedPairs | None
    record: CorpusRecord

    @property
    def is_single(self) -> bool:
        """Whether it holds single texts instead of pairs."""
        return self.record.is_single

    @classmethod
    def load(cls, directory: str | Path) -> "PreparedCorpus":
        """Opens a prepared corpus without reading its shards.

        Raises:
            FileNotFoundError: The directory holds no finished corpus.
            ValueError: The record or a tokenizer is damaged.
        """
        directory = Path(directory)
        record = CorpusRecord.load(directory)
        tokenizers = []
        for name, sha256 in record.tokenizers.items():
            tokenizer = Tokenizer.load(directory / name)
            if hashlib.sha256(tokenizer.model).hexdigest() != sha256:
                raise ValueError(f"{directory / name} is no longer the tokenizer of this corpus")
            tokenizers.append(tokenizer)
        pad = tokenizers[0].special_ids.pad
        train = ShardedPairs(directory, record.train, pad)
        valid = ShardedPairs(directory, record.valid, pad) if record.valid else None
        return cls(tokenizers[0], tokenizers[-1], train, valid, record)

"""The starting point of a run: existing tokenizers, or the tokenizers and weights of a finished run
to fine-tune.
"""

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.config import PRESETS, TransformerConfig
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.models import Transformer
from keras_transformer.models.files.model_file import load_model_file
from keras_transformer.runs.run_directory import SEARCH, RunDirectory
from keras_transformer.text.tokenizer_files import Tokenizers
from keras_transformer.training.transfer.parts import choices_to_take, into_translation
from keras_transformer.training.transfer.weights import Transfer, set_weights, take_from_run
from keras_transformer.training.transfer.zero_start import keep_zero_start

# Decided by the vocabularies.
_SIZES = {"source_vocab_size", "target_vocab_size"}
# These change what is learnt, not what the weights mean.
_MAY_DIFFER = {"dropout", "attention_dropout", "activation_dropout"}


@dataclass(frozen=True)
class StartingPoint:
    """Tokenizers and weights that exist before training.

    Attributes:
        tokenizers: Those of the source and of the target side, the same object if they share a
            vocabulary; None to train them.
        run: The finished run whose weights to load, or None.
        encoder_run: The finished run of an encoder alone that becomes a translation's encoder.
        decoder_run: The finished run of a decoder alone that becomes a translation's decoder.
    """

    tokenizers: Tokenizers | None = None
    run: RunDirectory | None = None
    encoder_run: RunDirectory | None = None
    decoder_run: RunDirectory | None = None

    @classmethod
    def open_parts(
        cls,
        tokenizers: Tokenizers | None,
        init: str | os.PathLike[str] | None,
        init_decoder: str | os.PathLike[str] | None,
        vocab_size: int | None,
    ) -> "StartingPoint":
        """As `open`, for a translation whose halves may come from runs of other families.

        The vocabularies are those of the runs: of both sides that of the one run if there is one.

        Args:
            tokenizers: Existing tokenizers of source and target; None to train them, or to take
                those of a run.
            init: Directory of a finished run, of a translation or of an encoder alone.
            init_decoder: Directory of a finished run of a decoder alone.
            vocab_size: Number of pieces of a vocabulary to train.

        Raises:
            FileNotFoundError: A directory holds no finished run.
            ValueError: More than one argument decides the vocabulary, or a run is of a family that
                cannot take the place.
        """
        whole = cls.open(tokenizers, init or init_decoder, vocab_size)
        encoder = RunDirectory(Path(init)) if init else None
        decoder = RunDirectory(Path(init_decoder)) if init_decoder else None
        family = None if encoder is None else encoder.load_config().to_dict().get("family")
        if decoder is None and family is None:
            return whole
        if family == "decoder":
            raise ValueError(
                f"init ({init}) holds a decoder alone: give it as init_decoder to begin a "
                "translation's decoder."
            )
        if encoder is not None and family != "encoder":
            raise ValueError(
                f"init ({init}) must be a run of masked-lm or classify to begin a translation's "
                "encoder, or of translation without init_decoder."
            )
        if decoder is not None:
            decoder.check_finished()
            if decoder.load_config().to_dict().get("family") != "decoder":
                raise ValueError(f"init_decoder ({init_decoder}) must be a run of causal-lm.")
        sides = [(run or encoder or decoder).load_tokenizers()[0] for run in (encoder, decoder)]  # type: ignore[union-attr]
        source, target = sides
        return cls(
            (source, source if source.model == target.model else target), None, encoder, decoder
        )

    @classmethod
    def open(
        cls,
        tokenizers: Tokenizers | None,
        init: str | os.PathLike[str] | None,
        vocab_size: int | None,
    ) -> "StartingPoint":
        """Checks that at most one argument is given, and reads the tokenizers of `init`.

        Args:
            tokenizers: Existing tokenizers of source and target.
            init: Directory of a finished run.
            vocab_size: Number of pieces of a vocabulary to train.

        Raises:
            FileNotFoundError: `init` holds no finished run.
            ValueError: More than one of the three decides the vocabulary.
        """
        given = {"tokenizers": tokenizers, "init": init, "vocab_size": vocab_size}
        names = [name for name, value in given.items() if value is not None]
        if len(names) > 1:
            raise ValueError(
                f"{names[0]} and {names[1]} both decide the vocabulary: give one of them."
            )
        if init is None:
            return cls(tokenizers)
        run = RunDirectory(Path(init))
        run.check_finished()
        return cls(run.load_tokenizers(), run)

    @property
    def has_weights(self) -> bool:
        """Whether there is a run whose weights to load, of the whole model or of a half."""
        return any((self.run, self.encoder_run, self.decoder_run))

    def model_fields(self, preset: str | None) -> dict[str, Any]:
        """Returns the config's fields that come from the runs.

        Args:
            preset: The size that was asked for, which a whole run must have, and which that of a
                half without a run is; None for the run's.
        """
        if self.run is not None and (preset is None or self.run.is_imported):
            config = self.run.load_config()
            taken = {name: getattr(config, name) for name in config.to_dict() if name != "family"}
            return {name: value for name, value in taken.items() if name not in _SIZES}
        configs = [run and run.load_config() for run in (self.encoder_run, self.decoder_run)]
        fields = choices_to_take(*configs)  # type: ignore[arg-type]
        for half, name in zip(configs, ("num_encoder_layers", "num_decoder_layers"), strict=True):
            if half is None and name in PRESETS.get(preset or "", {}):
                fields.pop(name, None)
        return fields

    def check_preset(self, preset: str | None, overrides: Collection[str]) -> None:
        """Raises `ValueError` if a preset names another model than the runs are.

        A preset that sets none of the model's fields otherwise, such as "base", says only how to
        train.

        Args:
            preset: The size that was asked for; None for that of the runs.
            overrides: Names of fields that were given, too, and stand instead of the preset's.
        """
        taken, free = self.model_fields(preset), _MAY_DIFFER.union(overrides)
        differing = [
            f"{name}={value!r}, trained {taken[name]!r}"
            for name, value in PRESETS.get(preset or "", {}).items()
            if name not in free and taken.get(name, value) != value
        ]
        if differing:
            runs = [run for run in (self.run, self.encoder_run, self.decoder_run) if run]
            raise ValueError(
                f"preset {preset!r} is another model than {' and '.join(str(r.path) for r in runs)}"
                f": {'; '.join(differing)}. Leave the preset out to take the model as it is."
            )

    def check_config(self, config: TransformerConfig) -> None:
        """Raises `ValueError` if a model of this config cannot take the run's weights."""
        if self.run is None:
            return
        ours, theirs = config.to_dict(), self.run.load_config().to_dict()
        for name, value in ours.items():
            if name == "max_positions" and None not in (value, theirs[name]):
                continue  # The trained ones are copied.
            if name not in _MAY_DIFFER and value != theirs[name]:
                raise ValueError(
                    f"{self.run.path} was trained with {name}={theirs[name]!r}, not {value!r}: "
                    "fine-tune it with the preset and the model's fields that it was trained with."
                )

    def check_corpus(self, corpus: Corpus | PreparedCorpus) -> None:
        """Raises `ValueError` if the corpus was encoded by other tokenizers."""
        if self.tokenizers is None or not isinstance(corpus, PreparedCorpus):
            return
        if _digests(self.tokenizers) != _digests(
            (corpus.source_tokenizer, corpus.target_tokenizer)
        ):
            these = f"the tokenizers of {self.run.path}" if self.run else "these"
            raise ValueError(
                "the corpus was prepared with other tokenizers than those to start with: prepare "
                f"it with {these} (--tokenizer), or train on the text that it was made from."
            )

    def load_weights(self, model: Transformer) -> dict[str, Any]:
        """Sets a model's weights to those of the run or of its parts, if there are any.

        Returns:
            What was taken from the parts and what was not, which is printed too; empty if a whole
            run, or none, was taken.
        """
        if self.run is not None:
            set_weights(model, load_model_file(self.run.model))
            keep_zero_start(model)
        found: Transfer | None = None
        for part, run in (("encoder", self.encoder_run), ("decoder", self.decoder_run)):
            if run is None:
                continue
            has_tokens = part == "encoder" or self.encoder_run is None
            paths = into_translation(part, has_tokens=has_tokens)  # type: ignore[arg-type]
            taken = take_from_run(model, run, paths)
            found = taken if found is None else found.joined(taken)
        if found is None:
            return {}
        print(f"from runs of other families: {found}")
        return {"transfer": found.to_dict()}

    def search(self) -> dict[str, Any]:
        """Returns the entry in `training.json` on how a run to fine-tune searches; {} for none."""
        own = {} if self.run is None else self.run.load_search()
        return {SEARCH: own} if own else {}

    def record(self) -> dict[str, Any]:
        """Returns the entry in `training.json` on the start; a resumed run must have the same."""
        return {
            "tokenizers_sha256": _digests(self.tokenizers) if self.tokenizers else None,
            "init_sha256": run_digest(self.run or self.encoder_run),
            "init_decoder_sha256": run_digest(self.decoder_run),
        }


def run_digest(run: RunDirectory | None) -> str | None:
    """Returns the SHA-256 of a run's model in hexadecimal digits; None for no run."""
    return _sha256(run.model.read_bytes()) if run else None


def _digests(tokenizers: Tokenizers) -> list[str]:
    return [_sha256(tokenizer.model) for tokenizer in tokenizers]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

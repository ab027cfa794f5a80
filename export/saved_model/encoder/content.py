"""The content of a SavedModel of an encoder alone."""

import dataclasses
from typing import Any

import tensorflow as tf

from keras_transformer.artefact.encoder_signatures import (
    HEAD_FUNCTIONS,
    EncoderSizes,
    encoder_id_signatures,
    encoder_text_signatures,
)
from keras_transformer.artefact.signatures import Signature
from keras_transformer.export.inputs import check_inputs, in_float32
from keras_transformer.export.saved_model.content import Settings
from keras_transformer.export.saved_model.encoder.answers import EncoderAnswers
from keras_transformer.export.saved_model.encoder.signatures import (
    EncoderIdSignatures,
    EncoderTextSignatures,
)
from keras_transformer.export.saved_model.requests import (
    SignatureInputs,
    prompt_values,
    requests_for,
    values_for,
)
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import Tokenizer

# Fillings of each text, if the user does not say.
NUM_HYPOTHESES = 5


@dataclasses.dataclass(frozen=True)
class EncoderContent:
    """The `Content` of an encoder, with or without a head."""

    model: EncoderOnly
    tokenizer: Tokenizer
    num_hypotheses: int
    settings: Settings

    @classmethod
    def make(
        cls, model: EncoderOnly, source: Tokenizer, target: Tokenizer, settings: Settings
    ) -> "EncoderContent":
        """As `Content.make`."""
        model.config.check_exported()
        check_inputs(model, source, target)
        count = _num_hypotheses(model, settings)
        longest = _longest_text(model, settings.max_source_length)
        fitting = dataclasses.replace(settings, max_source_length=longest)
        return cls(in_float32(model), source, count, fitting)

    @property
    def declared(self) -> dict[str, Signature]:
        """Its signatures by name."""
        config = self.model.config
        sizes = EncoderSizes(
            head=config.head,
            num_labels=len(config.labels),
            model_dim=config.model_dim,
            vector_dim=config.vector_dim,
            has_pooler=config.has_pooler and config.head is None,
            num_hypotheses=self.num_hypotheses,
            has_mask=config.special_ids.mask is not None,
            has_prompts=bool(config.prompts),
            multi_label=config.multi_label,
        )
        by_kind = {"text": encoder_text_signatures, "ids": encoder_id_signatures}
        return by_kind[self.settings.kind](sizes)

    @property
    def requests(self) -> dict[str, SignatureInputs]:
        """A request for each signature."""
        values = values_for(self.tokenizer, self.tokenizer, masks=self._fills_masks)
        return requests_for(self.declared, {**values, **prompt_values(self.model.config.prompts)})

    def trace(self, module: tf.Module) -> dict[str, Any]:
        """Returns the signatures; the module gets the tokenizer that they use."""
        begins = map(self.tokenizer.subwords.begins_word, range(self.model.config.vocab_size))
        answers = EncoderAnswers(self.model, self.num_hypotheses, list(begins))
        limit = self.settings.max_source_length
        if self.settings.kind == "ids":
            return EncoderIdSignatures(answers, limit).make(self.declared)
        module.tokenizer = GraphTokenizer(self.tokenizer.model)
        signatures = EncoderTextSignatures(answers, limit, module.tokenizer, self.tokenizer)
        return signatures.make(self.declared)

    def describe(self) -> dict[str, Any]:
        """Returns the options that are fixed in the graph."""
        fixed = {"max_source_length": self.settings.max_source_length}
        if self._fills_masks:
            fixed["num_hypotheses"] = self.num_hypotheses
        return fixed

    @property
    def _fills_masks(self) -> bool:
        config = self.model.config
        fills = HEAD_FUNCTIONS.get(config.head or "") == "fill_mask"
        return fills and config.special_ids.mask is not None


def _num_hypotheses(model: EncoderOnly, settings: Settings) -> int:
    options = dict(settings.options)
    count = options.pop("num_hypotheses", NUM_HYPOTHESES)
    given = {"min_score": settings.min_score is not None, "casing": settings.casing == "recase"}
    others = [*options, *(name for name, is_given in given.items() if is_given)]
    if others:
        raise TypeError(
            f"an encoder does not search, got {', '.join(others)}: leave it out; only "
            "num_hypotheses, of fill_mask, can be given."
        )
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"num_hypotheses must be an integer, got {count!r}.")
    most = len(model.config.special_ids.text_ids(model.config.vocab_size))
    if not 1 <= count <= most:
        raise ValueError(
            f"num_hypotheses must lie in 1 to {most}, the number of ids of text, got {count}."
        )
    return count


def _longest_text(model: EncoderOnly, limit: int) -> int:
    """Returns the most tokens of a text, begin and end tokens excluded: as given, or fewer."""
    config = model.config
    if config.longest_row is None:
        return limit
    added = len(config.special_ids.row_ends) + (config.special_ids.bos is not None)
    if config.longest_row <= added:
        raise ValueError(
            f"max_positions ({config.max_positions}) leaves no room for a token of text."
        )
    return min(limit, config.longest_row - added)

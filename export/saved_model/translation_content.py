"""The content of a SavedModel that translates."""

import dataclasses
from typing import Any

import tensorflow as tf

from keras_transformer.artefact.signatures import (
    AnswerSizes,
    Signature,
    id_signatures,
    text_signatures,
)
from keras_transformer.export.inputs import check_inputs, in_float32
from keras_transformer.export.saved_model.content import Settings
from keras_transformer.export.saved_model.requests import (
    SignatureInputs,
    language_values,
    requests_for,
    translation_values,
)
from keras_transformer.export.saved_model.signatures import IdSignatures, TextSignatures
from keras_transformer.export.saved_model.translation import Translation
from keras_transformer.models.transformer import Transformer
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.named_ids import check_token_ids
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class TranslationContent:
    """The `Content` of an encoder-decoder."""

    model: Transformer
    source: Tokenizer
    target: Tokenizer
    search: SearchOptions
    settings: Settings

    @classmethod
    def make(
        cls, model: Transformer, source: Tokenizer, target: Tokenizer, settings: Settings
    ) -> "TranslationContent":
        """Checks everything against the model, as `ContentMaker` says."""
        search = settings.search_options()
        check_inputs(model, source, target)
        check_token_ids(search, model.config.target_vocab_size, model.config.special_ids)
        limits = ModelLimits.of(model.config.to_dict(), model.config.special_ids)
        longest = limits.longest_source(settings.max_source_length)
        fitting = dataclasses.replace(settings, max_source_length=longest)
        return cls(in_float32(model), source, target, limits.fit(search), fitting)

    @property
    def declared(self) -> dict[str, Signature]:
        """Its signatures by name."""
        sizes = AnswerSizes(
            num_hypotheses=self.search.num_hypotheses,
            max_length=self.search.max_length,
            model_dim=self.model.config.model_dim,
            has_min_score=self.settings.min_score is not None,
            has_languages=self.model.config.marks.can_choose,
        )
        return text_signatures(sizes) if self.settings.kind == "text" else id_signatures(sizes)

    @property
    def requests(self) -> dict[str, SignatureInputs]:
        """A request for each signature."""
        return requests_for(
            self.declared,
            {
                **translation_values(self.source, self.target),
                **language_values(self.model.config.marks),
            },
        )

    def trace(self, module: tf.Module) -> dict[str, Any]:
        """Returns the signatures; the module gets the tokenizers that they use."""
        translation = Translation(self.model, self.search, self.settings.max_source_length)
        min_score = self.settings.min_score
        if self.settings.kind == "ids":
            return IdSignatures(translation, min_score).make(self.declared)
        module.source = GraphTokenizer(self.source.model)
        module.target = module.source
        if self.target is not self.source:
            module.target = GraphTokenizer(self.target.model)
        signatures = TextSignatures(translation, module.source, module.target, min_score)
        return signatures.make(self.declared)

    def describe(self) -> dict[str, Any]:
        """Returns the options that are fixed in the graph."""
        return {
            "search": dataclasses.asdict(self.search),
            "max_source_length": self.settings.max_source_length,
            "min_score": self.settings.min_score,
        }

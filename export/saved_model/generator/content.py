"""The content of a SavedModel of a decoder alone."""

import dataclasses
from typing import Any

import tensorflow as tf

from keras_transformer.artefact.generator_signatures import (
    GeneratorSizes,
    generator_id_signatures,
    generator_text_signatures,
)
from keras_transformer.artefact.signatures import Signature
from keras_transformer.export.inputs import check_inputs, in_float32
from keras_transformer.export.saved_model.content import Settings
from keras_transformer.export.saved_model.generator.generation import Generation
from keras_transformer.export.saved_model.generator.signatures import (
    GeneratorIdSignatures,
    GeneratorTextSignatures,
)
from keras_transformer.export.saved_model.requests import (
    SignatureInputs,
    requests_for,
    single_values,
)
from keras_transformer.generation.engine import check_generation, longest_prompt
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.search.model_limits import HypothesisSize
from keras_transformer.search.named_ids import check_token_ids
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class GeneratorContent:
    """The `Content` of a decoder."""

    model: DecoderOnly
    tokenizer: Tokenizer
    search: SearchOptions
    settings: Settings

    @classmethod
    def make(
        cls, model: DecoderOnly, source: Tokenizer, target: Tokenizer, settings: Settings
    ) -> "GeneratorContent":
        """Checks everything against the model, as `ContentMaker` says."""
        search = settings.search_options()
        check_inputs(model, source, target)
        check_generation(search)
        if settings.min_score is not None:
            raise ValueError("min_score is for translations: leave it out.")
        HypothesisSize.of(vars(model.config)).check(search)
        config, longest = model.config, settings.max_source_length
        check_token_ids(search, config.vocab_size, config.special_ids)
        if config.max_positions is not None:
            # The start token takes the first position.
            longest = min(longest, config.max_positions - 1)
        fitting = dataclasses.replace(settings, max_source_length=longest)
        return cls(in_float32(model), source, search, fitting)

    @property
    def declared(self) -> dict[str, Signature]:
        """Its signatures by name."""
        sizes = GeneratorSizes(
            num_hypotheses=self.search.num_hypotheses, max_length=self.search.max_length
        )
        by_kind = {"text": generator_text_signatures, "ids": generator_id_signatures}
        return by_kind[self.settings.kind](sizes)

    @property
    def requests(self) -> dict[str, SignatureInputs]:
        """A request for each signature."""
        return requests_for(self.declared, single_values(self.tokenizer))

    def trace(self, module: tf.Module) -> dict[str, Any]:
        """Returns the signatures; the module gets the tokenizer that they use."""
        longest = self.settings.max_source_length
        prompt = longest_prompt(self.search, longest, self.model.config.max_positions)
        generation = Generation(self.model, self.search, prompt or longest, longest)
        if self.settings.kind == "ids":
            return GeneratorIdSignatures(generation).make(self.declared)
        module.tokenizer = GraphTokenizer(self.tokenizer.model)
        return GeneratorTextSignatures(generation, module.tokenizer).make(self.declared)

    def describe(self) -> dict[str, Any]:
        """Returns the options that are fixed in the graph."""
        return {
            "search": dataclasses.asdict(self.search),
            "max_source_length": self.settings.max_source_length,
        }

"""The content of a SavedModel that searches: a translator, or a decoder, which has no source."""

import dataclasses
from typing import Any

import tensorflow as tf

from keras_transformer.artefact.search_signatures import (
    AnswerSizes,
    generator_id_signatures,
    generator_text_signatures,
    id_signatures,
    text_signatures,
)
from keras_transformer.artefact.signatures import Signature
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.export.inputs import check_inputs, in_float32
from keras_transformer.export.saved_model.content import Settings
from keras_transformer.export.saved_model.requests import (
    SignatureInputs,
    language_values,
    requests_for,
    values_for,
)
from keras_transformer.export.saved_model.searches import Generation, Translation
from keras_transformer.export.saved_model.signatures import (
    GenerationSignatures,
    TranslationSignatures,
)
from keras_transformer.generation.engine import check_generation, longest_prompt
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.transformer import Transformer
from keras_transformer.search.model_limits import HypothesisSize, ModelLimits
from keras_transformer.search.named_ids import check_token_ids
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class SearchContent:
    """The `Content` of a translator or of a decoder alone."""

    model: Transformer | DecoderOnly
    source: Tokenizer
    target: Tokenizer
    search: SearchOptions
    settings: Settings

    @classmethod
    def make(
        cls,
        model: Transformer | DecoderOnly,
        source: Tokenizer,
        target: Tokenizer,
        settings: Settings,
    ) -> "SearchContent":
        """As `Content.make`."""
        search, longest = settings.search_options(), settings.max_source_length
        check_inputs(model, source, target)
        if isinstance(model, DecoderOnly):
            _check_decoder(model, search, settings)
            if model.config.max_positions is not None:
                # The start token takes the first position.
                longest = min(longest, model.config.max_positions - 1)
        else:
            _check_slots(model, settings)
            if settings.kind == "ids" and settings.casing == "recase":
                raise ValueError("casing='recase' is for texts: signatures from ids have none.")
            check_token_ids(search, model.config.target_vocab_size, model.config.special_ids)
            limits = ModelLimits.of(model.config.to_dict(), model.config.special_ids)
            search, longest = limits.fit(search), limits.longest_source(longest)
        fitting = dataclasses.replace(settings, max_source_length=longest)
        return cls(in_float32(model), source, target, search, fitting)

    @property
    def declared(self) -> dict[str, Signature]:
        """Its signatures by name."""
        sizes = AnswerSizes(
            num_hypotheses=self.search.num_hypotheses,
            max_length=self.search.max_length,
            model_dim=self.model.config.model_dim,
            has_min_score=self.settings.min_score is not None,
            has_languages=self._marks.can_choose,
        )
        text, ids = text_signatures, id_signatures
        if isinstance(self.model, DecoderOnly):
            text, ids = generator_text_signatures, generator_id_signatures
        return text(sizes) if self.settings.kind == "text" else ids(sizes)

    @property
    def requests(self) -> dict[str, SignatureInputs]:
        """A request for each signature."""
        values = values_for(self.source, self.target)
        return requests_for(self.declared, {**values, **language_values(self._marks)})

    def trace(self, module: tf.Module) -> dict[str, Any]:
        """Returns the signatures; the module gets the tokenizers that they use."""
        module.source = module.target = None
        if self.settings.kind == "text":
            module.source = module.target = GraphTokenizer(self.source.model)
            if self.target is not self.source:
                module.target = GraphTokenizer(self.target.model)
        readers, longest = (module.source, module.target), self.settings.max_source_length
        if isinstance(self.model, DecoderOnly):
            prompt = longest_prompt(self.search, longest, self.model.config.max_positions)
            generation = Generation(self.model, self.search, prompt or longest, longest)
            return GenerationSignatures(generation, *readers).make(self.declared)
        translation = Translation(self.model, self.search, longest)
        signatures = TranslationSignatures(
            translation, *readers, self.settings.min_score, self._recases
        )
        return signatures.make(self.declared)

    def describe(self) -> dict[str, Any]:
        """Returns the options that are fixed in the graph."""
        fixed = {
            "search": dataclasses.asdict(self.search),
            "max_source_length": self.settings.max_source_length,
        }
        if isinstance(self.model, Transformer):
            fixed |= {"min_score": self.settings.min_score, "recases": self._recases}
        return fixed

    @property
    def _recases(self) -> bool:
        return self.settings.kind == "text" and self.settings.casing != "keep"

    @property
    def _marks(self) -> SentenceMarks:
        return SentenceMarks() if isinstance(self.model, DecoderOnly) else self.model.config.marks


def _check_slots(model: Transformer, settings: Settings) -> None:
    if model.config.special_ids.slots and settings.kind == "text":
        raise ValueError(
            "a SavedModel that reads text cannot keep spans, and the run was trained with markup: "
            "give signatures='ids' (--signatures ids), whose searches write each slot of a source "
            "once, or export to ONNX, whose server keeps spans."
        )


def _check_decoder(model: DecoderOnly, search: SearchOptions, settings: Settings) -> None:
    check_generation(search)
    if model.config.reads_backward:
        raise ValueError(
            "a SavedModel continues texts, and a model with direction='backward' cannot: export "
            "it to ONNX, which scores texts."
        )
    if settings.min_score is not None:
        raise ValueError("min_score is for translations: leave it out.")
    if settings.casing == "recase":
        raise ValueError("casing is for translations: leave it out.")
    HypothesisSize.of(vars(model.config)).check(search)
    check_token_ids(search, model.config.vocab_size, model.config.special_ids)

"""The contents of a SavedModel, for models of every family."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

import tensorflow as tf

from keras_transformer.artefact.signatures import Signature
from keras_transformer.export.saved_model.requests import SignatureInputs
from keras_transformer.export.saved_model.settings import SignatureKind
from keras_transformer.markup.casing import Casing
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """The user's settings of a version's content.

    Args:
        kind: Kind of signatures.
        max_source_length: Most tokens of a text.
        min_score: Log-probability a token below which confidence is low, if known.
        casing: Whether a translator's texts in capitals are recased; "auto" means yes.
        options: Fields of `SearchOptions`.
    """

    kind: SignatureKind
    max_source_length: int
    min_score: float | None
    casing: Casing
    options: Mapping[str, Any]

    def search_options(self) -> SearchOptions:
        """Returns the options of a search that a graph can do.

        Raises:
            TypeError: An option is unknown or of the wrong type.
            ValueError: An option is out of range, or cannot be exported.
        """
        search = SearchOptions(**self.options)
        if search.sample:
            raise ValueError("sample=True cannot be exported: requests carry no random numbers.")
        texts = (search.stop, search.stop_tokens, search.ban, search.require, search.grammar)
        if any(texts):
            raise ValueError(
                "stop, stop_tokens, ban, require, json_schema, regex and choices cannot be "
                "exported: a graph does not look for them; the server and OnnxGenerator do."
            )
        return search


class Content(Protocol):
    """The content of a version: a model in float32 and the functions that clients call.

    Attributes:
        model: The Keras model.
        declared: The signatures by name.
        requests: A request for each of them, which the version is checked with.
    """

    @classmethod
    def make(
        cls, model: Any, source: Tokenizer, target: Tokenizer, settings: Settings
    ) -> "Content":
        """Checks everything against the model.

        Args:
            model: A model of the family.
            source: Its tokenizer; of two, that of the source side.
            target: Its tokenizer of the target side; `source` itself if there is one for both.
            settings: The user's settings.

        Raises:
            TypeError: An option is unknown or of the wrong type.
            ValueError: An option is out of range, or something does not fit the model.
        """

    @property
    def model(self) -> Any:
        """The Keras model."""

    @property
    def declared(self) -> dict[str, Signature]:
        """The signatures by name."""

    @property
    def requests(self) -> dict[str, SignatureInputs]:
        """A request for each signature."""

    def trace(self, module: tf.Module) -> dict[str, Any]:
        """Returns the signatures as graphs; the module gets the tokenizers that they use."""

    def describe(self) -> dict[str, Any]:
        """Returns what `export.json` says of the choices, as plain JSON values."""

"""An imported model as it was read from a directory: config, table of weights and tokenizers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.layers.initializers import values_follow
from keras_transformer.models.families import AnyModel, build_model
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry, load_weights
from keras_transformer.search.keywords import check_defaults
from keras_transformer.text.tokenizer import Tokenizer

# What no file is so rounded or compressed as to exceed.
_WEIGHTS_A_BYTE, _FEW_WEIGHTS = 2, 1_000_000


@dataclass(frozen=True)
class Imported:
    """A model of another toolkit, read but not yet built.

    Attributes:
        format: The format's name, such as "marian".
        config: The config of ours that is the same model.
        table: Takes a model of that config and returns its weights' entries.
        tensors: The weights.
        tokenizers: Those of source and target, the same object if they share a vocabulary, or that
            of single texts twice.
        unread: Beginnings and endings of names of tensors that say nothing that the others do not.
        unused: Those of weights that no part of the model reads.
        search: Options of a search that the model was meant to be used with.
        left_out: What its files say of a search that no option of ours does, as "name=value".
        chat: The template of chats; None if there is none.

    Raises:
        ImportRefusedError: The vocabularies' special ids differ.
        ValueError: No search has such options.
    """

    format: str
    config: ModelConfig
    table: Callable[[Any], Iterable[Entry]]
    tensors: Tensors
    tokenizers: tuple[Tokenizer, Tokenizer]
    unread: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    search: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    chat: ChatTemplate | None = None

    def __post_init__(self) -> None:
        check_defaults(self.search)
        source, target = (tokenizer.special_ids for tokenizer in self.tokenizers)
        if source != target:
            raise ImportRefusedError(
                f"{self.tensors.origin} has vocabularies with different special ids, {source} for "
                f"the source and {target} for the target: a model here has one of each."
            )

    def between(self, source_language: str | None, target_language: str | None) -> "Imported":
        """Returns the same with other default languages.

        Raises:
            ValueError: The model does not know a language.
        """
        if not isinstance(self.config, TransformerConfig):
            raise ValueError("a model with one stack does not translate: leave out its languages.")
        marks = self.config.marks
        if marks.languages_in != "ends":
            marks.begins(source_language, target_language)
        marks = replace(
            marks,
            source_language=source_language or marks.source_language,
            target_language=target_language or marks.target_language,
        )
        config = replace(self.config, marks=marks)
        if marks.languages_in == "ends" and marks.target_language is not None:
            start = marks.languages[marks.target_language]
            config = replace(config, special_ids=replace(config.special_ids, decoder_start=start))
        return replace(self, config=config)

    def build(self, dtype_policy: str | None = None) -> AnyModel:
        """Builds the model and gives it the weights.

        Raises:
            ImportRefusedError: The weights do not fit the config, or a language must be chosen.
        """
        self._check_languages()
        self._check_sizes()
        with values_follow():
            model = build_model(self.config, dtype_policy)
        load_weights(
            model,
            self.table(model),
            self.tensors,
            origin=self.tensors.origin,
            unread=(*self.unread, *self.unused),
        )
        return model

    def names_unused(self, model: AnyModel) -> list[str]:
        """Returns the names of weights in the file that no part of the model built of it reads."""
        read = {entry.name for entry in self.table(model)}
        silent, others = self.unread, self.unused
        return sorted(
            name
            for name in self.tensors
            if name not in read
            and (name.startswith(others) or name.endswith(others))
            and not (name.startswith(silent) or name.endswith(silent))
        )

    def _check_sizes(self) -> None:
        """Refuses a config of far more weights than there are bytes, before memory is taken."""
        origin = self.tensors.origin
        found = sum(one.stat().st_size for one in Path(origin).parent.iterdir() if one.is_file())
        needed = self.config.parameter_count
        if needed > _WEIGHTS_A_BYTE * found + _FEW_WEIGHTS:
            raise ImportRefusedError(
                f"{origin}: the config describes a model of {needed:,} weights, and all files "
                f"together have {found:,} bytes: config and weights are of different models."
            )

    def _check_languages(self) -> None:
        marks = getattr(self.config, "marks", None)
        if marks is not None and marks.languages_in == "ends" and marks.target_language is None:
            raise ImportRefusedError(
                f"{self.tensors.origin} is a model whose decoder begins with the language to "
                "translate into: import it with --target-language and --source-language."
            )

"""Methods of the models of all families, as in Keras and keras-hub: quantized saving, LoRA and
presets.
"""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, ClassVar, Self

import keras

from keras_transformer.config.families import ModelConfig
from keras_transformer.garbage import quick_collections
from keras_transformer.layers.variants.composite import PARTS, restore_parts, saved_parts
from keras_transformer.models.files.keras_export import exporting
from keras_transformer.models.files.preset import load_preset, save_preset
from keras_transformer.models.lora.adaptation import (
    adapt_low_rank,
    adapted_layers,
    check_can_be_adapted,
    check_is_kept_by_files,
    without_low_rank,
)
from keras_transformer.models.lora.weights_file import load_lora_file, save_lora_file
from keras_transformer.models.own_loss import own_loss
from keras_transformer.models.traced_once import TracedOnce
from keras_transformer.text.tokenizer import Tokenizer


class FamilyModel(TracedOnce, keras.Model):
    """The base of the three families' models.

    Attributes:
        config: The config that the model was built from.
        search_engine: What `generate` searches with; None until it is needed.
    """

    config: Any  # ModelConfig, of the model's family
    config_class: ClassVar[type[ModelConfig]]
    search_engine: Any = None

    def compile(self, optimizer: Any = "adam", loss: Any = "auto", **kwargs: Any) -> None:
        """Compiles as Keras does, by default with the loss and the metrics of the model's family.

        Args:
            optimizer: As for `keras.Model.compile`.
            loss: As there; "auto" for the family's own (`own_loss`), with its metrics unless some
                are given. None for none.
            **kwargs: As there.

        Raises:
            ValueError: The model's head has no loss of its own, and none is given.

        Example:
            `model.compile(keras.optimizers.Adam(0.001), jit_compile=False)`
        """
        if isinstance(loss, str) and loss == "auto":
            own = own_loss(self.config)
            if not own:
                kind = "crf" if self.config.crf else f"the head {self.config.head!r}"
                raise ValueError(
                    f"a model with {kind} has no loss of its own: give compile one, or loss=None."
                )
            loss = own.pop("loss")
            if kwargs.get("metrics") is None and kwargs.get("weighted_metrics") is None:
                kwargs.update(own)
        super().compile(optimizer, loss, **kwargs)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles as a saved model was; Keras does so only where `compile` is its own."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

    def quantize(
        self,
        mode: str | None = None,
        config: Any = None,
        filters: str | Collection[str] | Callable[[Any], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        """Quantizes linear layers as Keras does; embeddings stay as they are.

        Args:
            mode: "int8", "int4" or "float8".
            config: Keras's quantization config instead of a mode.
            filters: Which layers, as for `keras.Model.quantize`; all linear ones if None.
            **kwargs: As for `keras.Model.quantize`.

        Raises:
            ValueError: The model has LoRA, which no file could hold beside integers.
        """
        for layer in adapted_layers(self):
            raise ValueError(
                f"{layer.path} has LoRA, which would be rounded away when the quantized model is "
                "saved: quantize what merge_lora() returns."
            )
        with quick_collections():
            super().quantize(mode, config=config, filters=filters or _can_be_quantized, **kwargs)
        self._forget_functions()

    def save(self, filepath: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """Saves the model as Keras does.

        Raises:
            ValueError: A layer is quantized and has LoRA: what is loaded would be another model.
        """
        check_is_kept_by_files(self)
        super().save(filepath, *args, **kwargs)

    def save_weights(self, filepath: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """Saves the weights as Keras does; raises as `save` does."""
        check_is_kept_by_files(self)
        super().save_weights(filepath, *args, **kwargs)

    def export(
        self, filepath: str | os.PathLike[str], format: str = "tf_saved_model", **kwargs: Any
    ) -> None:
        """Writes the model's computation as Keras does: one call, without search and tokenizers.

        Args:
            filepath: The file; a directory for "tf_saved_model".
            format: "tf_saved_model", "onnx", "litert" or another of Keras's.
            **kwargs: As for `keras.Model.export`.

        Raises:
            ValueError: The format cannot hold a quantized model.
        """
        with exporting(self, format):
            super().export(str(filepath), format, **kwargs)

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        target_layer_names: Collection[str] | None = None,
        fresh: Collection[str] = (),
    ) -> None:
        """Keeps all weights, and trains a product AB beside linear maps (Hu et al. 2021) instead.

        The model computes what it did until A and B are trained. Compile it after this call.

        Args:
            rank: Width of A and height of B.
            lora_alpha: The products are multiplied by this over the rank; the rank if None.
            target_layer_names: Names of linear layers in attention and feed-forward layers, such as
                "query" and "value", or their paths; all if None.
            fresh: Paths of weights to train themselves, such as those of a new head.

        Raises:
            ValueError: The rank is out of range, a layer or path is unknown, the model has LoRA
                already, or it is quantized: what is trained would be rounded when it is saved.

        Example:
            `model.enable_lora(8)`
        """
        check_can_be_adapted(self)
        adapt_low_rank(self, rank, fresh, alpha=lora_alpha, targets=target_layer_names)
        self._forget_functions()

    def save_lora_weights(self, filepath: str | os.PathLike[str]) -> None:
        """Writes what LoRA trains, and nothing else; the file is complete or not there.

        Args:
            filepath: A name that ends in `.lora.npz`.

        Raises:
            ValueError: The model has no LoRA, or the name ends otherwise.
            OSError: The file cannot be written.
        """
        save_lora_file(self, Path(filepath))

    def load_lora_weights(self, filepath: str | os.PathLike[str]) -> None:
        """Reads what `save_lora_weights` wrote, and enables LoRA as the file needs it.

        Args:
            filepath: The file of a model with the same weights as this one.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: It is no LoRA file, or it does not fit the model; the model is as before.
        """
        load_lora_file(self, Path(filepath))
        self._forget_functions()

    def merge_lora(self) -> Self:
        """Returns a model without LoRA that computes the same, and can be saved or exported."""
        return without_low_rank(self)

    def save_to_preset(
        self,
        directory: str | os.PathLike[str],
        tokenizer: Tokenizer | None = None,
        target_tokenizer: Tokenizer | None = None,
        *,
        overwrite: bool = False,
    ) -> None:
        """Writes config, weights and tokenizers, merged and without the optimizer's state.

        The directory is laid out as a finished training run: `from_preset`, `load_run`,
        `from_pretrained` and, if it has tokenizers, the commands read it.

        Args:
            directory: Created if missing.
            tokenizer: The model's, or that of its source; None to save none.
            target_tokenizer: That of a translation's target; `tokenizer` if None.
            overwrite: Replace the preset that the directory holds.

        Raises:
            FileExistsError: The directory holds something, or with `overwrite` something else than
                a preset.
            ValueError: A tokenizer has more ids than the model.
            OSError: The directory cannot be written.
        """
        save_preset(self, Path(directory), tokenizer, target_tokenizer, overwrite=overwrite)

    @classmethod
    def from_preset(
        cls,
        directory: str | os.PathLike[str],
        load_weights: bool = True,
        dtype: str | None = None,
    ) -> Self:
        """Reads the model of a preset or of a finished training run.

        Args:
            directory: A directory on disk; nothing is downloaded.
            load_weights: Whether to read the weights; if not, they are new ones.
            dtype: Keras dtype policy; that which the model was saved with if None.

        Raises:
            FileNotFoundError: There is no such directory, or a file in it is missing.
            ValueError: Its model is of another class, or is quantized, which decides its dtype.
        """
        return load_preset(cls, Path(directory), load_weights=load_weights, dtype=dtype)

    def training_states(self) -> keras.Model:
        """Returns the part of the model that training reads: `prediction_states`."""
        states: keras.Model = self.prediction_states
        return states

    def get_config(self) -> dict[str, Any]:
        """Returns the config as plain values."""
        return {
            "config": self.config.to_dict(),
            "dtype_policy": self.dtype_policy.name,
            "name": self.name,
            "trainable": self.trainable,
            **saved_parts(self),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """Builds the model from `get_config`'s result, with its original dtype policies."""
        settings = dict(config)
        parts: dict[str, Any] = {key: settings.pop(key) for key in PARTS if key in settings}
        model = cls(cls.config_class.from_dict(settings.pop("config")), **settings)
        restore_parts(model, parts)
        return model

    def _forget_functions(self) -> None:
        """Drops what was compiled of layers that are others now."""
        self.train_function = self.test_function = self.predict_function = None
        self.search_engine = None
        for name in [name for name, part in vars(self).items() if isinstance(part, keras.Model)]:
            # What `cached_property` kept: the encoder as a model, and the like.
            del self.__dict__[name]


def _can_be_quantized(layer: keras.layers.Layer) -> bool:
    return type(layer).quantize is not keras.layers.Layer.quantize

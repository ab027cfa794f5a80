"""The classes that saved models name, known to Keras as soon as both packages are imported.

Keras looks a class up in its registry and never imports one. Each name is therefore registered at
once, with a stand-in that imports its class when a model needs it: neither package loads the other.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "keras_transformer"
# Where each class stands that `register_keras_serializable(PACKAGE)` decorates.
HOMES = {
    "AdaptiveEmbedding": "layers.tokens.adaptive",
    "AdaptiveSoftmax": "layers.heads.adaptive_softmax",
    "ChainHead": "layers.heads.classes",
    "CharacterEmbedding": "layers.tokens.characters",
    "ClassHead": "layers.heads.classes",
    "ContextualFeatures": "layers.contextual_features",
    "Decoder": "layers.decoder.stack",
    "DecoderBlock": "layers.decoder.block",
    "DecoderOnly": "models.decoder_only",
    "Dense": "layers.products.dense",
    "Embeddings": "layers.embeddings",
    "Encoder": "layers.encoder.stack",
    "EncoderBlock": "layers.encoder.stack",
    "EncoderOnly": "models.encoder_only",
    "FeedForward": "layers.feed_forward",
    "GloVe": "vectors.glove",
    "LSTM": "layers.recurrences.lstm",
    "LayerMix": "layers.heads.layer_mix",
    "LayerNorm": "layers.variants.layer_norm",
    "LearnedPositions": "layers.positions",
    "LinearChainCRF": "layers.heads.linear_chain_crf",
    "DisentangledDistances": "layers.distances.disentangled",
    "MaskedTokenHead": "layers.heads.masked_tokens",
    "MultiHeadAttention": "layers.attention",
    "Perplexity": "training.loss.metrics",
    "Pooler": "layers.heads.pooler",
    "QueryStart": "layers.encoder.two_streams",
    "RMSNorm": "layers.variants.rms_norm",
    "RelativeBias": "layers.distances.relative_bias",
    "RelativeSegments": "layers.distances.relative_segments",
    "RelativeSinusoids": "layers.distances.relative_sinusoids",
    "Residual": "layers.residual",
    "SSRU": "layers.recurrences.ssru",
    "SinusoidalPositions": "layers.positions",
    "SmoothedCrossEntropy": "training.loss.label_smoothing",
    "TokenAccuracy": "training.loss.metrics",
    "TokenEmbedding": "layers.token_embedding",
    "Transformer": "models.transformer",
    "VectorHead": "layers.heads.text_vector",
    "VocabularyHead": "layers.head",
    "WarmupSchedule": "training.optimizer.schedule",
}


def register_with_keras() -> None:
    """Registers the names, now if Keras is imported, else as soon as it is."""
    if sys.modules.get("keras") is not None:
        _register(import_module("keras"))  # waits for a thread that is still importing it
    else:
        sys.meta_path.insert(0, _KerasFinder())


def _register(keras: ModuleType) -> None:
    registry = keras.saving.get_custom_objects()
    for name, home in HOMES.items():
        registry.setdefault(f"{PACKAGE}>{name}", _stand_in(name, home))


def _stand_in(name: str, home: str) -> type:
    """Returns what Keras finds until the class is imported, whose decorator then replaces it."""

    def from_config(config: dict[str, Any]) -> Any:
        return getattr(import_module(f"{PACKAGE}.{home}"), name).from_config(config)

    return type(name, (), {"from_config": staticmethod(from_config)})


class _KerasFinder:
    """Finds `keras` as the other finders do, and registers the names once it has been run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "keras":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._register_after(spec.loader)
        return spec

    def _register_after(self, loader: Any) -> None:
        run = loader.exec_module

        def run_and_register(module: ModuleType) -> None:
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _register(module)

        loader.exec_module = run_and_register

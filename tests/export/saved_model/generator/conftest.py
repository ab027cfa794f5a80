"""SavedModels of small decoders, each written once and loaded in a session."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.text.tokenizer import Tokenizer

LEARNED = {"max_positions": 20}
MODERN = {
    "positions": "none",
    "max_positions": None,
    "rotary_base": 100.0,
    "norm_kind": "rms_norm",
    "gated_feed_forward": True,
    "use_bias": False,
    "num_key_value_heads": 1,
    "query_key_norm": True,
    "window": 3,
    "attention_soft_cap": 0.5,
    "final_logit_soft_cap": 3.0,
}
BEAM = {"beam_size": 2, "num_hypotheses": 2, "max_length": 6}
GREEDY = {"max_length": 7, "repetition_penalty": 1.3, "min_length": 2}


@dataclasses.dataclass(frozen=True)
class Served:
    """A SavedModel in a session, what it was made of, and the Keras generator beside it."""

    path: Path
    model: Any
    search: dict[str, Any]
    generator: Any
    run: Callable[..., dict[str, np.ndarray]]


@pytest.fixture(scope="session")
def make_decoder(randomize: Callable[..., Any]) -> Callable[..., Any]:
    """`make_decoder(**fields)`: a random decoder, 8 wide."""
    from keras_transformer.models.decoder_only import build_decoder

    def make(**fields: Any) -> Any:
        sizes = {
            "vocab_size": 60,
            "model_dim": 8,
            "feed_forward_dim": 12,
            "num_heads": 2,
            "num_layers": 1,
        }
        return randomize(build_decoder(DecoderConfig(**{**sizes, **fields})))

    return make


@pytest.fixture(scope="session")
def serve_decoder(
    make_decoder: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    open_session: Callable[[Path], Any],
) -> Callable[..., Served]:
    """`serve_decoder(kind)`: "text" has learned positions and beams, "ids" is modern and greedy."""
    from keras_transformer.decoding.generator import Generator
    from keras_transformer.export import export_saved_model

    made: dict[str, Served] = {}

    def serve(kind: Any) -> Served:
        if kind not in made:
            fields, search = {"text": (LEARNED, BEAM), "ids": (MODERN, GREEDY)}[kind]
            model = make_decoder(**fields)
            path = export_saved_model(
                model,
                tmp_path_factory.mktemp("decoder") / "demo",
                tokenizer=tokenizer,
                signatures=kind,
                max_source_length=16,
                **search,
            )
            generator = Generator(model, tokenizer, max_text_length=16, long_texts="cut")
            made[kind] = Served(path, model, search, generator, open_session(path))
        return made[kind]

    return serve

"""Small encoders and a decoder as artefacts, and what serves and opens them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

SIZES = {"vocab_size": 60, "model_dim": 16, "feed_forward_dim": 24, "num_heads": 2, "num_layers": 1}
LABELS = {"classification": ("good", "bad", "neither"), "tagging": ("noun", "verb")}
SEARCH = {"beam_size": 2, "num_hypotheses": 2, "max_length": 6}
# What of it a model uses.
USED: dict[str | None, Any] = {
    "decoder": SEARCH,
    "masked_lm": {"num_hypotheses"},
    "pretraining": {"num_hypotheses"},
}
# Of a model with the head "embedding".
VECTORS = {
    "pooling": "max+last",
    "dense": ({"out_dim": 5},),
    "prompts": {"query": "the river ", "none": ""},
    "default_prompt": "query",
}


@pytest.fixture(scope="session")
def family_artefact(
    texts: list[str], randomize: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str | None], Path]:
    """`family_artefact(head)`: an encoder with a head, or the "decoder"; each made once."""
    from keras_transformer.export import export_onnx
    from keras_transformer.models.decoder_only import build_decoder
    from keras_transformer.models.encoder_only import build_encoder

    made: dict[str | None, Path] = {}

    def make(head: Any) -> Path:
        if head not in made:
            tokenizer: Tokenizer = train_tokenizer(texts, 60, "bpe", has_mask=True)
            settings = {**SIZES, "special_ids": tokenizer.special_ids, "max_positions": 24}
            if head == "decoder":
                model = build_decoder(DecoderConfig(**settings))
            else:
                own = VECTORS if head == "embedding" else {"labels": LABELS.get(head, ())}
                model = build_encoder(EncoderConfig(head=head, **own, **settings))
            path = tmp_path_factory.mktemp("family") / str(head)
            made[head] = export_onnx(randomize(model), tokenizer, path)
        return made[head]

    return make


@pytest.fixture
def serve(
    family_artefact: Callable[[Any], Path], start: Callable[..., Any]
) -> Iterator[Callable[..., Any]]:
    """`serve(head, **options)`: a server of such a model."""

    def run(head: str | None, **options: Any) -> Any:
        search = {name: value for name, value in SEARCH.items() if name in USED.get(head, ())}
        return start(family_artefact(head), search, max_source_length=18, **options)

    yield run

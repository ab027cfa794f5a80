"""SavedModels of small encoders, each written once and loaded in a session."""

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

LABELS = {"classification": ("good", "bad", "neither"), "tagging": ("noun", "verb")}
# Of a model with the head "embedding".
VECTORS = {
    "pooling": "max+weighted_mean",
    "dense": ({"out_dim": 5},),
    "prompts": {"query": "the river ", "none": ""},
    "default_prompt": "query",
}
LIMIT = 14


@dataclasses.dataclass(frozen=True)
class Served:
    """A SavedModel in a session, and what it was made of."""

    path: Path
    model: Any
    tokenizer: Tokenizer
    run: Callable[..., dict[str, np.ndarray]]

    def rows(self, texts: list[str]) -> list[list[int]]:
        """Ids of texts, as the model was taught to read masks."""
        space = self.tokenizer.subwords.space
        mask = self.tokenizer.special_ids.mask
        return [
            [one for one, after in pairwise([*row, 0]) if (one, after) != (space, mask)]
            for row in self.tokenizer.encode(texts)
        ]

    def outputs(self, row: list[int], second: list[int] | None = None) -> Any:
        """What the Keras model says of one row without begin and end tokens."""
        ids = [2, *row, 3, *([] if second is None else [*second, 3])]
        types = [0] * (len(row) + 2)
        inputs = {"token_ids": ids, "token_type_ids": types + [1] * (len(ids) - len(types))}
        return self.model({name: np.array([one], np.int32) for name, one in inputs.items()})


@pytest.fixture(scope="session")
def mask_tokenizer(texts: list[str]) -> Tokenizer:
    return train_tokenizer(texts, 60, "bpe", has_mask=True)


@pytest.fixture(scope="session")
def make_encoder(mask_tokenizer: Tokenizer, randomize: Callable[..., Any]) -> Callable[..., Any]:
    """`make_encoder(head, **fields)`: a random encoder, 8 wide."""
    from keras_transformer.models.encoder_only import build_encoder

    def make(head: str | None, **fields: Any) -> Any:
        settings = {
            "vocab_size": 60,
            "model_dim": 8,
            "feed_forward_dim": 12,
            "num_heads": 2,
            "num_layers": 1,
            "max_positions": LIMIT + 2,
            **(VECTORS if head == "embedding" else {}),
            "labels": LABELS.get(head or "", ()),
            "value_activation": "sigmoid" if head == "regression" else "linear",
            "special_ids": mask_tokenizer.special_ids,
        }
        return randomize(build_encoder(EncoderConfig(head=head, **{**settings, **fields})))

    return make


@pytest.fixture(scope="session")
def serve_encoder(
    make_encoder: Callable[..., Any],
    mask_tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    open_session: Callable[[Path], Any],
) -> Callable[..., Served]:
    """`serve_encoder(head, signatures="text", **fields)`, made once."""
    from keras_transformer.export import export_saved_model

    made: dict[str, Served] = {}

    def serve(head: str | None, signatures: Any = "text", **fields: Any) -> Served:
        key = f"{head} {signatures} {fields}"
        if key not in made:
            model = make_encoder(head, **fields)
            path = export_saved_model(
                model,
                tmp_path_factory.mktemp("encoder") / "demo",
                tokenizer=mask_tokenizer,
                signatures=signatures,
            )
            made[key] = Served(path, model, mask_tokenizer, open_session(path))
        return made[key]

    return serve

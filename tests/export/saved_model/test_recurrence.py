"""A SavedModel of a decoder with a recurrence finds what Keras does, after prefixes, too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.decoding.translator import Translator
from keras_transformer.export import export_saved_model
from keras_transformer.text.tokenizer import Tokenizer

SOURCES = [[5, 6, 9, 30], [7], [41, 12]]
# One is longer than what all have in common, which is read at once.
PREFIXES = [[11, 12, 13], [14, 15], [16, 17, 18, 19]]
LENGTH = 9


@pytest.mark.exhaustive
def test_searches_and_prefixes_are_those_of_keras(
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
    open_session: Callable[[Path], Callable[..., dict[str, np.ndarray]]],
    pad: Callable[..., Any],
) -> None:
    model = randomize(make_model(decoder_recurrence="ssru"), scale=0.3)
    search = {"beam_size": 3, "max_length": LENGTH}
    path = export_saved_model(
        model, tmp_path / "model", tokenizer=tokenizer, signatures="ids", **search
    )
    run, translator = open_session(path), Translator(model, tokenizer)
    found = run("serving_default", source_ids=pad(SOURCES))
    wanted = translator.translate_ids(SOURCES, **search)
    check(found["ids"], wanted)
    found = run(
        "translate_with_options",
        source_ids=pad(SOURCES),
        max_length=np.full(3, LENGTH, np.int32),
        length_penalty=np.ones(3, np.float32),
        target_prefix=pad(PREFIXES),
    )
    check(found["ids"], translator.translate_ids(SOURCES, prefixes=PREFIXES, **search))


def check(found: np.ndarray, wanted: list[Any]) -> None:
    rows = found.reshape(len(SOURCES), -1, found.shape[-1])[:, 0]
    ids = [[int(token) for token in row if token] for row in rows]
    assert ids == [list(few[0].ids) for few in wanted]

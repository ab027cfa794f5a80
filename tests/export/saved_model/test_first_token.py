"""A SavedModel of a model that would end every translation at once says a token first."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.export import export_saved_model
from keras_transformer.text.tokenizer import Tokenizer

SOURCES = [[5, 6], [], [7]]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("search", "tokens"), [({}, [1, 0, 1]), ({"min_length": 0}, [0, 0, 0])], ids=str
)
def test_only_a_source_without_tokens_has_an_empty_translation(
    ending_model: Any,
    tokenizer: Tokenizer,
    tmp_path: Path,
    open_session: Callable[[Path], Callable[..., dict[str, np.ndarray]]],
    pad: Callable[..., Any],
    search: dict[str, Any],
    tokens: list[int],
) -> None:
    path = export_saved_model(
        ending_model,
        tmp_path / "ending",
        tokenizer=tokenizer,
        signatures="ids",
        beam_size=2,
        early_stopping="first",
        max_length=6,
        **search,
    )
    run, sources = open_session(path), pad(SOURCES)
    found = run("serving_default", source_ids=sources)
    assert np.count_nonzero(found["ids"], axis=1).tolist() == tokens
    found = run(
        "translate_with_options",
        source_ids=sources,
        max_length=np.array([6, 6, 1], np.int32),
        length_penalty=np.ones(3, np.float32),
        target_prefix=np.zeros((3, 0), np.int32),
    )
    assert np.count_nonzero(found["ids"], axis=1).tolist() == tokens

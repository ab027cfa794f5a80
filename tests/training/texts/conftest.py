"""What training on single texts shares: small runs of each task."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from single_texts import PLAIN, SIZES, VOCABULARY, write_run

from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.texts.train import train_texts


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Any]:
    """`start(task, name, corpus, ...)`: trains into a directory of that name."""

    def run(task: Any, name: str, corpus: Any = PLAIN, **settings: Any) -> Any:
        given = {"batch_tokens": 64, "checkpoint_steps": 3, "max_steps": 6, "warmup_steps": 4}
        given |= {"cooldown": 0.0, "learning_rate": 0.01, "label_smoothing": 0.0, "max_length": 32}
        options = TrainOptions(**{**given, **settings.pop("options", {})})
        if "init" not in settings and "tokenizer" not in settings:
            settings.setdefault("vocab_size", VOCABULARY)
        overrides = {**SIZES, "max_positions": 32, **settings.pop("overrides", {})}
        return train_texts(
            task, corpus, tmp_path / name, options=options, overrides=overrides, **settings
        ).model

    return run


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> dict[str, Path]:
    """Finished runs with initial weights: "masked-lm" and "causal-lm"."""
    folder = tmp_path_factory.mktemp("runs")
    return {task: write_run(folder / task, task) for task in ("masked-lm", "causal-lm")}

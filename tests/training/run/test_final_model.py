"""The choice of a trained model's final weights, and what is said of it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keras_transformer.runs.checkpoints import checkpoint_path
from keras_transformer.training.run import final_model


@pytest.mark.parametrize(
    ("newest", "of_mean", "said"),
    [
        (
            3,
            1.5,
            "the mean of the newest 3 checkpoints, with a loss of 1.5000; the best checkpoint",
        ),
        (1, 1.5, "the newest checkpoint, with a loss of 1.5000; the best checkpoint has 2.0000"),
        (1, 2.5, "the best checkpoint, with a loss of 2.0000; the newest checkpoint has 2.5000"),
    ],
)
def test_the_choice_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    newest: int,
    of_mean: float,
    said: str,
) -> None:
    paths = [checkpoint_path(Path(), step) for step in range(newest)]
    monkeypatch.setattr(final_model, "average_newest", lambda *_: paths)
    monkeypatch.setattr(final_model, "restore_best", lambda *_: checkpoint_path(Path(), 7))
    criterion = SimpleNamespace(gain="lower", noun="loss", figure="loss")
    history: Any = SimpleNamespace(best_step=7, criterion=criterion, scores=lambda: {7: 2.0})
    plan: Any = SimpleNamespace(final_model="auto", lora_rank=0, average_checkpoints=3)
    model: Any = None
    found = final_model.set_final_weights(model, Path(), history, plan, lambda: of_mean)
    assert capsys.readouterr().out.startswith(f"final model: {said}")
    is_mean = of_mean < 2
    assert found["is"] == ("average" if is_mean else "best")
    assert found["loss"] == (of_mean if is_mean else 2.0)

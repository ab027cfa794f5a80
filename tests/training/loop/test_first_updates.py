"""The time of the first updates is told on a line of its own, also below a progress bar."""

from types import SimpleNamespace
from typing import Any

import pytest

from keras_transformer.training.loop.first_updates import FirstUpdates


@pytest.mark.parametrize(("verbose", "begin"), [(1, "\nplan: "), (2, "plan: ")])
def test_the_line_begins_below_a_bar(verbose: int, begin: str, capsys: Any) -> None:
    model: Any = SimpleNamespace(optimizer=SimpleNamespace(iterations=0))
    callback = FirstUpdates(20)
    callback.set_params({"verbose": verbose})
    callback.set_model(model)
    for update in range(12):
        model.optimizer.iterations = update + 1
        callback.on_train_batch_end(update)
    said = capsys.readouterr().out
    assert said.startswith(begin) and said.count("plan: ") == 1
    assert "seconds an update" in said and said.endswith("so far\n")

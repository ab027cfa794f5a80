"""What is put into text is refused with a prepared corpus, which holds ids."""

from typing import Any

import pytest

from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.tasks.training_data import open_prepared


@pytest.mark.parametrize(("name", "value"), [("markup", "auto"), ("noise", ["emoji=0.1"])])
def test_a_prepared_corpus_is_trained_on_as_it_is(name: str, value: Any) -> None:
    corpus: Any = None
    with pytest.raises(ValueError, match=f"{name}=.* a prepared corpus holds ids: leave it out"):
        open_prepared(corpus, corpus, TrainOptions(**{name: value}))

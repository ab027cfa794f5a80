"""The history of a run's rounds: a value a round for every name, and the best round."""

import pytest

from keras_transformer.runs.history import CRITERIA, History


def made(**losses: float) -> History:
    history = History()
    for name, loss in losses.items():
        history.append(int(name.removeprefix("at_")), {"val_loss": loss})
    return history


def test_every_name_has_a_value_or_none_for_every_round() -> None:
    history = History()
    history.append(10, {"loss": 3.0, "val_loss": 4.0})
    history.append(20, {"loss": 2.0, "val_loss": 3.0, "val_bleu": 5.0})
    history.append(25, {"loss": 1.0})
    assert history.figures == {
        "step": [10, 20, 25],
        "loss": [3.0, 2.0, 1.0],
        "val_loss": [4.0, 3.0, None],
        "val_bleu": [None, 5.0, None],
    }
    assert history.scores() == {10: 4.0, 20: 3.0}


def test_the_best_round_has_the_highest_score_of_translations() -> None:
    history = History(criterion=CRITERIA["bleu"])
    for step, bleu in ((1, 5.0), (2, 9.0), (3, 9.0), (4, 2.0)):
        history.append(step, {"val_loss": 1.0 / step, "val_bleu": bleu})
    assert (history.best_step, history.rounds_since_best) == (2, 2)
    assert history.best_record() == {"step": 2, "val_bleu": 9.0}
    assert history.best_first([1, 3, 4, 7]) == [3, 1, 4]
    assert history.until(1).best_step == 1 and history.until(0).best_record() is None


def test_the_best_round_has_the_lowest_validation_loss_the_first_of_equals() -> None:
    assert made(at_10=3.0, at_20=2.0, at_30=2.5, at_40=2.0).best_step == 20
    assert made().best_step is None


@pytest.mark.parametrize(
    ("losses", "rounds"),
    [({}, 0), ({"at_1": 2.0}, 0), ({"at_1": 2.0, "at_2": 2.0}, 1), ({"at_1": 2, "at_2": 1}, 0)],
)
def test_rounds_after_the_best_are_counted(losses: dict[str, float], rounds: int) -> None:
    assert made(**losses).rounds_since_best == rounds


def test_without_validation_there_is_no_best_round() -> None:
    history = History()
    history.append(10, {"loss": 3.0})
    assert (history.best_step, history.rounds_since_best) == (None, 0)


def test_rounds_after_a_step_are_dropped_and_the_first_history_stays() -> None:
    history = made(at_10=3.0, at_20=2.0, at_30=2.5)
    earlier = history.until(20)
    earlier.append(25, {"val_loss": 1.0})
    assert earlier.figures == {"step": [10, 20, 25], "val_loss": [3.0, 2.0, 1.0]}
    assert history.figures["step"] == [10, 20, 30]
    assert history.until(9).figures["val_loss"] == []


def test_it_comes_back_from_its_figures() -> None:
    history = made(at_10=3.0, at_20=2.0)
    assert History(history.figures).figures == history.figures

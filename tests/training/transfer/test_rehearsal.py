"""Rehearsal: a run that is trained further learns what it made of random pieces, too."""

from pathlib import Path
from typing import Any

import pytest
from few_updates import without_graphs

from keras_transformer import Corpus, Pairs, TrainOptions, Translator, load_run, train
from keras_transformer.config import TransformerConfig
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.prepare import prepare
from keras_transformer.data.sources.streams import ParallelFiles
from keras_transformer.data.sources.texts import TextCorpus, Texts
from keras_transformer.data.sources.tsv import read_tsv
from keras_transformer.models.families import build_model
from keras_transformer.runs.finished_run import write_finished_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import train_tokenizer
from keras_transformer.training.texts.train import train_texts
from keras_transformer.training.transfer.rehearsal import made_pairs

LAYERS = {"num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.0}
SIZES = {"model_dim": 16, "feed_forward_dim": 24, **LAYERS}
WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]
GENERAL = Corpus(Pairs(LINES, LINES, "copies"))
OWN = Corpus(Pairs(LINES[:10], ["deb"] * 10, "own"))
OPTIONS: dict[str, Any] = {"batch_tokens": 64, "learning_rate": 0.01, "warmup_steps": 4}


@pytest.fixture(scope="module")
def general(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that copies its source."""
    directory = tmp_path_factory.mktemp("general") / "run"
    options = TrainOptions(**OPTIONS, epochs=80, checkpoint_steps=50)
    train(GENERAL, directory, vocab_size=15, overrides=SIZES, options=options)
    return directory


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ends its translations, having learnt hardly more."""
    directory = tmp_path_factory.mktemp("begun") / "run"
    options = TrainOptions(**OPTIONS, max_steps=12, checkpoint_steps=12)
    with without_graphs():
        train(GENERAL, directory, vocab_size=15, overrides=SIZES, options=options)
    return directory


def tuned(general: Path, directory: Path, **options: Any) -> Any:
    return train(OWN, directory, init=general, options=TrainOptions(**OPTIONS, **options)).model


def copied(run: Path) -> int:
    """How many lines a run copies, of the general ones that are not its own."""
    translations = Translator(*load_run(run)).translate(LINES[10:], max_length=12)
    return sum(one == other for one, other in zip(translations, LINES[10:], strict=True))


@pytest.mark.exhaustive
def test_what_was_rehearsed_is_kept_and_what_is_new_is_learnt(
    general: Path, tmp_path: Path
) -> None:
    tuned(general, tmp_path / "plain", epochs=20, checkpoint_steps=20)
    tuned(general, tmp_path / "rehearsed", epochs=20, checkpoint_steps=20, rehearsal=4.0)
    before, plain, rehearsed = map(copied, (general, tmp_path / "plain", tmp_path / "rehearsed"))
    assert before > 20
    assert plain < 3
    assert rehearsed > before / 3
    found = Translator(*load_run(tmp_path / "rehearsed")).translate(LINES[:10], max_length=12)
    assert found.count("deb") > 5


@pytest.mark.exhaustive
def test_a_run_that_has_not_begun_takes_no_pairs_that_lie_there(
    general: Path, tmp_path: Path
) -> None:
    place = RunDirectory(tmp_path)
    place.rehearsal.write_text("of\tanother run\n", encoding="utf-8")
    tuned(general, tmp_path, max_steps=1, rehearsal=1.0)
    assert "another run" not in place.rehearsal.read_text(encoding="utf-8")


@pytest.mark.exhaustive
def test_pairs_are_what_the_model_makes_of_lines_as_long_as_ones_own(general: Path) -> None:
    model, source, target = load_run(general)
    pairs = made_pairs(model, (source, target), LINES, 30)
    assert pairs == made_pairs(model, (source, target), LINES, 30)
    lines = [line for line, _ in pairs]
    assert len(set(lines)) > 20
    longest = max(map(len, source.encode(LINES)))
    assert max(map(len, source.encode(lines))) <= longest + 1
    assert Translator(model, source, target).translate(lines) == [made for _, made in pairs]


# From here on without graphs.
@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_a_run_keeps_its_pairs_and_goes_on_with_them(begun: Path, tmp_path: Path) -> None:
    tuned(begun, tmp_path / "run", max_steps=1, checkpoint_steps=1, rehearsal=1.5)
    place = RunDirectory(tmp_path / "run")
    pairs = read_tsv(place.rehearsal)
    assert len(pairs) <= 15
    assert place.load_training()["data"]["train"]["kept"] == 10 + len(pairs)
    # The text that the model is for is its own: nonsense lines say nothing of its sentences.
    assert sum(place.load_training_text().sentences) == 10

    def resumed_with(lines: list[str]) -> None:
        place.rehearsal.write_text("\n".join(lines) + "\n", encoding="utf-8")
        options = TrainOptions(**OPTIONS, max_steps=2, checkpoint_steps=1, rehearsal=1.5)
        train(OWN, tmp_path / "run", init=begun, options=options, resume=True)

    made = place.rehearsal.read_text(encoding="utf-8").splitlines()
    resumed_with(made[::-1])
    assert place.rehearsal.read_text(encoding="utf-8").splitlines() == made[::-1]
    with pytest.raises(ValueError, match="was started with"):
        resumed_with(made[:-1])


@pytest.fixture
def untrained(tmp_path: Path) -> Path:
    """A finished run with initial weights."""
    tokenizer = train_tokenizer(LINES, 15)
    config = TransformerConfig(source_vocab_size=15, special_ids=tokenizer.special_ids, **SIZES)
    place = RunDirectory(tmp_path / "untrained")
    write_finished_run(place, build_model(config), (tokenizer, tokenizer), {})
    return place.path


@pytest.mark.usefixtures("few_updates", "without_workers")
def test_it_needs_a_translation_and_text(untrained: Path, tmp_path: Path) -> None:
    rehearsing, place = TrainOptions(**OPTIONS, rehearsal=1.0), tmp_path / "run"
    message = r"rehearsal=1.0 .*give such a run with init"
    with pytest.raises(ValueError, match=message):
        train(OWN, place, vocab_size=15, options=rehearsing)
    (tmp_path / "lines").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    prepare(
        ParallelFiles((tmp_path / "lines",), (tmp_path / "lines",)),
        tmp_path / "prepared",
        tokenizers=(untrained / "tokenizer.model",),
        options=PrepareOptions(shards=1),
        workers=1,
        say=lambda line: None,
    )
    with pytest.raises(ValueError, match=message):
        train(PreparedCorpus.load(tmp_path / "prepared"), place, init=untrained, options=rehearsing)
    texts = TextCorpus(Texts(LINES, "lines"))
    with pytest.raises(ValueError, match=message):
        train_texts("causal-lm", texts, place, init=untrained, options=rehearsing)
    with pytest.raises(ValueError, match="rehearsal must be at least 0, got -1"):
        TrainOptions(rehearsal=-1)

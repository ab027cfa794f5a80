"""The whole path on a made-up language: a model learns to say the words of a sentence in reverse
order, is exported, and is asked again where there is no TensorFlow.
"""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest
from fresh_process import python

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.decoding.translator import Translator
from keras_transformer.evaluation import exact_match
from keras_transformer.export import export_onnx
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

WORDS = [consonant + vowel for consonant in "bdkmst" for vowel in "aeiou"][:24]
# Every word is a piece of its own: 24, with 10 letters, the blank and 4 special ids.
VOCABULARY = 39
TEST_SENTENCES = 300
GREEDY = {"beam_size": 1, "max_length": 20}
BEAM = {"beam_size": 4, "max_length": 20}
# Minutes of training: the code of the README, which a test runs, takes the same way in one.
pytestmark = pytest.mark.exhaustive
both_searches = pytest.mark.parametrize("options", [GREEDY, BEAM], ids=["greedy", "beam"])

# Answers from the artefact, with nothing but what the bare install brings.
WITHOUT_TENSORFLOW = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

allowed = set(sys.stdlib_module_names) | {
    "keras_transformer", "numpy", "onnxruntime", "sentencepiece", "sentencex", "google",
    "flatbuffers", "packaging", "typing_extensions", "ml_dtypes",
}
sys.meta_path.insert(0, Absent())
from keras_transformer.export import OnnxTranslator

given = json.load(sys.stdin)
translator = OnnxTranslator(given["directory"])
found = [translator.translate_n_best(given["texts"], **options) for options in given["options"]]
assert not {"tensorflow", "keras", "tf2onnx", "onnx"} & set(sys.modules)
best = [[(one[0].text, one[0].ids, one[0].score) for one in texts] for texts in found]
json.dump(best, sys.stdout)
"""


@dataclasses.dataclass(frozen=True)
class Reversal:
    """A trained run with its held-out sentences and, for each search, both sides' answers."""

    test: Pairs
    directory: Path
    model: Any
    answers: dict[str, tuple[Any, Any]]


def corpus() -> Corpus:
    generator, rows = random.Random(0), set()
    while len(rows) < 20_000 + 50 + TEST_SENTENCES:
        rows.add(tuple(generator.sample(WORDS, k=generator.randint(3, 8))))
    order = sorted(rows)
    generator.shuffle(order)

    def pairs(part: list[tuple[str, ...]], origin: str) -> Pairs:
        return Pairs([" ".join(row) for row in part], [" ".join(row[::-1]) for row in part], origin)

    return Corpus(
        train=pairs(order[: -50 - TEST_SENTENCES], "reversed words"),
        valid=pairs(order[-50 - TEST_SENTENCES : -TEST_SENTENCES], "reversed words"),
        test=pairs(order[-TEST_SENTENCES:], "reversed words"),
    )


@pytest.fixture(scope="session")
def reversal(tmp_path_factory: pytest.TempPathFactory) -> Reversal:
    directory, data = tmp_path_factory.mktemp("reversal"), corpus()
    train(
        data,
        directory / "run",
        preset="tiny",
        overrides={
            "model_dim": 64,
            "feed_forward_dim": 128,
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
            "dropout": 0.0,
            "norm": "pre",
        },
        vocab_size=VOCABULARY,
        options=TrainOptions(
            max_steps=800,
            epochs=100,
            batch_tokens=1000,
            learning_rate=0.004,
            warmup_steps=150,
            checkpoint_steps=80,
            average_checkpoints=4,
        ),
    )
    model, tokenizer, _ = load_run(directory / "run")
    export_onnx(model, tokenizer, directory / "exported")
    translator = Translator(model, tokenizer)
    texts, searches = list(data.test.source), [GREEDY, BEAM]
    keras_side = [translator.translate_n_best(texts, **options) for options in searches]
    request = {"directory": str(directory / "exported"), "texts": texts, "options": searches}
    answer = python("-c", WITHOUT_TENSORFLOW, given=json.dumps(request))
    onnx_side = json.loads(answer.stdout)
    answers = {
        str(options): (
            [(best[0].text, best[0].ids, best[0].score) for best in by_keras],
            [tuple(best) for best in by_onnx],
        )
        for options, by_keras, by_onnx in zip(searches, keras_side, onnx_side, strict=True)
    }
    return Reversal(data.test, directory, model, answers)


@both_searches
def test_held_out_sentences_are_reversed(reversal: Reversal, options: dict[str, int]) -> None:
    for side in reversal.answers[str(options)]:
        texts = [text for text, _, _ in side]
        assert exact_match(texts, list(reversal.test.target)) > 0.99


@both_searches
def test_onnx_gives_the_ids_and_scores_of_keras(
    reversal: Reversal, options: dict[str, int]
) -> None:
    by_keras, by_onnx = reversal.answers[str(options)]
    assert [ids for _, ids, _ in by_onnx] == [ids for _, ids, _ in by_keras]
    assert [text for text, _, _ in by_onnx] == [text for text, _, _ in by_keras]
    for (_, _, found), (_, _, expected) in zip(by_onnx, by_keras, strict=True):
        assert found == pytest.approx(expected, abs=1e-4)


def test_the_task_cannot_be_solved_by_copying(reversal: Reversal) -> None:
    assert exact_match(list(reversal.test.source), list(reversal.test.target)) == 0
    assert not set(reversal.test.source) & set(corpus().train.source)


def test_updates_were_the_batches_asked_for(reversal: Reversal) -> None:
    record = json.loads((reversal.directory / "run" / "training.json").read_text())
    assert record["history"]["step"][-1] == 800

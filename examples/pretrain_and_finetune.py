"""Pretrains a small BERT on plain sentences, then fine-tunes it with a few labelled ones, and does
the same from scratch.

    python examples/pretrain_and_finetune.py --sentences 20000 --epochs 10

The texts are those of the built-in corpus, without punctuation; the label says whether a sentence
is a question. Prints how many held-out sentences each classifier gets right, and how the pretrained
model fills in a mask:

    from scratch   ... % of 500 right
    pretrained     ... % of 500 right
    The <mask> is old -> ...
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from keras_transformer import (
    LabelledCorpus,
    LabelledTexts,
    OnnxEncoder,
    TextCorpus,
    Texts,
    Tokenizer,
    TrainOptions,
    demo_corpus,
    train_texts,
)
from keras_transformer.export import export_run

_ORIGIN = "the built-in corpus"


def main() -> None:
    """Pretrains, fine-tunes twice and prints what each classifier gets right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=20_000, help="sentences to pretrain on")
    parser.add_argument("--epochs", type=int, default=10, help="passes of pretraining")
    parser.add_argument("--labelled", type=int, default=200, help="labelled sentences")
    arguments = parser.parse_args()

    corpus = demo_corpus(max(arguments.sentences, 4000))
    plain = [without_punctuation(text) for text in corpus.train.source]
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        train_texts(
            "masked-lm",
            TextCorpus(Texts(plain, _ORIGIN)),
            runs / "bert",
            vocab_size=600,
            options=TrainOptions(epochs=arguments.epochs),
        )
        few = labelled(corpus.train.source[: arguments.labelled])
        vocabulary = Tokenizer.load(runs / "bert" / "tokenizer.model")
        starts = {"from scratch": {"tokenizer": vocabulary}, "pretrained": {"init": runs / "bert"}}
        options = TrainOptions(epochs=20, batch_tokens=512)
        for name, start in starts.items():
            train_texts("classify", LabelledCorpus(few), runs / name, options=options, **start)
        held_out = labelled(corpus.test.source)
        for name in starts:
            found = right(runs / name, held_out)
            print(f"{name:<14} {100 * found:.1f} % of {len(held_out)} right")
        export_run(runs / "bert", runs / "exported")
        text = "The <mask> is old"
        [[filled]] = OnnxEncoder(runs / "exported").fill_mask([text])
        print(f"{text} -> {filled.text}")


def without_punctuation(text: str) -> str:
    """Returns a sentence that does not show by its marks what it is."""
    return text.strip("?!.")


def labelled(texts: Sequence[str]) -> LabelledTexts:
    """Labels each sentence as a question or a statement."""
    labels = ["question" if text.endswith("?") else "statement" for text in texts]
    return LabelledTexts(labels, [without_punctuation(text) for text in texts], None, _ORIGIN)


def right(run: Path, texts: LabelledTexts) -> float:
    """Exports a classifier and returns the share of texts that it gives the right label."""
    exported = export_run(run, run.with_name(f"{run.name} exported"))
    found = OnnxEncoder(exported).classify(texts.first)
    return sum(
        answer.label == label for answer, label in zip(found, texts.labels, strict=True)
    ) / len(texts)


if __name__ == "__main__":
    main()

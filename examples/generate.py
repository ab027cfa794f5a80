"""Trains a small GPT on plain sentences, exports it and continues prompts without Keras.

    python examples/generate.py --sentences 20000 --epochs 10

Prints the perplexity of held-out sentences and three continuations of each prompt:

    perplexity of 500 held-out sentences: ...
    The girl -> ...
"""

import argparse
import math
import tempfile
from pathlib import Path

from keras_transformer import (
    OnnxGenerator,
    TextCorpus,
    Texts,
    TrainOptions,
    demo_corpus,
    train_texts,
)
from keras_transformer.export import export_run

PROMPTS = ("The girl", "How many", "")


def main() -> None:
    """Trains, exports, and prints perplexity and samples."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=20_000, help="sentences to train on")
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()

    corpus = demo_corpus(max(arguments.sentences, 4000))
    texts = TextCorpus(
        Texts(corpus.train.source, "the built-in corpus"),
        Texts(corpus.valid.source, "the built-in corpus"),
    )
    options = TrainOptions(epochs=arguments.epochs)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "gpt"
        train_texts("causal-lm", texts, run, vocab_size=600, options=options)
        generator = OnnxGenerator(export_run(run, Path(folder) / "exported"))
        held_out = generator.score(corpus.test.source)
        nats = -sum(text.log_probability for text in held_out)
        tokens = sum(len(text.ids) + 1 for text in held_out)  # the end of each is one
        perplexity = math.exp(nats / tokens)
        print(f"perplexity of {len(held_out)} held-out sentences: {perplexity:.2f}")
        found = generator.generate_n_best(
            PROMPTS, max_length=30, sample=True, top_p=0.9, num_hypotheses=3, seed=1
        )
        for prompt, samples in zip(PROMPTS, found, strict=True):
            for sample in samples:
                print(f"{prompt} -> {sample.text}")


if __name__ == "__main__":
    main()

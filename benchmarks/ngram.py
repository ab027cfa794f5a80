"""Measures the perplexity of n-gram models, for comparison with a causal language model:
on the same pieces, the end of each text included.

    python benchmarks/ngram.py --tokenizer runs/gpt/tokenizer.model --train a.txt --valid b.txt

Needs nltk and sentencepiece, in any environment. `keras-transformer perplexity` gives the model's.
"""

import argparse
import gzip
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

try:
    from nltk.lm import AbsoluteDiscountingInterpolated, WittenBellInterpolated
    from nltk.lm.preprocessing import pad_both_ends
    from nltk.util import everygrams, ngrams
    from sentencepiece import SentencePieceProcessor
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    sys.exit(f"ngram.py needs {package}: install it with `pip install {package}`.")

Texts = Sequence[Sequence[str]]

# nltk's Kneser-Ney looks through all counts for every score: hours for a thousand captions.
SMOOTHINGS = {
    "Witten-Bell": WittenBellInterpolated,
    "absolute discounting": AbsoluteDiscountingInterpolated,
}


def main() -> None:
    """Prints a line for each order."""
    parser = argparse.ArgumentParser(description="Measures the perplexity of n-gram models.")
    parser.add_argument("--tokenizer", type=Path, required=True, help="a run's tokenizer.model")
    parser.add_argument("--train", type=Path, required=True, help="texts to count, .gz or plain")
    parser.add_argument("--valid", type=Path, required=True, help="texts to measure")
    parser.add_argument("--orders", type=int, nargs="+", default=[2, 3, 4, 5])
    options = parser.parse_args()
    tokenizer = SentencePieceProcessor(model_file=str(options.tokenizer))
    vocabulary = [tokenizer.id_to_piece(index) for index in range(tokenizer.get_piece_size())]
    train, valid = (read(path, tokenizer) for path in (options.train, options.valid))
    for order in options.orders:
        for name, smoothing in SMOOTHINGS.items():
            model = fit(smoothing(order), train, vocabulary)
            print(f"order {order}, {name}: perplexity {perplexity(model, valid):.2f}", flush=True)


def read(path: Path, tokenizer: SentencePieceProcessor) -> Texts:
    """Returns the pieces of each line that holds text."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as stream:
        rows = tokenizer.encode([line.strip() for line in stream], out_type=str)
    return [row for row in rows if row]


def fit(model: Any, train: Texts, vocabulary: Sequence[str]) -> Any:
    """Counts n-grams, and each piece of the vocabulary once more: none has probability 0."""
    counted = [*train, *([piece] for piece in vocabulary)]
    model.fit(grams_of(counted, model.order), [*vocabulary, "<s>", "</s>"])
    return model


def perplexity(model: Any, valid: Texts) -> float:
    """Returns the perplexity a piece, the end of each row being one."""
    nats, pieces = 0.0, 0
    for row in valid:
        padded = list(pad_both_ends(row, n=model.order))
        # One end is a piece to predict; the further ones are padding.
        for *context, piece in list(ngrams(padded, model.order))[: len(row) + 1]:
            nats -= math.log(model.score(piece, context))
            pieces += 1
    return math.exp(nats / pieces)


def grams_of(rows: Texts, order: int) -> Iterator[Iterator[tuple[str, ...]]]:
    """Yields the n-grams of all lengths up to the order, row by row."""
    for row in rows:
        yield everygrams(list(pad_both_ends(row, n=order)), max_len=order)


if __name__ == "__main__":
    main()

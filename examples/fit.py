"""Trains a Transformer with plain `compile` and `fit`, then translates with it.

    python examples/fit.py --pairs 5000 --epochs 2

Prints Keras's progress with loss, token accuracy and perplexity, then three translations:

    Hello, how are you? -> ...
"""

import argparse

import keras

import keras_transformer as kt


def main() -> None:
    """Trains on the demo corpus and translates three of its held-out sentences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40_000, help="sentence pairs to train on")
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()

    keras.utils.set_random_seed(0)
    corpus = kt.demo_corpus(arguments.pairs)
    tokenizer = kt.train_tokenizer([*corpus.train.source, *corpus.train.target], vocab_size=1000)
    pairs = kt.encode_pairs(corpus.train, tokenizer, tokenizer)
    valid = kt.encode_pairs(corpus.valid, tokenizer, tokenizer)

    config = kt.TransformerConfig.preset("tiny", vocab_size=tokenizer.vocab_size, dropout=0.1)
    model = kt.build_transformer(config)
    model.compile(
        optimizer=keras.optimizers.Adam(kt.WarmupSchedule(0.004, 500), beta_2=0.98, epsilon=1e-9),
        loss=kt.SmoothedCrossEntropy(label_smoothing=0.1),
        weighted_metrics=[kt.TokenAccuracy(), kt.Perplexity()],
        jit_compile=False,
    )
    model.fit(
        kt.training_batches(pairs, batch_tokens=1024, seed=0),
        steps_per_epoch=kt.batches_per_epoch(pairs, batch_tokens=1024),
        epochs=arguments.epochs,
        validation_data=kt.evaluation_batches(valid, batch_tokens=1024),
        shuffle=False,
        verbose=2,
    )

    sources = ["Hello, how are you?", *corpus.test.source[:2]]
    translations = kt.Translator(model, tokenizer).translate(sources, beam_size=4)
    for source, translation in zip(sources, translations, strict=True):
        print(f"{source} -> {translation}")


if __name__ == "__main__":
    main()

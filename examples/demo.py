"""Translates held-out sentences of the demo corpus with an exported model, without TensorFlow.

Train and export one first, or run `make demo`, which does all three:

    keras-transformer train --data demo --preset tiny --output runs/demo
    keras-transformer export runs/demo --format onnx --output exported/demo
    python examples/demo.py exported/demo

Prints one block for each of the first sentences, then the scores of the whole test split:

    source       Your sisters' window is open.
    translation  La ventana de tus hermanas está abierta.
    reference    La ventana de tus hermanas está abierta.
    ...
    BLEU 97.43 (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0)
    chrF 98.95 (nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0)
    exact match 93.6 % of 500 held-out sentences, 113 a second
"""

import argparse
import sys
import time

from keras_transformer import corpus_scores, demo_corpus
from keras_transformer.evaluation import exact_match
from keras_transformer.export import OnnxTranslator


def main() -> None:
    """Prints translations with their references, then the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exported", help="directory that `keras-transformer export` wrote")
    parser.add_argument("--show", type=int, default=12, help="sentences to print (default: 12)")
    parser.add_argument("--sentences", type=int, help="sentences to translate (default: all)")
    parser.add_argument("--beam-size", type=int, default=4, help="beam size (default: 4)")
    arguments = parser.parse_args()

    test = demo_corpus().test
    sources, references = test.source[: arguments.sentences], test.target[: arguments.sentences]
    translator = OnnxTranslator(arguments.exported)
    started = time.perf_counter()
    translations = translator.translate(sources, beam_size=arguments.beam_size)
    rate = len(translations) / (time.perf_counter() - started)

    rows = zip(sources, translations, references, strict=True)
    for _, (source, translation, reference) in zip(range(arguments.show), rows, strict=False):
        print(f"source       {source}\ntranslation  {translation}\nreference    {reference}\n")
    matched = 100 * exact_match(translations, references)
    print(corpus_scores(translations, references))
    print(f"exact match {matched:.1f} % of {len(sources)} held-out sentences, {rate:.0f} a second")
    if "tensorflow" in sys.modules:
        raise RuntimeError("decoding imported TensorFlow: it must run on onnxruntime alone")


if __name__ == "__main__":
    main()

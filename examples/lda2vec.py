"""Topics in the space of words: LDA finds the topics of texts, skip-gram the vectors of words, and
a topic's vector is the mean of its words', as each is likely in it (what lda2vec learns at once,
Moody 2016).

    python examples/lda2vec.py texts.txt --topics 8

Each line of texts.txt is a text. Prints for each topic its likeliest words, and the words that are
nearest to its vector, among the more frequent half:

    topic 0: dog, ball, grass, ... -> dogs, ...
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from gensim.corpora import Dictionary
from gensim.models import LdaModel

from keras_transformer.vectors.files import VectorFile
from keras_transformer.vectors.options import VectorOptions
from keras_transformer.vectors.train import train_vectors
from keras_transformer.vectors.words import Sentences

# Words of more than a tenth of the texts belong to no topic.
_TOO_FREQUENT = 0.1


def main() -> None:
    """Finds topics and vectors in the same texts, and prints the topics."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path, help="a text a line")
    parser.add_argument("--topics", type=int, default=8, help="how many")
    parser.add_argument("--words", type=int, default=6, help="words to print of each topic")
    given = parser.parse_args()
    sentences = list(Sentences([given.texts], lowercase=True))
    known = Dictionary(sentences)
    known.filter_extremes(no_below=2, no_above=_TOO_FREQUENT)
    known.filter_tokens([number for word, number in known.token2id.items() if not word.isalpha()])
    known.compactify()
    bags = [known.doc2bow(words) for words in sentences]
    lda = LdaModel(bags, given.topics, id2word=known, passes=5, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vectors.txt")
        train_vectors([given.texts], path, VectorOptions(dim=64, lowercase=True, min_count=2))
        vectors = VectorFile.open(path).load()
    rows = vectors[[known[number] for number in range(len(known))]]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for topic, shares in enumerate(lda.get_topics()):
        likely = [known[number] for number in np.argsort(-shares)[: given.words]]
        found = vectors.similar_by_vector(shares @ rows, given.words, len(vectors) // 2)
        near = [word for word, _ in found]
        print(f"topic {topic}: {', '.join(likely)} -> {', '.join(near)}")


if __name__ == "__main__":
    main()

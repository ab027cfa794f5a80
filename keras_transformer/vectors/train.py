"""Trains word vectors on text files: by gensim, but for GloVe, which it lacks."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.data.sources.files import (
    WrongLines,
    iter_lines,
    require_files,
    require_rereadable,
)
from keras_transformer.vectors.files import require_gensim
from keras_transformer.vectors.options import VectorOptions
from keras_transformer.vectors.words import Sentences
from keras_transformer.whole_files import check_output, whole_file

# What is written: numbers as text (word2vec's form, gzip with .gz), or bytes.
_ENDINGS = (".txt", ".vec", ".txt.gz", ".vec.gz", ".bin")
# fastText's two million rows of subwords, for texts with as many: about ten for a word.
_MOST_SUBWORDS, _SUBWORDS_OF_A_WORD = 2_000_000, 10

# Words that one is pushed from, where there are as many (Nickel and Kiela 2017, section 4).
_UNRELATED_WORDS = 10


def train_vectors(
    texts: Sequence[Path], output: Path, options: VectorOptions | None = None
) -> Path:
    """Trains the vectors of the words of text files and writes them.

    The same text, options and version of gensim give the same vectors.

    Args:
        texts: Files of sentences, one a line; for "poincare" of relations, two words with a tab
            between.
        output: File to write: .txt, .vec, .txt.gz or .vec.gz as text, most frequent word first;
            .bin as word2vec's bytes, or as fastText's model, which has the subwords as well.
        options: How; the defaults if None.

    Returns:
        `output`.

    Raises:
        FileNotFoundError: A text is missing.
        ImportError: Gensim is not installed.
        OSError: `output` cannot be written.
        ValueError: Its name has another ending, or the text has too few words.
    """
    options = options or VectorOptions()
    if not output.name.endswith(_ENDINGS):
        raise ValueError(
            f"a file of word vectors ends in {', '.join(_ENDINGS)}, got {str(output)!r}: rename it."
        )
    require_files(texts)
    require_rereadable(texts)
    require_gensim()
    check_output(output, is_directory=False)
    trained = _relations(texts, options) if options.method == "poincare" else _words(texts, options)
    output.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(output) as partial:
        _write(trained, partial, with_subwords=options.method == "fasttext")
    vectors = getattr(trained, "wv", trained)
    print(f"wrote {output}: {len(vectors):,} words, {options.dim} numbers each")
    return output


def _words(texts: Sequence[Path], options: VectorOptions) -> Any:
    """Returns gensim's model, or of GloVe its `KeyedVectors`."""
    sentences = Sentences(texts, options.lowercase)
    counts: Counter[str] = Counter()
    lines = 0
    for words in sentences:
        counts.update(words)
        lines += 1
    total = counts.total()
    least = options.least_count(total)
    known = Counter({word: count for word, count in counts.items() if count >= least})
    if len(known) < 2:
        raise ValueError(
            f"{', '.join(map(str, texts))}: {len(known)} of {len(counts):,} words occur at least "
            f"{least} times, and vectors need two: give more text, or a smaller min_count."
        )
    passes = options.passes(total)
    print(
        f"{options.method}: {total:,} words, {len(known):,} different ones at least {least} times; "
        f"{passes} passes"
    )
    if options.method == "glove":
        return _glove(sentences, known, options, passes)
    from gensim.models import FastText, Word2Vec

    settings: dict[str, Any] = {
        "vector_size": options.dim,
        "window": options.words_around,
        "sg": int(options.method != "cbow"),
        "seed": options.seed,
        # The order of what several threads do is not the same twice.
        "workers": 1,
    }
    kind = Word2Vec
    if options.method == "fasttext":
        kind = FastText
        settings["bucket"] = min(_MOST_SUBWORDS, _SUBWORDS_OF_A_WORD * len(known))
    model = kind(min_count=1, **settings)
    model.build_vocab_from_freq(known)
    # Lines of other words alone teach nothing, but count as examples.
    model.train(sentences, total_examples=lines, epochs=passes)
    return model


def _glove(
    sentences: Iterable[list[str]], known: Counter[str], options: VectorOptions, passes: int
) -> Any:
    from gensim.models import KeyedVectors

    from keras_transformer.vectors.glove import CoOccurrences, GloVe

    words = [word for word, _ in known.most_common()]
    numbers = {word: number for number, word in enumerate(words)}
    found = CoOccurrences.count(sentences, numbers, options.words_around)
    if not len(found.counts):
        raise ValueError("no two words of the text stand in one line: give longer lines.")
    model = GloVe(len(words), options.dim, options.seed)
    model.learn(found, passes)
    vectors = KeyedVectors(options.dim)
    vectors.add_vectors(words, model.word_vectors())
    return vectors


def _relations(texts: Sequence[Path], options: VectorOptions) -> Any:
    from gensim.models.poincare import PoincareModel

    pairs, wrong = [], WrongLines()
    for path in texts:
        for number, line in enumerate(iter_lines(path), start=1):
            words = tuple(line.split("\t"))
            if len(words) != 2 or not all(words) or words[0] == words[1]:
                problem = f"expected two different words with a tab between, got {line[:80]!r}"
                wrong.add(path, number, problem)
            pairs.append(words)
    wrong.refuse()
    if not pairs:
        raise ValueError(f"{', '.join(map(str, texts))}: there is no relation.")
    passes = options.passes(2 * len(pairs))
    print(f"poincare: {len(pairs):,} relations; {passes} passes")
    # Gensim draws as many words that a word has no relation to.
    unrelated = len({word for pair in pairs for word in pair}) - max(
        Counter(word for word, _ in set(pairs)).values()
    )
    negative = min(_UNRELATED_WORDS, unrelated)
    model = PoincareModel(pairs, size=options.dim, seed=options.seed, negative=negative, workers=1)
    model.train(passes)
    return model.kv


def _write(trained: Any, path: Path, *, with_subwords: bool) -> None:
    vectors = getattr(trained, "wv", trained)
    if path.suffix == ".bin" and with_subwords:
        from gensim.models.fasttext import save_facebook_model

        save_facebook_model(trained, str(path))
    else:
        vectors.save_word2vec_format(str(path), binary=path.suffix == ".bin")

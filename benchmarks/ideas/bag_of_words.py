"""What scikit-learn makes of single words, without order and without other text."""

from typing import Any

from ideas.corpora import Task
from ideas.learn import tag_score


def measure(task: Task) -> float:
    """Returns the score of logistic regression on words; of a tagger on a word and its neighbours.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    except ImportError as error:
        raise ImportError(f"{error}: the bag of words needs `pip install scikit-learn`.") from error
    if task.kind == "tag":
        tagger = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=1000))
        words = [features for words, _ in task.train for features in _beside(words)]
        tagger.fit(words, [tag for _, tags in task.train for tag in tags])
        found = [list(tagger.predict(_beside(words))) for words, _ in task.test]
        return tag_score(found, [tags for _, tags in task.test])
    classifier = make_pipeline(
        TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, max_iter=1000)
    )
    (labels, texts), (right, asked) = map(_labels_and_texts, (task.train, task.test))
    classifier.fit(texts, labels)
    return 100 * float((classifier.predict(asked) == right).mean())


def _labels_and_texts(lines: list[Any]) -> tuple[list[str], list[str]]:
    return [line[0] for line in lines], [" ".join(line[1:]) for line in lines]


def _beside(words: list[str]) -> list[dict[str, str]]:
    """Each word with the one before and the one behind it."""
    around = ["", *words, ""]
    return [
        {"word": word, "before": around[place], "behind": around[place + 2]}
        for place, word in enumerate(words)
    ]

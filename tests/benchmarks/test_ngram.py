"""Perplexities of n-gram models need a package that is none of ours."""

import sys

import pytest


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.delitem(sys.modules, "nltk.lm", raising=False)
    monkeypatch.delitem(sys.modules, "ngram", raising=False)
    with pytest.raises(SystemExit, match="ngram.py needs nltk: install it with `pip install nltk`"):
        import ngram  # noqa: F401

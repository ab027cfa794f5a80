"""`keras-transformer extract-terms`: writes the terms of parallel text as a list for
`--glossary`.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.cli.corpora import DataOptions, read_corpus
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.markup.pairs import with_slots
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.soft_terms.extraction import consistent, extract_terms


@dataclass(frozen=True, kw_only=True)
class TermOptions:
    """What does not count as a term.

    Args:
        markup: Profile of the spans (tags, placeholders and the like) whose words are not terms;
            "plain" for no spans.
    """

    markup: Profile = "auto"


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    profile = read_fields(given, TermOptions).markup
    pairs = read_corpus(read_fields(given, DataOptions)).train
    found = extract_terms(*with_slots(pairs.source, pairs.target, profile, seed=None))
    glossary = consistent(found)
    for term in glossary.terms:
        print(term.source, term.target, sep="\t")
    print(
        f"keras-transformer extract-terms: {len(found)} terms, {len(glossary.terms)} of them with "
        "one translation in most places",
        file=sys.stderr,
    )
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "extract-terms",
        "Write the frequent terms of parallel text with their translations, as --glossary reads "
        "them.",
    )
    parser.add_fields(DataOptions, title="data")
    parser.add_fields(TermOptions, title="terms")
    return parser

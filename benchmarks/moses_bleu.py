"""BLEU as papers of the years before sacreBLEU report it: over Moses tokens, in lower case.

Both files are normalised (punctuation), lowercased and tokenized by sacremoses, then scored by
sacreBLEU's counts without any tokenizer of its own: the measure of Wu et al. 2021 on Multi30k.

    python benchmarks/moses_bleu.py translations.txt test.de.gz --language de
"""

import argparse
import gzip
import sys
from pathlib import Path

import sacrebleu
from sacremoses import MosesPunctNormalizer, MosesTokenizer


def read_lines(path: Path) -> list[str]:
    """Reads the lines of a text file, plain or .gz."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8").removesuffix("\n").split("\n")


def moses_tokens(lines: list[str], language: str) -> list[str]:
    """Lowercased Moses tokens of each line, joined by spaces."""
    normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    return [
        tokenizer.tokenize(normalizer.normalize(line).lower(), return_str=True) for line in lines
    ]


def moses_bleu(translations: list[str], references: list[str], language: str) -> float:
    """Corpus BLEU in percent over lowercased Moses tokens.

    Raises:
        ValueError: The two lists differ in length.
    """
    if len(translations) != len(references):
        raise ValueError(
            f"translations and references must have as many lines, got {len(translations)} and "
            f"{len(references)}."
        )
    ours, theirs = moses_tokens(translations, language), moses_tokens(references, language)
    return sacrebleu.corpus_bleu(ours, [theirs], tokenize="none", force=True).score


def main() -> None:
    """Prints the score of the files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("translations", type=Path)
    parser.add_argument("references", type=Path)
    parser.add_argument("--language", default="en", help="Language of the text, such as de.")
    given = parser.parse_args()
    try:
        lines = [read_lines(path) for path in (given.translations, given.references)]
        score = moses_bleu(*lines, given.language)
    except (OSError, EOFError, ValueError) as error:
        sys.exit(f"moses_bleu.py: {error}")
    print(f"BLEU {score:.2f} (Moses tokens, lower case)")


if __name__ == "__main__":
    main()

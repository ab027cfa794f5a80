"""Writes the tokenizers of the tiny models as Hugging Face's library saves them today: without the
SentencePiece models that they were read from.

    python -m tools.oracles.saved_tokenizers tests/fixtures tests/fixtures/saved_tokenizers

Needs transformers, which `make oracles` installs apart.
"""

import shutil
import sys
from pathlib import Path

import transformers

NAMES = ("t5", "pegasus", "nllb", "mbart", "mbart50", "llama_sentencepiece")


def main() -> None:
    """Reads the models below one folder and writes their tokenizers into another."""
    models, written = map(Path, sys.argv[1:])
    shutil.rmtree(written, ignore_errors=True)
    for name in NAMES:
        [path] = models.glob(f"*/{name}")
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(path))
        tokenizer.save_pretrained(str(written / name))
        files = sorted(one.name for one in (written / name).iterdir())
        print(f"{written / name}: {', '.join(files)}")


if __name__ == "__main__":
    main()

"""Writes what Hugging Face's tokenizers make of texts with tokens that users added to them, as
models of question generation have "<hl>", and with T5's sentinels.

    python -m tools.oracles.added_tokens tests/fixtures/translators tests/fixtures/added_tokens

Needs transformers, which `make oracles` installs apart.
"""

import json
import random
import shutil
import sys
from pathlib import Path

import transformers

NAMES = ("t5", "marian_huggingface")
ADDED = ("<hl>", "<sep>", "[x|y]", "<hl>2")
PARTS = (*ADDED, "<extra_id_0>", "<extra_id_1>", "a", "dog", " the", ".", " ", "  ", "é")
TEXTS = 200


def main() -> None:
    """Reads the models below one folder and writes tokenizers and ids into another."""
    models, written = map(Path, sys.argv[1:])
    shutil.rmtree(written, ignore_errors=True)
    drawn = random.Random(0)
    texts = ["".join(drawn.choices(PARTS, k=drawn.randint(1, 8))) for _ in range(TEXTS)]
    for name in NAMES:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(models / name))
        tokenizer.add_tokens(list(ADDED))
        # Other fixtures are found by the models' own names.
        directory = written / f"{name}_added"
        tokenizer.save_pretrained(str(directory))
        for file in directory.glob("*.spm"):
            file.unlink()
        ids = [tokenizer(text, add_special_tokens=False).input_ids for text in texts]
        reference = {"texts": texts, "ids": ids}
        path = directory / "reference.json"
        path.write_text(json.dumps(reference, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{directory}: {', '.join(sorted(one.name for one in directory.iterdir()))}")


if __name__ == "__main__":
    main()

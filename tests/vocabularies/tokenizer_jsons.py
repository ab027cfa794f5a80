"""Trains a `tokenizer.json` of each kind with the package `tokenizers` itself."""

import gzip
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

MULTI30K = Path(__file__).resolve().parents[3] / "shared/data/multi30k_en_de/train.en.gz"
OTHERWISE = [
    f"{who} {what} {where}."
    for who in ("A man", "Two dogs", "A woman in a red shirt", "The men", "Several pianists")
    for what in ("plays the piano", "is running", "isn't looking", "are swimming", "talks, sings")
    for where in ("in the park", "near a house", "by the river", "with a friend")
]
SIZE = 600


def make_all() -> dict[str, bytes]:
    """Returns the files' bytes by the name of the model whose kind they are."""
    texts = _sentences()
    made = {"wordpiece": _wordpiece(texts), "roberta": _roberta(texts), "gpt2": _gpt2(texts)}
    made["albert"] = _albert(texts)
    return {name: one.to_str().encode() for name, one in made.items()}


def _sentences() -> list[str]:
    if not MULTI30K.is_file():
        return OTHERWISE
    with gzip.open(MULTI30K, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line, _ in zip(lines, range(2000), strict=False)]


def _wordpiece(texts: list[str]) -> tokenizers.Tokenizer:
    one = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    one.normalizer = normalizers.BertNormalizer(lowercase=True)
    one.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    one.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=special, show_progress=False),
    )
    one.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    one.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    return one


def _roberta(texts: list[str]) -> tokenizers.Tokenizer:
    mask = tokenizers.AddedToken("<mask>", lstrip=True, special=True)
    one = _byte_level(texts, ["<s>", "<pad>", "</s>", "<unk>", mask])
    one.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    return one


def _gpt2(texts: list[str]) -> tokenizers.Tokenizer:
    return _byte_level(texts, ["<|endoftext|>"])


def _albert(texts: list[str]) -> tokenizers.Tokenizer:
    one = tokenizers.Tokenizer(models.Unigram())
    one.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
        ]
    )
    one.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    one.decoder = decoders.Metaspace()
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.UnigramTrainer(
        vocab_size=SIZE, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    one.train_from_iterator(texts, trainer)
    return one


def _byte_level(texts: list[str], special: list) -> tokenizers.Tokenizer:
    one = tokenizers.Tokenizer(models.BPE())
    one.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    one.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    one.train_from_iterator(texts, trainer)
    return one

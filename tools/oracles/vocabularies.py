"""Trains small vocabularies of each kind on given texts: SentencePiece models, and the WordPiece
and byte-level BPE of Hugging Face, whose tokenizers it returns.
"""

import json
from pathlib import Path
from typing import Any

import sentencepiece
import transformers
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

FAIRSEQ_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
# What Qwen's pieces lie within; Llama 3's hold up to three digits.
QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Of BART and RoBERTa.
BART_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BART_NAMES = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


LLAMA_PIECES = {
    "model_type": "bpe",
    "byte_fallback": True,
    "split_digits": True,
    "allow_whitespace_only_pieces": True,
    "remove_extra_whitespaces": False,
}
GEMMA_PIECES = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "add_dummy_prefix": False}


def train_pieces(path: Path, texts: list[str], size: int, **options: Any) -> Any:
    """Trains a SentencePiece model and returns it; a table of NFKC would be most of the file."""
    options.setdefault("normalization_rule_name", "identity")
    options.setdefault("hard_vocab_limit", False)
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=file,
            vocab_size=size,
            minloglevel=2,
            **options,
        )
    return sentencepiece.SentencePieceProcessor(str(path))


def moses_bpe(path: Path, texts: tuple[list[str], list[str]], size: int) -> None:
    """Writes FSMT's files: merges that both sides share, and a vocabulary of each side."""
    both = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trainer = trainers.BpeTrainer(vocab_size=size, end_of_word_suffix="</w>", show_progress=False)
    both.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    both.train_from_iterator([*texts[0], *texts[1]], trainer)
    merges = json.loads(both.to_str())["model"]["merges"]
    lines = [" ".join([*pair, str(len(merges) - rank)]) for rank, pair in enumerate(merges)]
    (path / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, given in zip(("src", "tgt"), texts, strict=True):
        pieces = sorted({piece for text in given for piece in both.encode(text).tokens})
        ids = {piece: place for place, piece in enumerate([*FAIRSEQ_SPECIAL, *pieces])}
        (path / f"vocab-{name}.json").write_text(json.dumps(ids), encoding="utf-8")


def mpnet_wordpiece(texts: list[str], size: int) -> Any:
    """Trains MPNet's kind of vocabulary: BERT's pieces with both names of an unknown token."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trained = wordpiece(texts, size, lowercase=True).get_vocab()
    pieces = sorted(trained.keys() - {"[PAD]", "[CLS]", "[SEP]", "[MASK]"}, key=trained.__getitem__)
    ids = {piece: place for place, piece in enumerate([*special, *pieces, "<mask>"])}
    return transformers.MPNetTokenizer(vocab=ids)


def albert_pieces(path: Path, texts: list[str], size: int) -> Any:
    """Trains ALBERT's kind of vocabulary: SentencePiece's unigrams of texts without capitals.

    The file at `path` goes again, as a tokenizer of Hugging Face saves it in its own.
    """
    special = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1}
    names = ["[CLS]", "[SEP]", "[MASK]"]
    lowered = [text.lower() for text in texts]
    pieces = train_pieces(path, lowered, size, control_symbols=names, **special)
    scored = [(pieces.id_to_piece(one), pieces.get_score(one)) for one in range(len(pieces))]
    path.unlink()
    return transformers.AlbertTokenizer(vocab=scored)


def wordpiece(texts: list[str], size: int, *, lowercase: bool) -> Any:
    """Trains BERT's kind of vocabulary."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=special, show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    names = ("pad", "unk", "cls", "sep", "mask")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        **{f"{name}_token": token for name, token in zip(names, special, strict=True)},
    )


def byte_level(texts: list[str], size: int, special: list[str], **named: str) -> Any:
    """Trains GPT-2's kind of vocabulary; with a `cls_token` BART's, which begins texts."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    if "cls_token" in named:
        made.post_processor = processors.RobertaProcessing(
            ("</s>", 2), ("<s>", 0), add_prefix_space=False
        )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named)


def qwen_bytes(texts: list[str], size: int) -> Any:
    """Trains Qwen's kind of vocabulary: composed characters, digits one by one, and names of roles
    behind its pieces.
    """
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    train_bytes(made, texts, size, QWEN_WORDS)
    made.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **ends)


def llama3_bytes(texts: list[str], size: int) -> Any:
    """Trains Llama 3's kind of vocabulary: words that are pieces are never split."""
    made = Tokenizer(models.BPE(ignore_merges=True))
    train_bytes(made, texts, size, QWEN_WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|"))
    made.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    begin = "<|begin_of_text|>"
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, made.token_to_id(begin))]
    )
    ends = {"bos_token": begin, "eos_token": "<|end_of_text|>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **ends)


def train_bytes(made: Any, texts: list[str], size: int, words: str) -> None:
    """Trains byte-level BPE within what a regular expression finds."""
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(words), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False),
    )

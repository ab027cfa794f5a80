"""Makes tiny encoders that followed BERT, with their tokenizers; one function for each family."""

import json
from collections.abc import Callable
from typing import Any

import transformers
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from tools.oracles.vocabularies import wordpiece

PIECES, BYTE_LEVEL = 280, 330
SIZES = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 66,
}
Made = tuple[Any, Any]


def make_modernbert(head: str, texts: list[str]) -> Made:
    """Makes a ModernBERT whose windows are shorter than its texts."""
    tokenizer = modernbert_bytes(texts)
    ids = {name: tokenizer.convert_tokens_to_ids(f"[{name}]") for name in ("CLS", "SEP", "PAD")}
    config = transformers.ModernBertConfig(
        vocab_size=len(tokenizer),
        **{**SIZES, "num_hidden_layers": 4},
        local_attention=6,
        classifier_pooling="cls" if head == "MaskedLM" else "mean",
        num_labels=3,
        cls_token_id=ids["CLS"],
        bos_token_id=ids["CLS"],
        sep_token_id=ids["SEP"],
        eos_token_id=ids["SEP"],
        pad_token_id=ids["PAD"],
    )
    return getattr(transformers, f"ModernBertFor{head}")(config), tokenizer


def make_electra(head: str, texts: list[str]) -> Made:
    """Makes an ELECTRA, a generator with narrow embeddings or a classifier."""
    tokenizer = wordpiece(texts, PIECES, lowercase=True)
    width = 12 if head == "MaskedLM" else SIZES["hidden_size"]
    config = transformers.ElectraConfig(
        vocab_size=len(tokenizer), embedding_size=width, num_labels=3, **SIZES
    )
    return getattr(transformers, f"ElectraFor{head}")(config), tokenizer


def make_nomic_bert(head: str, texts: list[str]) -> Made:
    """Makes a Nomic-BERT."""
    tokenizer = wordpiece(texts, PIECES, lowercase=True)
    config = transformers.NomicBertConfig(vocab_size=len(tokenizer), num_labels=3, **SIZES)
    return getattr(transformers, f"NomicBertFor{head}")(config), tokenizer


def make_deberta(head: str, texts: list[str]) -> Made:
    """Makes a DeBERTa: with v3's shared projections and head, or with v2's own of each layer."""
    tokenizer = transformers.DebertaV2Tokenizer(vocab=deberta_pieces(texts))
    is_v3 = head == "MaskedLM"
    config = transformers.DebertaV2Config(
        vocab_size=len(tokenizer),
        **SIZES,
        num_labels=3,
        relative_attention=True,
        pos_att_type="p2c|c2p",
        position_buckets=6,
        max_relative_positions=-1 if is_v3 else 20,
        position_biased_input=not is_v3,
        share_att_key=is_v3,
        norm_rel_ebd="layer_norm" if is_v3 else "none",
        type_vocab_size=0 if is_v3 else 2,
        legacy=not is_v3,
    )
    return getattr(transformers, f"DebertaV2For{head}")(config), tokenizer


def deberta_pieces(texts: list[str]) -> list[tuple[str, float]]:
    """Trains DeBERTa's kind of vocabulary: unigrams behind BERT's special tokens."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=PIECES, special_tokens=special, unk_token="[UNK]", show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    return [*map(tuple, json.loads(made.to_str())["model"]["vocab"]), ("[MASK]", 0.0)]


def modernbert_bytes(texts: list[str]) -> Any:
    """Trains ModernBERT's kind of vocabulary: pieces of bytes, several spaces as one of their own,
    and BERT's special tokens behind them.
    """
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=BYTE_LEVEL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    made.add_tokens([AddedToken(" " * count, normalized=True) for count in (3, 2)])
    made.add_tokens([AddedToken("|||IP_ADDRESS|||", normalized=True)])
    special = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
    made.add_special_tokens([AddedToken(one, lstrip=one == "[MASK]") for one in special])
    ends = [(one, made.token_to_id(one)) for one in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:0 [SEP]:0", special_tokens=ends
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, **{f"{one[1:-1].lower()}_token": one for one in special}
    )


_FAMILIES: dict[str, Callable[[str, list[str]], Made]] = {
    "modernbert": make_modernbert,
    "electra": make_electra,
    "deberta": make_deberta,
    "nomic_bert": make_nomic_bert,
}
# A directory's name → what makes its model and its tokenizer of texts.
MAKERS = {
    f"{name}{ending}": (make, head)
    for name, make in _FAMILIES.items()
    for ending, head in (("", "MaskedLM"), ("_classes", "SequenceClassification"))
}

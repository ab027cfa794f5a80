"""Makes tiny random encoders and decoders with Hugging Face transformers, in its files, and writes
beside them what they compute. Needs PyTorch, transformers and tokenizers.

`reference.json` holds texts and their ids. Of encoders: the log-probability of each token at its
place, in nats, or a head's logits, of pairs of texts, too. Of decoders: that of each text, and
greedy continuations.
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers
from tokenizers import AddedToken

from tools.oracles.encoders import MAKERS
from tools.oracles.rerankers import of_sentence_transformers, of_transformers
from tools.oracles.sizes import BYTE_FALLBACK
from tools.oracles.texts import hostile, many_strings, pairs
from tools.oracles.translators import randomize
from tools.oracles.vocabularies import (
    BART_NAMES,
    BART_SPECIAL,
    GEMMA_PIECES,
    LLAMA_PIECES,
    albert_pieces,
    byte_level,
    llama3_bytes,
    mpnet_wordpiece,
    qwen_bytes,
    train_pieces,
    wordpiece,
)

WIDTH, HIDDEN, HEADS, LAYERS, PIECES = 16, 24, 2, 2, 280
TRAINING, GIVEN, NEW_TOKENS = 400, 10, 12
BYTE_LEVEL = 340
# Characters of a pair of texts, so that no vocabulary makes more tokens of it than models read.
MOST = 58
# Tokens of a row, odd with special ones or without, that a reranker reads by its tokenizer.
LONGEST = 63
ENCODER = {
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": 66,
}
# A classifier whose texts have any number of labels.
FEELINGS = {
    "num_labels": 4,
    "id2label": dict(enumerate(["joy", "anger, fear", "love", "surprise"])),
    "problem_type": "multi_label_classification",
}


def make(name: str, path: Path) -> tuple[Any, Any]:
    """Returns a model and its tokenizer, whose files it writes."""
    texts = pairs(TRAINING)[0]
    if name in MAKERS:
        make_encoder, head = MAKERS[name]
        model, tokenizer = make_encoder(head, texts)
    elif name.startswith("bert"):
        tokenizer = wordpiece(texts, PIECES, lowercase=True)
        outputs = 1 if name in RERANKERS else 3
        config = transformers.BertConfig(vocab_size=len(tokenizer), num_labels=outputs, **ENCODER)
        head = "MaskedLM" if name == "bert" else "SequenceClassification"
        model = getattr(transformers, f"BertFor{head}")(config)
    elif name.startswith("roberta"):
        tokenizer = byte_level(texts, BYTE_LEVEL, BART_SPECIAL, **BART_NAMES)
        labels = FEELINGS if name == "roberta_feelings" else {}
        config = transformers.RobertaConfig(
            vocab_size=len(tokenizer), type_vocab_size=1, **{"num_labels": 2, **labels}, **ENCODER
        )
        head = "MaskedLM" if name == "roberta" else "SequenceClassification"
        model = getattr(transformers, f"RobertaFor{head}")(config)
    elif name.startswith("mpnet"):
        tokenizer = mpnet_wordpiece(texts, PIECES)
        config = transformers.MPNetConfig(vocab_size=len(tokenizer), num_labels=3, **ENCODER)
        head = {"mpnet": "MaskedLM", "mpnet_classes": "SequenceClassification"}[name]
        model = getattr(transformers, f"MPNetFor{head}")(config)
    elif name.startswith("albert"):
        tokenizer = albert_pieces(path / "spiece.model", texts, PIECES)
        # Two groups of a block, or a group of two.
        groups = {"num_hidden_layers": 4, "num_hidden_groups": 2}
        if name == "albert_classes":
            groups = {"num_hidden_layers": 2, "inner_group_num": 2}
        sizes = {**ENCODER, **groups, "embedding_size": 12}
        config = transformers.AlbertConfig(vocab_size=len(tokenizer), num_labels=3, **sizes)
        head = {"albert": "MaskedLM", "albert_classes": "SequenceClassification"}[name]
        model = getattr(transformers, f"AlbertFor{head}")(config)
    elif name.startswith("distilbert"):
        tokenizer = wordpiece(texts, PIECES, lowercase=False)
        sizes = {"dim": WIDTH, "hidden_dim": HIDDEN, "n_heads": HEADS, "n_layers": LAYERS}
        config = transformers.DistilBertConfig(
            vocab_size=len(tokenizer), max_position_embeddings=64, num_labels=3, **sizes
        )
        heads = {"distilbert": "MaskedLM", "distilbert_classes": "SequenceClassification"}
        model = getattr(transformers, f"DistilBertFor{heads[name]}")(config)
    elif name == "phi3":
        return make_phi3(path, texts)
    elif name == "llama_sentencepiece" or name.startswith("gemma"):
        return make_llama(name.partition("_")[0], path, texts)
    elif name.startswith("xlm_roberta"):
        return make_xlm_roberta(name, path, texts)
    else:
        ends = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
        tokenizer = byte_level(texts, BYTE_LEVEL, ["<|endoftext|>"], **ends)
        bos = eos = 0
        if name in TOKENS:
            tokenizer = TOKENS[name](texts, BYTE_LEVEL)
            bos, eos = len(tokenizer) - 3, tokenizer.eos_token_id
        # Qwen's models have rows beyond their tokens.
        sized = range(len(tokenizer) + 6) if name == "qwen2" else tokenizer
        model = gpt2(tokenizer) if name == "gpt2" else llama(name, sized, bos, eos)
    tokenizer.save_pretrained(path)
    return model, tokenizer


def gpt2(tokenizer: Any) -> Any:
    """Makes a GPT-2."""
    sizes = {"n_embd": WIDTH, "n_inner": HIDDEN, "n_head": HEADS, "n_layer": LAYERS}
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, bos_token_id=0, eos_token_id=0, **sizes
    )
    return transformers.GPT2LMHeadModel(config)


PARTLY = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
# Decoders of Llama's form: the beginning of their classes' names, and what they need beside sizes.
OF_LLAMA: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "llama3": (
        "Llama",
        {
            "attention_bias": True,
            "mlp_bias": True,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 500_000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32,
            },
        },
    ),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"head_dim": 16}),
    "smollm3": (
        "SmolLM3",
        {
            "num_hidden_layers": 3,
            "no_rope_layers": [1, 0, 1],
            "tie_word_embeddings": True,
            "pad_token_id": None,
        },
    ),
    "granite": (
        "Granite",
        {
            "tie_word_embeddings": True,
            "embedding_multiplier": 3.0,
            "residual_multiplier": 0.3,
            "attention_multiplier": 0.2,
            "logits_scaling": 2.0,
        },
    ),
    "phi3": (
        "Phi3",
        {
            "pad_token_id": None,
            "max_position_embeddings": 128,
            "original_max_position_embeddings": 64,
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 10_000.0,
                "partial_rotary_factor": 0.5,
                "short_factor": [1.0, 1.5],
                "long_factor": [2.0, 4.0],
            },
        },
    ),
    "olmo2": ("Olmo2", {"pad_token_id": None}),
    "stablelm": (
        "StableLm",
        {"rope_parameters": PARTLY, "use_qkv_bias": True, "pad_token_id": None},
    ),
    "mistral": ("Mistral", {"head_dim": 8, "sliding_window": 4}),
    "gemma": ("Gemma", {"head_dim": 12, "tie_word_embeddings": True, "pad_token_id": 0}),
    "gemma2": (
        "Gemma2",
        {
            "head_dim": 12,
            "pad_token_id": 0,
            "query_pre_attn_scalar": 12,
            "sliding_window": 3,
            "layer_types": ["sliding_attention", "full_attention"],
            "attn_logit_softcapping": 0.5,
            "final_logit_softcapping": 3.0,
            "tie_word_embeddings": True,
            # Others may leave out the caps of scores.
            "attn_implementation": "eager",
        },
    ),
    "gemma3": (
        "Gemma3Text",
        {
            "head_dim": 12,
            "pad_token_id": 0,
            "query_pre_attn_scalar": 12,
            "sliding_window": 3,
            "layer_types": ["sliding_attention", "full_attention"],
            "tie_word_embeddings": True,
        },
    ),
}


# Vocabularies of those that have not GPT-2's; the first of three names behind the pieces begins
# texts.
TOKENS = {"llama3": llama3_bytes, "qwen2": qwen_bytes}


def llama(name: str, tokenizer: Any, bos: int, eos: int) -> Any:
    """Makes a Llama, or a model of its form."""
    prefix, fields = OF_LLAMA[name]
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=len(tokenizer),
        bos_token_id=bos,
        eos_token_id=eos,
        **{**ENCODER, "num_key_value_heads": 1, "tie_word_embeddings": False, **fields},
    )
    return getattr(transformers, f"{prefix.removesuffix('Text')}ForCausalLM")(config)


def make_llama(name: str, path: Path, texts: list[str]) -> tuple[Any, Any]:
    """Makes a Llama with a vocabulary of the kind of the first ones: BPE that falls back to bytes.

    A Gemma's has a padding, another order of special ids, and no space before a text.

    SentencePiece, which those were trained with, says the ids; the tokenizer of Hugging Face agrees
    on sentences, but not on unusual white space.
    """
    train_pieces(
        path / "tokenizer.model",
        texts,
        BYTE_FALLBACK,
        **LLAMA_PIECES,
        **({} if name == "llama" else GEMMA_PIECES),
    )
    pieces = sentencepiece.SentencePieceProcessor(str(path / "tokenizer.model"))
    if name == "llama":  # Transformers does not convert a Gemma's file by itself.
        theirs = transformers.LlamaTokenizer.from_pretrained(str(path))
        given = pairs(GIVEN, start=TRAINING)[0]
        found = [theirs(text, add_special_tokens=False)["input_ids"] for text in given]
        if found != pieces.encode(given):
            raise RuntimeError("the tokenizer of Hugging Face does not give SentencePiece's ids.")

    def ids(text: str, add_special_tokens: bool = True) -> dict[str, Any]:
        return {"input_ids": pieces.encode(text, add_bos=add_special_tokens)}

    return llama(name, pieces, pieces.bos_id(), pieces.eos_id()), ids


def make_phi3(path: Path, texts: list[str]) -> tuple[Any, Any]:
    """Makes a Phi-3, whose vocabulary is Llama's with added tokens in a `tokenizer.json`.

    SentencePiece says the ids, as above.
    """
    model_file = path / "tokenizer.model"
    pieces = train_pieces(model_file, texts, BYTE_FALLBACK, **LLAMA_PIECES)
    theirs = transformers.LlamaTokenizer.from_pretrained(str(path))
    added = [AddedToken("<|endoftext|>"), AddedToken("<|assistant|>", rstrip=True)]
    theirs.add_special_tokens({"additional_special_tokens": added})
    theirs.save_pretrained(path)
    model_file.unlink()
    eos = len(pieces)

    def ids(text: str, **_: Any) -> dict[str, Any]:
        return {"input_ids": pieces.encode(text)}

    sized = range(eos + 10)  # Theirs have rows beyond their tokens.
    return llama("phi3", sized, pieces.bos_id(), eos), ids


def make_xlm_roberta(name: str, path: Path, texts: list[str]) -> tuple[Any, Any]:
    """Makes an XLM-RoBERTa, whose vocabulary is a SentencePiece model with fairseq's ids.

    SentencePiece says the ids, as above; of a reranker's pairs their tokenizer says them.
    """
    pieces = train_pieces(path / "sentencepiece.bpe.model", texts, PIECES)
    scored = [(pieces.id_to_piece(one), pieces.get_score(one)) for one in range(3, len(pieces))]
    special = [(one, 0.0) for one in ("<s>", "<pad>", "</s>", "<unk>")]
    longest = {"model_max_length": LONGEST} if name in RERANKERS else {}
    theirs = transformers.XLMRobertaTokenizer(vocab=[*special, *scored], **longest)

    def ids(text: str, second: str | None = None, **asked: Any) -> dict[str, Any]:
        if second is not None:
            return theirs(text, second, truncation=True, **asked)
        # Their first id is that of unknown text, and four come before the others.
        row = [one + 1 if one else 3 for one in pieces.encode(text)]
        return {"input_ids": [0, *row, 2] if asked.get("add_special_tokens", True) else row}

    given = pairs(GIVEN, start=TRAINING)[0]
    if [theirs(text)["input_ids"] for text in given] != [ids(text)["input_ids"] for text in given]:
        raise RuntimeError("the tokenizer of Hugging Face does not give SentencePiece's ids.")
    theirs.save_pretrained(path)
    sizes = {"vocab_size": len(theirs), "type_vocab_size": 1, **ENCODER}
    if name in RERANKERS:
        config = transformers.XLMRobertaConfig(num_labels=1, **sizes)
        return transformers.XLMRobertaForSequenceClassification(config), ids
    return transformers.XLMRobertaForMaskedLM(transformers.XLMRobertaConfig(**sizes)), ids


DECODERS = ("gpt2", "llama_sentencepiece", *OF_LLAMA)
LATER = tuple(name for name in MAKERS if not name.endswith("_classes"))
ENCODERS = ("bert", "roberta", "distilbert", "mpnet", "albert", *LATER)
CLASSIFIERS = (*(f"{name}_classes" for name in ENCODERS), "roberta_feelings")
RERANKERS = {
    "bert_reranker": of_sentence_transformers,
    "xlm_roberta_reranker": of_transformers,
}
NAMES = (*ENCODERS, *CLASSIFIERS, *RERANKERS, "xlm_roberta", *DECODERS)


def references(name: str, model: Any, tokenizer: Any, strings: Sequence[str]) -> dict[str, Any]:
    """Returns what a model and its tokenizer make of texts, and of strings the ids."""
    texts = pairs(GIVEN, start=TRAINING)[0]
    is_alone = name not in DECODERS
    ids = [tokenizer(text, add_special_tokens=is_alone)["input_ids"] for text in texts]
    found: dict[str, Any] = {"texts": texts, "ids": ids, "hostile": list(strings)}
    found["hostile_ids"] = [
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in found["hostile"]
    ]
    if name in RERANKERS:
        return {**found, **RERANKERS[name](model, tokenizer, texts)}
    with torch.no_grad():
        if name in DECODERS:
            bos, eos = model.config.bos_token_id, model.config.eos_token_id
            rows = [[bos, *row, eos] for row in ids]
            values = [model(torch.tensor([row[:-1]])).logits.log_softmax(-1)[0] for row in rows]
            found["log_probabilities"] = [
                one.gather(1, torch.tensor(row[1:])[:, None]).sum().item()
                for one, row in zip(values, rows, strict=True)
            ]
            found["greedy"] = [continued(model, prompt) for prompt in prompts(tokenizer, texts)]
        else:
            logits = [model(torch.tensor([row])).logits[0] for row in ids]
            if name in CLASSIFIERS:
                found["logits"] = [one.tolist() for one in logits]
                found |= classes_of_pairs(model, tokenizer, texts)
                found |= probabilities(model, tokenizer, texts)
            else:
                found["token_log_probabilities"] = [
                    one.log_softmax(-1).gather(1, torch.tensor(row)[:, None])[:, 0].tolist()
                    for one, row in zip(logits, ids, strict=True)
                ]
    return found


def prompts(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Returns the first tokens of texts, behind a start where the tokenizer puts one."""
    rows = [tokenizer(text)["input_ids"] for text in texts]
    starts = [
        len(row) - len(tokenizer(text, add_special_tokens=False)["input_ids"])
        for row, text in zip(rows, texts, strict=True)
    ]
    return [row[: start + 5] for start, row in zip(starts, rows, strict=True)]


def continued(model: Any, prompt: Sequence[int]) -> list[int]:
    """Returns the ids that greedy search writes behind a prompt."""
    eos = model.config.eos_token_id
    found = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt)),
        max_new_tokens=NEW_TOKENS,
        do_sample=False,
        pad_token_id=eos,
    )
    return found[0].tolist()[len(prompt) :]


def classes_of_pairs(model: Any, tokenizer: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Returns pairs of texts, their ids as the tokenizer lays them out, and the model's logits."""
    seconds = [" ".join(text.split()[:3]) for text in texts[1:]]
    both = [pair for pair in zip(texts, seconds, strict=False) if sum(map(len, pair)) < MOST]
    # A BertTokenizer gives types unasked.
    has_types = getattr(model.config, "type_vocab_size", 0) > 1
    rows = [tokenizer(*one, return_tensors="pt", return_token_type_ids=has_types) for one in both]
    return {
        "pairs": both,
        "pair_ids": [row["input_ids"][0].tolist() for row in rows],
        "pair_logits": [model(**row).logits[0].tolist() for row in rows],
    }


def probabilities(model: Any, tokenizer: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Returns the probability of each label as the library's pipeline gives them."""
    classify = transformers.TextClassificationPipeline(model=model, tokenizer=tokenizer, top_k=None)
    found = [{one["label"]: one["score"] for one in row} for row in classify(list(texts))]
    labels = model.config.id2label.values()
    return {"probabilities": [[row[label] for label in labels] for row in found]}


def main() -> None:
    """Writes every folder into the one that the command line names."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these models")
    parser.add_argument("--strings", type=int, help="how many to split; 40 hostile ones if not")
    given = parser.parse_args()
    strings = many_strings(given.strings) if given.strings else hostile(40)
    for name in given.names or NAMES:
        path = given.folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        torch.manual_seed(0)
        model, tokenizer = make(name, path)
        randomize(model)
        model.eval()
        model.save_pretrained(path)
        model.name_or_path = str(path)
        (path / "reference.json").write_text(
            json.dumps(references(name, model, tokenizer, strings))
        )
        size = sum(file.stat().st_size for file in path.iterdir())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()

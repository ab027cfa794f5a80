"""Makes tiny random models with keras-hub, saves each as a preset, and writes beside its files what
it computes: ids of texts, and states, logits or probabilities; of generative models greedy
continuations, too. A preset is kept as one compressed file. Needs keras-hub and transformers.
"""

import argparse
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras_hub import models

from tools.oracles.texts import hostile, many_strings, pairs
from tools.oracles.vocabularies import (
    BART_NAMES,
    BART_SPECIAL,
    byte_level,
    llama3_bytes,
    qwen_bytes,
    train_pieces,
    wordpiece,
)

PIECES, BYTES, LENGTH, NEW_TOKENS = 280, 340, 64, 12
TRAINING, GIVEN = 400, 6
SIZES = {"num_layers": 2, "hidden_dim": 16, "intermediate_dim": 24}
ENCODER = {**SIZES, "num_heads": 2, "max_sequence_length": LENGTH}
DECODER = {**SIZES, "num_query_heads": 4, "num_key_value_heads": 2}
ROPE = {
    "rope_max_wavelength": 500_000,
    "rope_frequency_adjustment_factor": 8.0,
    "rope_low_freq_factor": 1.0,
    "rope_high_freq_factor": 4.0,
    "rope_pretraining_sequence_length": 32,
}
BOTH_NORMS = {
    "head_dim": 8,
    "use_post_ffw_norm": True,
    "use_post_attention_norm": True,
    "use_sliding_window_attention": True,
    "sliding_window_size": 3,
}
GEMMA_IDS: dict[str, Any] = {
    **{"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3},
    **{"bos_piece": "<bos>", "eos_piece": "<eos>"},
}
FALLS_BACK: dict[str, Any] = {
    "model_type": "bpe",
    "byte_fallback": True,
    "remove_extra_whitespaces": False,
}


def byte_pairs(made: Any) -> dict[str, Any]:
    """Returns a vocabulary of byte-level BPE as keras-hub's tokenizers take it."""
    found = json.loads(made.backend_tokenizer.to_str())
    added = {one["content"]: one["id"] for one in found["added_tokens"]}
    merges = [" ".join(pair) for pair in found["model"]["merges"]]
    return {"vocabulary": {**found["model"]["vocab"], **added}, "merges": merges}


def words(*, lowercase: bool) -> dict[str, Any]:
    """Returns a vocabulary of WordPiece."""
    found = wordpiece(pairs(TRAINING)[0], PIECES, lowercase=lowercase).get_vocab()
    return {"vocabulary": sorted(found, key=found.__getitem__), "lowercase": lowercase}


def pieces(size: int = PIECES, **options: Any) -> dict[str, Any]:
    """Returns a SentencePiece model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        train_pieces(path, pairs(TRAINING)[0], size, **options)
        return {"proto": path.read_bytes()}


def bart_bytes() -> dict[str, Any]:
    """Returns the vocabulary of BART and RoBERTa."""
    return byte_pairs(byte_level(pairs(TRAINING)[0], BYTES, BART_SPECIAL, **BART_NAMES))


def gpt2_bytes() -> dict[str, Any]:
    """Returns GPT-2's vocabulary."""
    ends = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
    return byte_pairs(byte_level(pairs(TRAINING)[0], BYTES, ["<|endoftext|>"], **ends))


def bytes_of(train: Callable[[list[str], int], Any], *beside: str) -> dict[str, Any]:
    """Returns the vocabulary of a Llama 3 or Qwen, with further tokens behind its own."""
    found = byte_pairs(train(pairs(TRAINING)[0], BYTES))
    for token in beside:
        found["vocabulary"].setdefault(token, len(found["vocabulary"]))
    return found


DEBERTA_NAMES: dict[str, Any] = {
    **{"pad_piece": "[PAD]", "unk_piece": "[UNK]", "control_symbols": ["[CLS]", "[SEP]"]},
    **{"bos_id": -1, "eos_id": -1},
}
CONTROL: dict[str, Any] = {
    "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
    "bos_id": -1,
    "eos_id": -1,
}
ROLES = ("<|start_header_id|>", "<|end_header_id|>")
# Name → beginning of the classes' names, their task, vocabulary, and fields of the backbone.
MADE: dict[str, tuple[str, str, Callable[[], dict[str, Any]], dict[str, Any]]] = {
    "bert": ("Bert", "MaskedLM", lambda: words(lowercase=True), ENCODER),
    "bert_classes": ("Bert", "TextClassifier", lambda: words(lowercase=True), ENCODER),
    "distil_bert": ("DistilBert", "", lambda: words(lowercase=False), ENCODER),
    "distil_bert_classes": (
        "DistilBert",
        "TextClassifier",
        lambda: words(lowercase=False),
        ENCODER,
    ),
    "electra": (
        "Electra",
        "",
        lambda: words(lowercase=True),
        {**ENCODER, "embedding_dim": 12},
    ),
    "roberta": ("Roberta", "MaskedLM", bart_bytes, ENCODER),
    "roberta_classes": ("Roberta", "TextClassifier", bart_bytes, ENCODER),
    "xlm_roberta": ("XLMRoberta", "MaskedLM", pieces, ENCODER),
    "albert": (
        "Albert",
        "MaskedLM",
        lambda: pieces(pad_id=0, unk_id=1, **CONTROL),
        {**ENCODER, "embedding_dim": 12, "num_layers": 4, "num_groups": 2},
    ),
    "deberta_v3": (
        "DebertaV3",
        "MaskedLM",
        lambda: pieces(pad_id=0, unk_id=3, **DEBERTA_NAMES),
        {**ENCODER, "bucket_size": 8},
    ),
    "gpt2": ("GPT2", "CausalLM", gpt2_bytes, ENCODER),
    "llama3": (
        "Llama3",
        "CausalLM",
        lambda: bytes_of(llama3_bytes, *ROLES),
        {**DECODER, **ROPE},
    ),
    "llama": ("Llama", "CausalLM", lambda: pieces(420, **FALLS_BACK), DECODER),
    "mistral": (
        "Mistral",
        "CausalLM",
        lambda: pieces(420, **FALLS_BACK),
        {**DECODER, "sliding_window": 4},
    ),
    "qwen": ("Qwen", "CausalLM", lambda: bytes_of(qwen_bytes), DECODER),
    "qwen3": (
        "Qwen3",
        "CausalLM",
        lambda: bytes_of(qwen_bytes),
        # Whatever it says, queries and keys are normalized with this one.
        {**DECODER, "head_dim": 8, "layer_norm_epsilon": 1e-5},
    ),
    "gemma": (
        "Gemma",
        "CausalLM",
        lambda: pieces(420, add_dummy_prefix=False, **GEMMA_IDS, **FALLS_BACK),
        {**DECODER, "head_dim": 8},
    ),
    "gemma2": (
        "Gemma",
        "CausalLM",
        lambda: pieces(420, add_dummy_prefix=False, **GEMMA_IDS, **FALLS_BACK),
        {
            **DECODER,
            **BOTH_NORMS,
            "attention_logit_soft_cap": 0.5,
            "final_logit_soft_cap": 3.0,
        },
    ),
    "gemma3": (
        "Gemma3",
        "CausalLM",
        lambda: pieces(420, add_dummy_prefix=False, **GEMMA_IDS, **FALLS_BACK),
        {**DECODER, **BOTH_NORMS, "num_layers": 6, "image_size": 16},
    ),
    "bart": ("Bart", "Seq2SeqLM", bart_bytes, ENCODER),
    "t5": (
        "T5",
        "Seq2SeqLM",
        lambda: pieces(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
        {**SIZES, "num_heads": 2, "key_value_dim": 8, "activation": "gelu"},
    ),
}
FURTHER: dict[str, dict[str, Any]] = {
    "Gemma3Tokenizer": {"has_vision_tokens": False},
    "TextClassifier": {"num_classes": 3},
}


def make(name: str) -> tuple[Any, Any, Any]:
    """Returns a model, its tokenizer and what lays out its inputs, which is None without a task."""
    keras.utils.set_random_seed(0)
    prefix, task, vocabulary, fields = MADE[name]
    given = {**vocabulary(), **FURTHER.get(f"{prefix}Tokenizer", {})}
    tokenizer = getattr(models, f"{prefix}Tokenizer")(**given)
    size = "vocab_size" if prefix == "Electra" else "vocabulary_size"
    backbone = getattr(models, f"{prefix}Backbone")(**{size: tokenizer.vocabulary_size(), **fields})
    model, layout = backbone, None
    if task:
        layout = getattr(models, f"{prefix}{task}Preprocessor")(
            tokenizer, **({} if task == "Seq2SeqLM" else {"sequence_length": LENGTH})
        )
        made = getattr(models, f"{prefix}{task}")
        model = made(backbone=backbone, preprocessor=layout, **FURTHER.get(task, {}))
    draw = np.random.default_rng(3)
    for weight in model.weights:
        is_scale = weight.path.endswith(("gamma", "scale", "/weight")) and "gemma" not in name
        if "seed" not in weight.path and weight.dtype == "float32":
            # The head for masked tokens has another epsilon than the blocks: wide numbers hide it.
            spread = 2.0 if "mlm_head/intermediate_dense" in weight.path else 0.25
            weight.assign(is_scale + spread * draw.standard_normal(weight.shape))
    return model, tokenizer, layout


def references(name: str, model: Any, tokenizer: Any, layout: Any) -> dict[str, Any]:
    """Returns what a model computes for texts."""
    texts = pairs(GIVEN, start=TRAINING)[0]
    task = MADE[name][1]
    if task == "CausalLM":
        return {"texts": texts, **continued(model, tokenizer, layout, texts)}
    if task == "Seq2SeqLM":
        return {"texts": texts, **translated(model, tokenizer, layout, texts)}
    if task == "TextClassifier":
        seconds = [" ".join(text.split()[:3]) for text in texts[1:]]
        both = list(zip(texts, seconds, strict=False))
        inputs = [layout(one) for one in texts]
        of_pairs = [layout.call(one) for one in both]
        return {
            "texts": texts,
            "ids": [row(one) for one in inputs],
            "logits": [np.asarray(model(batch(one)))[0].tolist() for one in inputs],
            "pairs": both,
            "pair_ids": [row(one) for one in of_pairs],
            "pair_logits": [np.asarray(model(batch(one)))[0].tolist() for one in of_pairs],
        }
    first, last = tokenizer.start_token_id, tokenizer.end_token_id
    rows = [[first, *tokenizer(text), last] for text in texts]
    rows = [[int(one) for one in found] for found in rows]
    found = [model(plain(model, one, task)) for one in rows]
    if task == "MaskedLM":
        logits = [log_softmax(np.asarray(one)[0]) for one in found]
        chosen = [one[range(len(ids)), ids].tolist() for one, ids in zip(logits, rows, strict=True)]
        return {"texts": texts, "ids": rows, "token_log_probabilities": chosen}
    states = [one["sequence_output"] if isinstance(one, dict) else one for one in found[:2]]
    return {"texts": texts, "ids": rows, "states": [np.asarray(one)[0].tolist() for one in states]}


def batch(inputs: dict[str, Any]) -> dict[str, Any]:
    """Returns inputs of one text as a batch."""
    return {name: np.asarray(one)[None] for name, one in inputs.items()}


def row(inputs: dict[str, Any]) -> list[int]:
    """Returns the ids of a text without its padding."""
    return np.asarray(inputs["token_ids"])[np.asarray(inputs["padding_mask"], bool)].tolist()


def plain(model: Any, ids: Sequence[int], task: str = "") -> dict[str, Any]:
    """Returns inputs of a row of ids without padding."""
    found = np.array([list(ids)])
    inputs = {"token_ids": found, "padding_mask": np.ones_like(found)}
    if task == "MaskedLM":
        inputs["mask_positions"] = np.arange(len(ids))[None]
    if "segment_ids" in model.input:
        inputs["segment_ids"] = np.zeros_like(found)
    return inputs


def log_softmax(logits: Any) -> Any:
    """Returns log-probabilities in nats, float64."""
    logits = logits.astype(np.float64)
    logits = logits - logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def continued(model: Any, tokenizer: Any, layout: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Returns the log-probability of each text behind its first token, and continuations."""
    rows = [row(layout.generate_preprocess(text, sequence_length=LENGTH)) for text in texts]
    values = [log_softmax(np.asarray(model(plain(model, one)))[0]) for one in rows]
    chosen = [
        float(one[range(len(ids) - 1), ids[1:]].sum())
        for one, ids in zip(values, rows, strict=True)
    ]

    def step(ids: Sequence[int]) -> int:
        return int(np.asarray(model(plain(model, ids)))[0, -1].argmax())

    prompts = [one[:5] for one in rows]
    return {
        "ids": rows,
        "log_probabilities": chosen,
        "prompts": prompts,
        "greedy": [greedy(step, one, tokenizer.end_token_id) for one in prompts],
    }


def greedy(step: Callable[[Sequence[int]], int], prompt: Sequence[int], end: int) -> list[int]:
    """Returns the ids that follow a prompt, up to the end."""
    found = list(prompt)
    while len(found) < len(prompt) + NEW_TOKENS and (found[-1] != end or found == list(prompt)):
        found.append(step(found))
    return found[len(prompt) :]


def translated(model: Any, tokenizer: Any, layout: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Returns ids of sources and targets, log-probabilities of the latter, and greedy search."""
    rows, chosen, written = [], [], []
    targets = [" ".join(text.split()[::-1]) for text in texts]
    for text, target in zip(texts, targets, strict=True):
        given = batch(layout({"encoder_text": text, "decoder_text": target})[0])
        source = row_of(given, "encoder")
        outputs = row_of(given, "decoder")

        def probabilities(ids: Sequence[int], source: list[int] = source) -> Any:
            inputs = {
                f"{side}_{name}": value
                for side, row in (("encoder", source), ("decoder", ids))
                for name, value in (
                    ("token_ids", np.array([list(row)])),
                    ("padding_mask", np.ones((1, len(row)), int)),
                )
            }
            return log_softmax(np.asarray(model(inputs))[0])

        # BART's decoder reads the end and the beginning of a text before its first token.
        start = outputs[:2] if outputs[1] == tokenizer.start_token_id else outputs[:1]
        values = probabilities(outputs[:-1])
        places = range(len(start) - 1, len(outputs) - 1)
        chosen.append(float(values[places, outputs[len(start) :]].sum()))
        written.append(
            greedy(lambda ids: int(probabilities(ids)[-1].argmax()), start, tokenizer.end_token_id)
        )
        rows.append({"source": source, "target": outputs})
    return {"targets": targets, "rows": rows, "log_probabilities": chosen, "greedy": written}


def row_of(inputs: dict[str, Any], side: str) -> list[int]:
    """Returns the ids of a side without padding."""
    keep = inputs[f"{side}_padding_mask"][0].astype(bool)
    return inputs[f"{side}_token_ids"][0][keep].tolist()


def main() -> None:
    """Writes every preset into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these models")
    parser.add_argument("--strings", type=int, help="how many to split; 40 hostile ones if not")
    given = parser.parse_args()
    strings = many_strings(given.strings) if given.strings else hostile(40)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in given.names or MADE:
        with tempfile.TemporaryDirectory() as folder:
            model, tokenizer, layout = make(name)
            model.save_to_preset(folder)
            if layout is None:
                tokenizer.save_to_preset(folder)
            found = references(name, model, tokenizer, layout)
            found |= {
                "hostile": strings,
                "hostile_ids": [[int(one) for one in tokenizer(text)] for text in strings],
            }
            (Path(folder) / "reference.json").write_text(json.dumps(found), encoding="utf-8")
            packed = given.folder / f"{name}.zip"
            shutil.make_archive(str(packed.with_suffix("")), "zip", folder)
            with zipfile.ZipFile(packed) as archive:
                count = len(archive.namelist())
        print(f"{packed}: {packed.stat().st_size // 1024} kB, {count} files")


if __name__ == "__main__":
    main()

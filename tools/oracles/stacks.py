"""Makes tiny random encoders and decoders with Hugging Face transformers, in its files, and writes
beside them what they compute. Needs PyTorch, transformers and tokenizers.

`reference.json` holds texts and their ids. Of encoders: the log-probability of each token at its
place, in nats, or a head's logits. Of decoders: that of each text, and greedy continuations.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from tools.oracles.texts import hostile, pairs
from tools.oracles.translators import randomize

WIDTH, HIDDEN, HEADS, LAYERS, PIECES = 16, 24, 2, 2, 280
TRAINING, GIVEN, NEW_TOKENS = 400, 10, 12
ENCODER = {
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": 66,
}


def wordpiece(lowercase: bool) -> Any:
    """Trains BERT's kind of vocabulary."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=PIECES, special_tokens=special, show_progress=False
    )
    made.train_from_iterator(pairs(TRAINING)[0], trainer)
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    names = ("pad", "unk", "cls", "sep", "mask")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        **{f"{name}_token": token for name, token in zip(names, special, strict=True)},
    )


def byte_level(special: list[str], **named: str) -> Any:
    """Trains GPT-2's kind of vocabulary."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES + 60,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(pairs(TRAINING)[0], trainer)
    if "cls_token" in named:
        made.post_processor = processors.RobertaProcessing(
            ("</s>", 2), ("<s>", 0), add_prefix_space=False
        )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named)


ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
ROBERTA_NAMES = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


def make(name: str) -> tuple[Any, Any]:
    """Returns a model and its tokenizer."""
    if name.startswith("bert"):
        tokenizer = wordpiece(lowercase=True)
        config = transformers.BertConfig(vocab_size=len(tokenizer), num_labels=3, **ENCODER)
        head = {"bert": "MaskedLM", "bert_classes": "SequenceClassification"}[name]
        return getattr(transformers, f"BertFor{head}")(config), tokenizer
    if name.startswith("roberta"):
        tokenizer = byte_level(ROBERTA_SPECIAL, **ROBERTA_NAMES)
        config = transformers.RobertaConfig(
            vocab_size=len(tokenizer), type_vocab_size=1, num_labels=2, **ENCODER
        )
        head = {"roberta": "MaskedLM", "roberta_classes": "SequenceClassification"}[name]
        return getattr(transformers, f"RobertaFor{head}")(config), tokenizer
    if name == "distilbert":
        tokenizer = wordpiece(lowercase=False)
        sizes = {"dim": WIDTH, "hidden_dim": HIDDEN, "n_heads": HEADS, "n_layers": LAYERS}
        config = transformers.DistilBertConfig(
            vocab_size=len(tokenizer), max_position_embeddings=64, **sizes
        )
        return transformers.DistilBertForMaskedLM(config), tokenizer
    tokenizer = byte_level(["<|endoftext|>"], eos_token="<|endoftext|>", bos_token="<|endoftext|>")
    if name == "gpt2":
        sizes = {"n_embd": WIDTH, "n_inner": HIDDEN, "n_head": HEADS, "n_layer": LAYERS}
        config = transformers.GPT2Config(
            vocab_size=len(tokenizer), n_positions=64, bos_token_id=0, eos_token_id=0, **sizes
        )
        return transformers.GPT2LMHeadModel(config), tokenizer
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        num_key_value_heads=1,
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=False,
        **ENCODER,
    )
    return transformers.LlamaForCausalLM(config), tokenizer


NAMES = ("bert", "bert_classes", "roberta", "roberta_classes", "distilbert", "gpt2", "llama")


def references(name: str, model: Any, tokenizer: Any) -> dict[str, Any]:
    """Returns what a model and its tokenizer make of texts."""
    texts = pairs(GIVEN, start=TRAINING)[0]
    ids = [tokenizer(text)["input_ids"] for text in texts]
    found: dict[str, Any] = {"texts": texts, "ids": ids, "hostile": hostile(40)}
    found["hostile_ids"] = [
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in found["hostile"]
    ]
    with torch.no_grad():
        if name in ("gpt2", "llama"):
            rows = [[0, *row, 0] for row in ids]
            values = [model(torch.tensor([row[:-1]])).logits.log_softmax(-1)[0] for row in rows]
            found["log_probabilities"] = [
                one.gather(1, torch.tensor(row[1:])[:, None]).sum().item()
                for one, row in zip(values, rows, strict=True)
            ]
            found["greedy"] = [
                model.generate(
                    torch.tensor([[0, *row[:5]]]),
                    attention_mask=torch.ones(1, len(row[:5]) + 1),
                    max_new_tokens=NEW_TOKENS,
                    do_sample=False,
                    pad_token_id=0,
                )[0].tolist()[len(row[:5]) + 1 :]
                for row in ids
            ]
        else:
            logits = [model(torch.tensor([row])).logits[0] for row in ids]
            if name.endswith("_classes"):
                found["logits"] = [one.tolist() for one in logits]
            else:
                found["token_log_probabilities"] = [
                    one.log_softmax(-1).gather(1, torch.tensor(row)[:, None])[:, 0].tolist()
                    for one, row in zip(logits, ids, strict=True)
                ]
    return found


def main() -> None:
    """Writes every folder into the one that the command line names."""
    torch.set_num_threads(1)
    root = Path(sys.argv[1])
    for name in sys.argv[2:] or NAMES:
        path = root / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        torch.manual_seed(0)
        model, tokenizer = make(name)
        randomize(model)
        model.eval()
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
        (path / "reference.json").write_text(json.dumps(references(name, model, tokenizer)))
        size = sum(file.stat().st_size for file in path.iterdir())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()

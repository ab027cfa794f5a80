"""Makes tiny random XLNets with Hugging Face transformers, in its files, and writes what they
compute beside them: both streams of one with its language model's head, and a classifier's logits
of texts and pairs, padded on the left. Needs PyTorch, transformers and tokenizers.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers

from tools.oracles.stacks import GIVEN, HEADS, HIDDEN, LAYERS, MOST, PIECES, TRAINING, WIDTH
from tools.oracles.texts import hostile, pairs
from tools.oracles.translators import randomize
from tools.oracles.vocabularies import train_pieces

NAMES = ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
SPECIAL = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
PREDICTED = 3


def pieces(path: Path, texts: list[str]) -> Any:
    """Trains XLNet's kind of vocabulary: SentencePiece's unigrams, special ids in its order."""
    found = train_pieces(path / "spiece.model", texts, PIECES, control_symbols=NAMES, **SPECIAL)
    (path / "spiece.model").unlink()
    scored = [(found.id_to_piece(one), found.get_score(one)) for one in range(len(found))]
    return transformers.XLNetTokenizer(vocab=scored)


def make(name: str, path: Path) -> tuple[Any, Any]:
    """Returns a model and its tokenizer, whose files it writes."""
    tokenizer = pieces(path, pairs(TRAINING)[0])
    config = transformers.XLNetConfig(
        vocab_size=len(tokenizer),
        d_model=WIDTH,
        d_inner=HIDDEN,
        n_head=HEADS,
        n_layer=LAYERS,
        num_labels=3,
    )
    head = {"xlnet": "LMHeadModel", "xlnet_classes": "ForSequenceClassification"}[name]
    model = getattr(transformers, f"XLNet{head}")(config)
    randomize(model)
    model.eval().save_pretrained(path)
    tokenizer.save_pretrained(path)
    return model, tokenizer


def streams(model: Any, row: dict[str, Any], order: list[int]) -> dict[str, Any]:
    """Returns the content's states of a text, and the query's logits of places in an order."""
    length = row["input_ids"].shape[1]
    rank = torch.zeros(length, dtype=torch.long)
    rank[order] = torch.arange(1, len(order) + 1)
    # 1 where a query must not read a key; contents read themselves in any case.
    hidden = ((rank[None] >= rank[:, None]) & (rank[None] > 0)).float()[None]
    asked = torch.nn.functional.one_hot(torch.tensor(order), length).float()[None]
    found = model(**row, perm_mask=hidden, target_mapping=asked, use_mems=False)
    content = model.transformer(**row, use_mems=False).last_hidden_state
    logits = found.logits.log_softmax(-1)[0]
    return {"order": order, "content": content[0].tolist(), "query": logits.tolist()}


def classes(model: Any, tokenizer: Any, texts: list[str]) -> dict[str, Any]:
    """Returns the logits of texts and of pairs, of a batch each, which are padded on the left."""
    seconds = [" ".join(text.split()[:3]) for text in texts[1:]]
    both = [pair for pair in zip(texts, seconds, strict=False) if sum(map(len, pair)) < MOST]
    options = {"padding": True, "return_tensors": "pt", "return_token_type_ids": True}
    alone = tokenizer(texts, **options)
    joined = tokenizer(*map(list, zip(*both, strict=True)), **options)
    return {
        "logits": model(**alone).logits.tolist(),
        "pairs": both,
        "pair_ids": [tokenizer(*pair)["input_ids"] for pair in both],
        "pair_logits": model(**joined).logits.tolist(),
    }


def main() -> None:
    """Writes both folders into the one that the command line names."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    texts, strings = pairs(GIVEN, start=TRAINING)[0], hostile(40)
    for name in ("xlnet", "xlnet_classes"):
        path = parser.parse_args().folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        torch.manual_seed(0)
        model, tokenizer = make(name, path)
        found: dict[str, Any] = {
            "texts": texts,
            "ids": [tokenizer(text)["input_ids"] for text in texts],
            "hostile": strings,
            "hostile_ids": [
                tokenizer(text, add_special_tokens=False)["input_ids"] for text in strings
            ],
        }
        draw = torch.Generator().manual_seed(5)
        with torch.no_grad():
            if name == "xlnet_classes":
                found |= classes(model, tokenizer, texts)
            else:
                found["streams"] = [
                    streams(
                        model,
                        tokenizer(text, return_tensors="pt", return_token_type_ids=True),
                        torch.randperm(len(ids) - 2, generator=draw)[:PREDICTED].tolist(),
                    )
                    for text, ids in zip(texts[:3], found["ids"], strict=False)
                ]
        (path / "reference.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()

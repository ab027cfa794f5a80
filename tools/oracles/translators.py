"""Makes tiny random translators with Hugging Face transformers, in its files, and writes beside
them what they compute; runs what makes Marian's. Needs PyTorch, transformers and pymarian, which
`make oracles` installs apart.

`reference.json` of a folder holds texts, their ids, log-probabilities of given translations in
nats, and what greedy search and four beams give.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from tools.oracles.makers import MAKERS, SplitWords
from tools.oracles.native_marian import NATIVE, make_native
from tools.oracles.sizes import BEAMS, HOSTILE, NEW_TOKENS, SCORED, TRAINING
from tools.oracles.texts import hostile, pairs


def randomize(model: Any) -> None:
    """Draws every weight anew, so that biases and norms count, too."""
    generator = torch.Generator().manual_seed(3)
    for name, weight in model.named_parameters():
        if "embed_positions" in name and not weight.requires_grad:
            continue
        is_scale = "norm" in name.lower() and name.endswith("weight")
        weight.data = float(is_scale) + 0.25 * torch.randn(weight.shape, generator=generator)
    if hasattr(model, "final_logits_bias"):
        shape = model.final_logits_bias.shape
        model.final_logits_bias = 0.3 * torch.randn(shape, generator=generator)


def hostile_ids(tokenizer: Any, path: Path, texts: list[str]) -> list[list[int]]:
    """Returns ids without special ones: those of SentencePiece's pieces in the model's vocabulary.

    Most of their tokenizers imitate SentencePiece, and differ from it on unusual white space.
    """
    if isinstance(tokenizer, transformers.MarianTokenizer):
        return [tokenizer(text)["input_ids"][:-1] for text in texts]
    if not list(path.glob("*.model")):
        return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    [file] = path.glob("*.model")
    pieces = sentencepiece.SentencePieceProcessor(str(file))
    rows = pieces.encode(texts, out_type=str)
    return [tokenizer.convert_tokens_to_ids(row) for row in rows]


def until_end(ids: list[int], model: Any) -> list[int]:
    """Returns what a decoder writes of a target: mBART's language behind eos is its start."""
    return ids[: ids.index(model.config.eos_token_id) + 1]


def references(model: Any, tokenizer: Any, first: int | None, path: Path) -> dict[str, Any]:
    """Returns what a model and its tokenizer make of texts."""
    split = tokenizer.split if isinstance(tokenizer, SplitWords) else str
    sources, targets = (list(map(split, texts)) for texts in pairs(SCORED, start=TRAINING))
    strange = list(map(split, hostile(HOSTILE)))
    source_ids = [tokenizer(text)["input_ids"] for text in sources]
    target_ids = [until_end(tokenizer(text_target=text)["input_ids"], model) for text in targets]
    start, found = model.config.decoder_start_token_id, []
    # What ours never writes.
    special = {model.config.pad_token_id, start} - {model.config.eos_token_id}
    options: dict[str, Any] = {"suppress_tokens": sorted(special)}
    if first is not None:
        options["forced_bos_token_id"] = first
    for source, target in zip(source_ids, target_ids, strict=False):
        given = torch.tensor([[start, *target[:-1]]])
        with torch.no_grad():
            # With a cache, FSMT hides no later place.
            logits = model(
                input_ids=torch.tensor([source]), decoder_input_ids=given, use_cache=False
            ).logits
        chosen = logits.log_softmax(-1)[0].gather(1, torch.tensor(target)[:, None])
        found.append(chosen.sum().item())
    searched = {
        f"beam_{beams}": [
            model.generate(
                torch.tensor([source]),
                num_beams=beams,
                do_sample=False,
                max_new_tokens=NEW_TOKENS,
                length_penalty=0.0,
                early_stopping=False,
                **options,
            )[0].tolist()[1:]
            for source in source_ids
        ]
        for beams in BEAMS
    }
    return {
        "sources": sources,
        "targets": targets,
        "hostile": strange,
        "hostile_ids": hostile_ids(tokenizer, path, strange),
        "source_ids": source_ids,
        "target_ids": target_ids,
        "log_probabilities": found,
        # A forced end takes the last place.
        "max_length": NEW_TOKENS - (model.generation_config.forced_eos_token_id is not None),
        **searched,
    }


def main() -> None:
    """Writes every folder into the one that the command line names."""
    # Tiny models gain nothing from more.
    torch.set_num_threads(1)
    root = Path(sys.argv[1])
    only = sys.argv[2:] or [*MAKERS, *NATIVE]
    for name in only:
        path = root / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        if name in NATIVE:
            make_native(path, searches=not name.endswith("pre_norm"), **NATIVE[name])
        else:
            torch.manual_seed(0)
            model, tokenizer, first = MAKERS[name](path)
            randomize(model)
            model.eval()
            model.save_pretrained(path)
            found = references(model, tokenizer, first, path)
            (path / "reference.json").write_text(json.dumps(found), encoding="utf-8")
        size = sum(os.path.getsize(file) for file in path.iterdir())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()

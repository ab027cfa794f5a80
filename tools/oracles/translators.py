"""Makes tiny random translators with Hugging Face transformers, in its files, and writes beside
them what they compute; runs what makes Marian's. Needs PyTorch, transformers and pymarian, which
`make oracles` installs apart.

`reference.json` of a folder holds texts, their ids, log-probabilities of given translations in
nats, and what greedy search and four beams give: of few sentences for the tests, of a thousand for
`full.py`.
"""

import argparse
import itertools
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from tools.oracles.makers import MAKERS, SplitWords
from tools.oracles.native_marian import NATIVE, make_native
from tools.oracles.sizes import BEAMS, HOSTILE, NEW_TOKENS, POSITIONS, SCORED, TRAINING
from tools.oracles.texts import hostile, many_strings, pairs


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
    eos = model.config.eos_token_id
    return ids[: ids.index(eos) + 1] if eos in ids else ids


def of_one_length(rows: Sequence[list[int]], most: int = 50) -> Iterator[list[int]]:
    """Yields the places of rows that are equally long, which need no padding, some at a time."""
    places = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    for _, group in itertools.groupby(places, key=lambda place: len(rows[place])):
        together = list(group)
        for start in range(0, len(together), most):
            yield together[start : start + most]


def searched(
    model: Any, source_ids: Sequence[list[int]], beams: int, options: dict[str, Any]
) -> list[list[int]]:
    """Returns the best translation of each source, with its eos if it has one."""
    found: list[list[int]] = [[] for _ in source_ids]
    for places in of_one_length(source_ids):
        rows = model.generate(
            torch.tensor([source_ids[place] for place in places]),
            num_beams=beams,
            do_sample=False,
            max_new_tokens=NEW_TOKENS,
            length_penalty=0.0,
            early_stopping=False,
            **options,
        )
        for place, row in zip(places, rows.tolist(), strict=True):
            found[place] = until_end(row[1:], model)
    return found


def references(
    model: Any,
    tokenizer: Any,
    first: int | None,
    path: Path,
    sentences: int,
    strings: Sequence[str],
) -> dict[str, Any]:
    """Returns what a model and its tokenizer make of texts, and of strings the ids."""
    split = tokenizer.split if isinstance(tokenizer, SplitWords) else str
    sources: list[str] = []
    targets: list[str] = []
    source_ids: list[list[int]] = []
    target_ids: list[list[int]] = []
    # Twice as many, since those that are longer than the model's positions are left out.
    for text, translation in zip(*pairs(2 * sentences, start=TRAINING), strict=True):
        read = tokenizer(split(text))["input_ids"]
        written = until_end(tokenizer(text_target=split(translation))["input_ids"], model)
        if max(len(read), len(written)) < POSITIONS and len(sources) < sentences:
            sources.append(split(text))
            targets.append(split(translation))
            source_ids.append(read)
            target_ids.append(written)
    strange = list(map(split, strings))
    start, found = model.config.decoder_start_token_id, []
    # What ours never writes.
    special = {model.config.pad_token_id, start} - {model.config.eos_token_id}
    options: dict[str, Any] = {"suppress_tokens": sorted(special)}
    if first is not None:
        options["forced_bos_token_id"] = first
    for source, target in zip(source_ids, target_ids, strict=False):
        before = torch.tensor([[start, *target[:-1]]])
        with torch.no_grad():
            # With a cache, FSMT hides no later place.
            logits = model(
                input_ids=torch.tensor([source]), decoder_input_ids=before, use_cache=False
            ).logits
        chosen = logits.log_softmax(-1)[0].gather(1, torch.tensor(target)[:, None])
        found.append(chosen.sum().item())
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
        **{f"beam_{beams}": searched(model, source_ids, beams, options) for beams in BEAMS},
    }


def main() -> None:
    """Writes every folder into the one that the command line names."""
    # Tiny models gain nothing from more.
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these models")
    parser.add_argument("--sentences", type=int, default=SCORED, help="how many to translate")
    parser.add_argument("--strings", type=int, help="how many to split; some hostile ones if not")
    given = parser.parse_args()
    strings = many_strings(given.strings) if given.strings else hostile(HOSTILE)
    for name in given.names or [*MAKERS, *NATIVE]:
        path = given.folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        if name in NATIVE:
            searches = not name.endswith("pre_norm")
            make_native(path, given.sentences, strings, searches=searches, **NATIVE[name])
        else:
            torch.manual_seed(0)
            model, tokenizer, first = MAKERS[name](path)
            randomize(model)
            model.eval()
            model.save_pretrained(path)
            found = references(model, tokenizer, first, path, given.sentences, strings)
            (path / "reference.json").write_text(json.dumps(found), encoding="utf-8")
        size = sum(os.path.getsize(file) for file in path.iterdir())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()

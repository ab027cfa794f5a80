"""Makes tiny random models with Sentence Transformers, in its files, and writes beside them the
vectors that it makes of texts, by the name of the prompt. Needs PyTorch and sentence-transformers.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules.dense import Dense
from sentence_transformers.base.modules.normalize import Normalize
from sentence_transformers.base.modules.transformer import Transformer
from sentence_transformers.sentence_transformer.modules.pooling import Pooling
from torch import nn

from tools.oracles.stacks import GIVEN, TRAINING, WIDTH, make
from tools.oracles.texts import pairs
from tools.oracles.translators import randomize

PROMPTS = {"query": "question about this: ", "document": ""}
# By name: the encoder, the poolings, the linear layers, and the prompt that is taken if none is.
KINDS: dict[str, Any] = {
    "first_dense": ("bert", "cls", [Dense(WIDTH, 6)], "query"),
    "joined_dense": (
        "bert",
        list(Pooling.POOLING_MODES),
        [
            Dense(6 * WIDTH, 12, bias=False, activation_function=nn.Identity()),
            Dense(12, 7, activation_function=nn.GELU()),
        ],
        None,
    ),
    "mpnet_mean": ("mpnet", "mean", [], None),
}


def build(name: str, folder: Path) -> SentenceTransformer:
    """Returns a model, made of files that are written to a folder."""
    encoder, modes, layers, chosen = KINDS[name]
    model, tokenizer = make(encoder, folder)
    randomize(model)
    model.base_model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for layer in layers:
        randomize(layer)
    modules = [Transformer(str(folder)), Pooling(WIDTH, modes), *layers]
    if chosen is None:
        modules.append(Normalize())
    return SentenceTransformer(modules=modules, prompts=PROMPTS, default_prompt_name=chosen)


def main() -> None:
    """Writes every folder into the one that the command line names."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these models")
    given = parser.parse_args()
    for name in given.names or KINDS:
        path = given.folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            model = build(name, Path(folder))
        model.save(str(path), create_model_card=False)
        texts = pairs(GIVEN, start=TRAINING)[0]
        vectors = {prompt: model.encode(texts, prompt_name=prompt).tolist() for prompt in PROMPTS}
        vectors[""] = model.encode(texts).tolist()
        (path / "reference.json").write_text(json.dumps({"texts": texts, "vectors": vectors}))
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()

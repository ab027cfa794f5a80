"""How Sentence Transformers makes a vector of a text (Reimers and Gurevych 2019): takes a config
and writes the files beside a model that say so.
"""

import json
from pathlib import Path
from typing import Any

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.pretrained.sentence_transformers import MODULES, NORMALIZE, READING

# The directories of the modules that follow the model's own, which lies at the top.
_POOLING, _NORMALIZE = "1_Pooling", "2_Normalize"


def save_embedding(config: EncoderConfig, directory: Path) -> None:
    """Writes what makes a model with the head "embedding" one of that library; else nothing."""
    if config.head != "embedding":
        return
    modules = [("Transformer", ""), ("Pooling", _POOLING)]
    if config.unit_vectors:
        modules.append((NORMALIZE, _NORMALIZE))
        (directory / _NORMALIZE).mkdir()
    listed = [
        {
            "idx": place,
            "name": str(place),
            "path": path,
            "type": f"sentence_transformers.models.{name}",
        }
        for place, (name, path) in enumerate(modules)
    ]
    _write(directory / MODULES, listed)
    (directory / _POOLING).mkdir()
    pooling = {
        "word_embedding_dimension": config.model_dim,
        "pooling_mode_cls_token": config.pooling == "first",
        "pooling_mode_mean_tokens": config.pooling == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    _write(directory / _POOLING / "config.json", pooling)
    limit = {"max_seq_length": config.longest_row, "do_lower_case": False}
    _write(directory / READING, limit)


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

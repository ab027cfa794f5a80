"""Every kind of scaled rotary positions of Hugging Face's library: its log-probabilities and
continuations, in Keras and in exported graphs, and what it writes for the way out.
"""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs

from keras_transformer import Generator, OnnxGenerator, from_pretrained
from keras_transformer.config import RotaryConfig
from keras_transformer.export import export_onnx
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.rope import read_rope, rope_fields
from keras_transformer.pretrained.huggingface.fields import Fields

FIXTURES = Path(__file__).parents[3] / "fixtures"
LLAMA = json.loads((FIXTURES / "stacks" / "llama" / "reference.json").read_text(encoding="utf-8"))
TEXTS = {tuple(ids): text for ids, text in zip(LLAMA["ids"], LLAMA["texts"], strict=True)}
KINDS: dict[str, Any] = json.loads((FIXTURES / "ropes.json").read_text(encoding="utf-8"))
OTHERS = [
    (target, kind)
    for target in ("onnxruntime", "native", "portable")
    for kind in KINDS
    if (target, kind) not in (("onnxruntime", "yarn, mscale"), ("native", "yarn, mscale"))
]


def changed(directory: Path, fields: dict[str, Any]) -> Path:
    """A copy of the Llama whose config has other fields."""
    path = Path(shutil.copytree(FIXTURES / "stacks" / "llama", directory / "changed"))
    file = path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **fields}))
    return path


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        *((None, kind) for kind in KINDS),
        ("onnxruntime", "yarn, mscale"),
        ("native", "yarn, mscale"),
        *(pytest.param(*one, marks=pytest.mark.exhaustive) for one in OTHERS),
    ],
)
def test_probabilities_and_continuations_are_theirs(
    target: str | None, kind: str, tmp_path: Path
) -> None:
    reference = KINDS[kind]
    model, tokenizer, _ = from_pretrained(changed(tmp_path, reference["fields"]))
    generator: Any = Generator(model, tokenizer)
    if target is not None:
        export_onnx(model, tokenizer, tmp_path / "model", target=target)
        generator = OnnxGenerator(tmp_path / "model", threads=1)
    eos = model.config.special_ids.eos
    # Theirs were given a start.
    prompts = [[eos, *row[:5]] for row in reference["ids"]][: len(reference["greedy"])]
    with without_graphs():
        scored = generator.score([TEXTS[tuple(row)] for row in reference["ids"]])
        found = generator.generate_ids(prompts, max_length=12, min_length=0) if prompts else []
    np.testing.assert_allclose(
        [one.log_probability for one in scored], reference["log_probabilities"], atol=1e-4
    )
    theirs = [row[: row.index(eos)] if eos in row else row for row in reference["greedy"]]
    assert [one[0].ids for one in found] == theirs


def options_of(**fields: Any) -> dict[str, Any]:
    return read_rope(Fields(Path("config.json"), fields), 8)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_as_the_same(kind: str) -> None:
    fields = {"max_position_embeddings": 66, **KINDS[kind]["fields"], "rope_theta": 500.0}
    options = options_of(**fields, partial_rotary_factor=0.5)
    config = from_pretrained(FIXTURES / "stacks" / "llama")[0].config
    if kind.startswith("longrope"):
        for name in ("short_factors", "long_factors"):
            del options["rotary_scaling"][name][2:]
    config = dataclasses.replace(config, **options)
    rotary: Any = config.block().own.rotary
    again = options_of(**rope_fields(rotary, 8))
    assert dataclasses.replace(config, **again) == config


def test_older_files_name_their_kinds_otherwise() -> None:
    scaling = {"type": "su", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    old = {"rope_scaling": scaling, "rope_theta": 7.0, "max_position_embeddings": 128}
    found = options_of(**old, original_max_position_embeddings=32)
    assert found["rotary_base"] == 7.0
    assert found["rotary_scaling"]["kind"] == "longrope"
    # What texts may grow by is read of both lengths.
    assert found["rotary_scaling"]["magnitude"] == pytest.approx((1 + 2 / 5) ** 0.5)


def test_plain_ones_have_no_scaling() -> None:
    rotary = RotaryConfig(base=100.0)
    assert options_of(**rope_fields(rotary, 8)) == {"rotary_base": 100.0}


@pytest.mark.parametrize(
    ("rope", "message"),
    [
        ({"rope_type": "proportional"}, "config.json: rope_parameters has .* 'proportional'"),
        ({"factor": 2.0}, "rope_parameters has rotary positions of the type 'default'"),
        ({"rope_type": "linear"}, "rope_parameters lacks the field factor"),
        ({"rope_type": "longrope"}, "longrope' needs short_factors"),
    ],
)
def test_what_is_not_known_is_refused_by_name(rope: dict[str, Any], message: str) -> None:
    llama = from_pretrained(FIXTURES / "stacks" / "llama")[0].config
    with pytest.raises((ImportRefusedError, ValueError), match=message):
        dataclasses.replace(llama, **options_of(rope_parameters=rope))

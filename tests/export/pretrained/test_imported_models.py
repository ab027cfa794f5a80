"""What was imported from Hugging Face or Marian leaves for it as the same model: config, every
tensor and ids.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.export import export_pretrained
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.pretrained.recognise import from_pretrained, read_pretrained
from keras_transformer.pretrained.tensor_files import Tensors, open_huggingface, open_npz
from keras_transformer.training.transfer.import_run import import_run
from tools.covering import some

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = {
    "translators/bart": "BartForConditionalGeneration",
    "translators/mbart": "MBartForConditionalGeneration",
    "translators/mbart50": "MBartForConditionalGeneration",
    "translators/m2m100": "M2M100ForConditionalGeneration",
    "translators/nllb": "M2M100ForConditionalGeneration",
    "translators/fsmt": "FSMTForConditionalGeneration",
    "stacks/bert": "BertForMaskedLM",
    "stacks/bert_classes": "BertForSequenceClassification",
    "stacks/roberta": "RobertaForMaskedLM",
    "stacks/roberta_classes": "RobertaForSequenceClassification",
    "stacks/roberta_feelings": "RobertaForSequenceClassification",
    "stacks/xlm_roberta": "XLMRobertaForMaskedLM",
    "stacks/distilbert": "DistilBertForMaskedLM",
    "stacks/distilbert_classes": "DistilBertForSequenceClassification",
    "stacks/albert": "AlbertForMaskedLM",
    "stacks/albert_classes": "AlbertForSequenceClassification",
    "xlnets/xlnet": "XLNetLMHeadModel",
    "xlnets/xlnet_classes": "XLNetForSequenceClassification",
    "stacks/mpnet": "MPNetForMaskedLM",
    "stacks/mpnet_classes": "MPNetForSequenceClassification",
    "stacks/electra": "ElectraForMaskedLM",
    "stacks/electra_classes": "ElectraForSequenceClassification",
    "stacks/modernbert": "ModernBertForMaskedLM",
    "stacks/modernbert_classes": "ModernBertForSequenceClassification",
    "stacks/nomic_bert": "NomicBertForMaskedLM",
    "stacks/nomic_bert_classes": "NomicBertForSequenceClassification",
    "stacks/gpt2": "GPT2LMHeadModel",
    "stacks/llama": "LlamaForCausalLM",
    "stacks/llama_sentencepiece": "LlamaForCausalLM",
    "stacks/llama3": "LlamaForCausalLM",
    "stacks/qwen2": "Qwen2ForCausalLM",
    "stacks/qwen3": "Qwen3ForCausalLM",
    "stacks/bert_reranker": "BertForSequenceClassification",
    "stacks/xlm_roberta_reranker": "XLMRobertaForSequenceClassification",
    "stacks/granite": "LlamaForCausalLM",
    "stacks/phi3": "Phi3ForCausalLM",
    "stacks/olmo2": "Olmo2ForCausalLM",
    "stacks/stablelm": "StableLmForCausalLM",
    "stacks/smollm3": "SmolLM3ForCausalLM",
    "stacks/gemma": "GemmaForCausalLM",
    "stacks/gemma2": "Gemma2ForCausalLM",
    "stacks/gemma3": "Gemma3ForCausalLM",
    "stacks/mistral": "MistralForCausalLM",
}
# Tensors that do not come back, or not as they were, and why.
_COMPUTED = "tables of sinusoids that are computed, of another length"
_SCALED = "the norm before the logits holds the factor that the config asked for"
_BEYOND_ONE = "what a norm has beyond 1, rounded as the sum is that both models compute with"
_MULTIPLIED = "what the config multiplies by went into it"
_SETTINGS = "the same settings in fewer words"


def norms_of_gemma(*names: str, heads: str = "") -> list[str]:
    """The names of the norms of two blocks, and of that behind them."""
    own = [f"{name}_layernorm" for name in names] + [f"self_attn.{one}_norm" for one in heads]
    blocks = [f"model.layers.{block}.{name}.weight" for block in range(2) for name in own]
    return ["model.norm.weight", *blocks]


def parts_of_t5gemma() -> dict[str, str]:
    """Norms, and queries, which divide scores otherwise."""
    parts = [["self_attn", "feedforward"], ["self_attn", "cross_attn", "feedforward"]]
    found = {}
    for side, layers, own in zip(("encoder", "decoder"), (2, 3), parts, strict=True):
        norms = [f"{when}_{part}_layernorm" for part in own for when in ("pre", "post")]
        for block in range(layers):
            here = f"model.{side}.layers.{block}"
            found |= dict.fromkeys([f"{here}.{name}.weight" for name in norms], _BEYOND_ONE)
            queries = [f"{here}.{part}.q_proj.weight" for part in own[:-1]]
            found |= dict.fromkeys(queries, _MULTIPLIED)
        found[f"model.{side}.norm.weight"] = _BEYOND_ONE
    return found


CHANGED = {
    "stacks/granite": dict.fromkeys(
        ["model.embed_tokens.weight", "model.norm.weight"]
        + [
            f"model.layers.{block}.{name}.weight"
            for block in range(2)
            for name in ("self_attn.q_proj", "self_attn.o_proj", "mlp.down_proj")
        ],
        _MULTIPLIED,
    ),
    "stacks/gemma": dict.fromkeys(norms_of_gemma("input", "post_attention"), _BEYOND_ONE),
    "stacks/gemma2": dict.fromkeys(
        norms_of_gemma("input", "post_attention", "pre_feedforward", "post_feedforward"),
        _BEYOND_ONE,
    ),
    "stacks/gemma3": dict.fromkeys(
        norms_of_gemma(
            "input", "post_attention", "pre_feedforward", "post_feedforward", heads="qk"
        ),
        _BEYOND_ONE,
    ),
    "translators/fsmt": dict.fromkeys(
        [f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")], _COMPUTED
    ),
    "translators/pegasus": dict.fromkeys(
        [f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")], _COMPUTED
    ),
    "translators/mt5": {"decoder.final_layer_norm.weight": _SCALED},
    "translators/longt5": {},
    "translators/t5gemma": parts_of_t5gemma(),
    "translators/umt5": {},
    "translators/t5_1_1": {"decoder.final_layer_norm.weight": _SCALED},
    **dict.fromkeys(
        [f"translators/marian{kind}" for kind in ("", "_pre_norm", "_ssru", "_ssru_pre_norm")]
        + ["translators/marian_tagged"],
        {"special:model.yml": _SETTINGS},
    ),
}
# Read, and of no form that can be written.
# Their writers are those of BERT, Llama 3 and Qwen 3.
ALIKE = {"stacks/roberta_classes", "stacks/llama", "stacks/smollm3", "stacks/olmo2"}
NOT_WRITTEN = {"marian_apart", "opennmt", "opennmt_post_norm"}
NOT_WRITTEN |= {
    "transfo_xl",
    "transfo_xl_adaptive",
    "deberta",
    "deberta_classes",
}


def tensors(directory: Path) -> Tensors:
    archive = directory / "model.npz"
    return open_npz(archive) if archive.is_file() else open_huggingface(directory)


def changed(before: Path, after: Path) -> set[str]:
    """Returns the names of the tensors that only one directory has, or with other bytes."""
    theirs, ours = tensors(before), tensors(after)
    differing = {
        name
        for name in set(theirs) & set(ours)
        if (theirs[name].dtype, theirs[name].tobytes()) != (ours[name].dtype, ours[name].tobytes())
        or theirs[name].shape != ours[name].shape
    }
    return differing | (set(theirs) ^ set(ours))


def test_every_fixture_is_compared() -> None:
    named = {Path(name).name for name in (*NAMES, *CHANGED)} | NOT_WRITTEN | {"pegasus"}
    others = {"marian_huggingface", "t5"}
    kinds = ("stacks", "translators", "xlnets")
    found = {one.name for kind in kinds for one in (FIXTURES / kind).iterdir()}
    assert found == named | others


@pytest.mark.parametrize(
    "name", sorted({*CHANGED, "translators/marian_huggingface", "translators/t5"} - {*NAMES})
)
def test_every_tensor_comes_back(name: str, tmp_path: Path) -> None:
    theirs = read_pretrained(FIXTURES / name)
    source, target = theirs.tokenizers
    written = export_pretrained(
        theirs.build(),
        tmp_path / "out",
        format="marian" if (FIXTURES / name / "model.npz").is_file() else "huggingface",
        tokenizer=source,
        target_tokenizer=target,
    )
    assert changed(FIXTURES / name, written) == set(CHANGED.get(name, {}))
    assert read_pretrained(written).config == theirs.config


@pytest.mark.parametrize("name", some(NAMES, *(set(list(NAMES)[1::2]) - ALIKE)))
def test_it_comes_back_exactly(name: str, tmp_path: Path) -> None:
    theirs = read_pretrained(FIXTURES / name)
    run = import_run(FIXTURES / name, tmp_path / "run")
    written = export_pretrained(run, tmp_path / "out", format="huggingface")
    assert changed(FIXTURES / name, written) == set(CHANGED.get(name, {}))
    config = json.loads((written / "config.json").read_text())
    assert config["architectures"] == [NAMES[name]]
    again = read_pretrained(written)
    assert again.config == theirs.config
    for ours, found in zip(theirs.build().get_weights(), again.build().get_weights(), strict=True):
        np.testing.assert_array_equal(found, ours)
    reference = json.loads((FIXTURES / name / "reference.json").read_text())
    for before, after in zip(theirs.tokenizers, again.tokenizers, strict=True):
        assert after.model == before.model
        assert after.encode(reference["hostile"]) == before.encode(reference["hostile"])
    assert again.search == theirs.search


@pytest.mark.parametrize("name", ["qwen2", "llama3"])
def test_whether_prompts_have_a_start_goes_along(name: str, tmp_path: Path) -> None:
    model, tokenizer, _ = from_pretrained(FIXTURES / "stacks" / name)
    config = replace(model.config, starts_prompts=not model.config.starts_prompts)
    other = build_decoder(config)
    other.set_weights(model.get_weights())
    written = export_pretrained(other, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    assert read_pretrained(written).config == config


def test_tokens_that_users_added_come_back(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    shutil.copytree(FIXTURES / "added_tokens" / "t5_added", theirs)
    for name in ("config.json", "generation_config.json", "model.safetensors"):
        shutil.copy(FIXTURES / "translators" / "t5" / name, theirs)
    run = import_run(theirs, tmp_path / "run")
    written = export_pretrained(run, tmp_path / "out", format="huggingface")
    reference = json.loads((theirs / "reference.json").read_text(encoding="utf-8"))
    for tokenizer in read_pretrained(written).tokenizers:
        assert tokenizer.encode(reference["texts"]) == reference["ids"]

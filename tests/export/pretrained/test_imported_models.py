"""What was imported from Hugging Face leaves for it as the same model: config, weights and ids."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.export import export_pretrained
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.training.transfer.import_run import import_run

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
    "stacks/xlm_roberta": "XLMRobertaForMaskedLM",
    "stacks/distilbert": "DistilBertForMaskedLM",
    "stacks/distilbert_classes": "DistilBertForSequenceClassification",
    "stacks/gpt2": "GPT2LMHeadModel",
    "stacks/llama": "LlamaForCausalLM",
    "stacks/llama_sentencepiece": "LlamaForCausalLM",
}


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_back_exactly(name: str, tmp_path: Path) -> None:
    theirs = read_pretrained(FIXTURES / name)
    run = import_run(FIXTURES / name, tmp_path / "run")
    written = export_pretrained(run, tmp_path / "out", format="huggingface")
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

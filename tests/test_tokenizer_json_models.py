"""Vocabularies of a `tokenizer.json` through the whole path: a tiny GPT with byte-level BPE and a
tiny BERT with WordPiece are trained, exported and used, in Keras, on onnxruntime and in the server.
"""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_process import python
from served_models import answer, open_served

from keras_transformer.cli import main
from keras_transformer.decoding.encoder import TextEncoder
from keras_transformer.decoding.generator import Generator
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx, export_saved_model
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.text.tokenizer import Tokenizer

pytestmark = pytest.mark.usefixtures("few_updates")

LINES = [
    f"{who} {what} in the park, isn't it?"
    for who in ("A man", "Two dogs", "The women", "A pianopark 🕐")
    for what in ("plays", "is running", "sings")
]


def train(root: Path, task: str, content: bytes, *more: str) -> Path:
    (root / "given.json").write_bytes(content)
    (root / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    files = ["--train-text", str(root / "lines.txt")] if task != "classify" else []
    main(
        ["train", "--task", task, *files, "--output", str(root / "run")]
        + ["--tokenizer", str(root / "given.json"), "--max-steps", "2", "--batch-tokens", "256"]
        + ["--model.num-layers", "1", "--model.model-dim", "16", "--model.num-heads", "2"]
        + ["--model.feed-forward-dim", "32", *more]
    )
    return root / "run"


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory, tokenizer_jsons: dict[str, bytes]) -> Path:
    return train(tmp_path_factory.mktemp("gpt"), "causal-lm", tokenizer_jsons["gpt2"])


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory, tokenizer_jsons: dict[str, bytes]) -> Path:
    root = tmp_path_factory.mktemp("bert")
    return train(root, "masked-lm", tokenizer_jsons["wordpiece"], "--masking", "whole-words")


@pytest.fixture(scope="module")
def artefacts(gpt: Path, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("artefacts")
    for name, run in {"gpt": gpt, "bert": bert}.items():
        main(["export", str(run), "--output", str(root / name)])
    return {name: root / name for name in ("gpt", "bert")}


def test_a_run_keeps_the_vocabulary_that_it_was_given(
    gpt: Path, bert: Path, tokenizer_jsons: dict[str, bytes]
) -> None:
    for run, kind in ((gpt, "gpt2"), (bert, "wordpiece")):
        assert (run / "tokenizer.json").read_bytes() == tokenizer_jsons[kind]
        assert not (run / "tokenizer.model").exists()
        source, target = RunDirectory(run).load_tokenizers()
        assert source is target
        assert load_run(run)[0].config.special_ids == source.special_ids


def test_an_artefact_says_of_what_kind_its_vocabulary_is(artefacts: dict[str, Path]) -> None:
    for path in artefacts.values():
        manifest = Manifest.read(path)
        assert manifest.tokenizers["text"].kind == "tokenizer_json"
        assert manifest.tokenizers["text"].file == "tokenizer.json"
        manifest.verify(path)
    assert Manifest.read(artefacts["gpt"]).special_ids.unk is None


def test_texts_are_continued_alike_with_keras_and_without(
    gpt: Path, artefacts: dict[str, Path]
) -> None:
    model, tokenizer, _ = load_run(gpt)
    ours = Generator(model, tokenizer)
    options = {"max_length": 12, "sample": True, "seed": 3}
    prompts = ["A man", "", "Two dogs\n ", "🕐"]
    with OnnxGenerator(artefacts["gpt"], threads=1) as generator:
        for more in ({"max_length": 12}, options, {"beam_size": 3, "max_length": 8}):
            assert generator.generate(prompts, **more) == ours.generate(prompts, **more)
        for prompt in prompts:
            streamed = "".join(generator.stream(prompt, **options))
            assert [streamed] == generator.generate([prompt], **options)
        # Spaces are text: what follows a prompt is all that the ids say.
        [[found]] = generator.generate_n_best(prompts[2:3], include_prompt=False, **options)
        assert tokenizer.decode([[*tokenizer.encode(prompts[2:3])[0], *found.ids]]) == [
            prompts[2] + found.text
        ]
        np.testing.assert_allclose(
            generator.perplexity(LINES), ours.perplexity(LINES), rtol=1e-4, atol=1e-4
        )


def test_masks_are_filled_alike_with_keras_and_without(
    bert: Path, artefacts: dict[str, Path]
) -> None:
    model, tokenizer, _ = load_run(bert)
    ours = TextEncoder(model, tokenizer)
    texts = ["A [MASK] in the park.", "[MASK] dogs sing, [MASK]?"]
    with OnnxEncoder(artefacts["bert"], threads=1) as encoder:
        found, expected = (one.fill_mask(texts, 3) for one in (encoder, ours))
        assert [[one.text for one in few] for few in found] == [
            [one.text for one in few] for few in expected
        ]
        np.testing.assert_allclose(encoder.embed(LINES), ours.embed(LINES), atol=1e-4)
        with pytest.raises(ValueError, match=r"index 0 has no \[MASK\]"):
            encoder.fill_mask(["a <mask>"])


def test_the_commands_take_artefact_and_run(
    gpt: Path,
    artefacts: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: Any,
) -> None:
    for path in (gpt, artefacts["gpt"]):
        for flags in ([], ["--ids"]):
            for text in ("A man, 🕐", "  two"):
                written = text.encode()
                for way in ([], ["--detokenize"]):
                    stream = io.TextIOWrapper(io.BytesIO(written + b"\n"), encoding="utf-8")
                    monkeypatch.setattr(sys, "stdin", stream)
                    capfdbinary.readouterr()
                    assert main(["tokenize", str(path), *flags, *way]) == 0
                    written = capfdbinary.readouterr().out.rstrip(b"\n")
                assert written.decode() == text


def test_the_server_opens_both(artefacts: dict[str, Path]) -> None:
    generator = open_served(artefacts["gpt"], {"max_length": 8}, max_source_length=16)
    generator.warm_up()
    generator.close()
    encoder = open_served(artefacts["bert"], max_source_length=16)
    encoder.warm_up()
    assert answer(encoder, "fill_mask", text=["a [MASK]"])["texts"].shape[0] == 1
    with pytest.raises(Exception, match=r"row 0 of text has no \[MASK\]"):
        answer(encoder, "fill_mask", text=["a <mask>"])
    encoder.close()


def test_the_runtime_needs_one_package_more_and_no_tensorflow(artefacts: dict[str, Path]) -> None:
    code = """
import sys
from keras_transformer.runtime.generator import OnnxGenerator

assert "tokenizers" not in sys.modules
OnnxGenerator(sys.argv[1]).generate(["A man"], max_length=3)
assert "tokenizers" in sys.modules and "tensorflow" not in sys.modules
sys.modules["tokenizers"] = None
OnnxGenerator(sys.argv[1])
"""
    result = python("-c", code, artefacts["gpt"], fails=True)
    assert "ImportError: a tokenizer.json needs the package tokenizers: install" in result.stderr


def test_a_vocabulary_of_another_kind_than_the_manifest_s_is_refused(
    artefacts: dict[str, Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(artefacts["gpt"], tmp_path / "copy"))
    values = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    values["tokenizers"]["text"]["kind"], values["sha256"] = "sentencepiece", None
    (copy / "manifest.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match="of the kind tokenizer_json, but the manifest says sent"):
        OnnxGenerator(copy)
    values["tokenizers"]["text"]["kind"] = "words"
    (copy / "manifest.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match="one of sentencepiece, tokenizer_json, got 'words'"):
        OnnxGenerator(copy)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [pytest.param("gpt", marks=pytest.mark.exhaustive), "bert"])
def test_a_saved_model_takes_and_gives_ids(
    kind: str, gpt: Path, bert: Path, tmp_path: Path
) -> None:
    import tensorflow as tf

    said: list[str] = []
    run = {"gpt": gpt, "bert": bert}[kind]
    path = export_saved_model(run, tmp_path / "served", progress=said.append)
    assert "the signatures take and give token ids" in said[0]
    loaded = tf.saved_model.load(str(path))
    for signature in loaded.signatures.values():
        for spec in signature.structured_input_signature[1].values():
            assert spec.dtype != tf.string


@pytest.mark.parametrize(
    "kind", [pytest.param("wordpiece", marks=pytest.mark.exhaustive), "roberta"]
)
def test_translations_work_with_either_vocabulary(
    kind: str,
    tokenizer_jsons: dict[str, bytes],
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    tmp_path: Path,
) -> None:
    tokenizer = Tokenizer(tokenizer_jsons[kind])
    special_ids = tokenizer.special_ids
    model = randomize(
        make_model(source_vocab_size=tokenizer.vocab_size, special_ids=special_ids), scale=0.3
    )
    export_onnx(model, tokenizer, tmp_path / "a", target="native")
    keras_side = Translator(model, tokenizer)
    texts = ["A man in a park", "Two  dogs ☃ run"]
    with OnnxTranslator(tmp_path / "a", threads=1) as translator:
        for options in ({"max_length": 8}, {"max_length": 8, "beam_size": 3, "replace_unk": True}):
            found = translator.translate(texts, **options)
            assert found == keras_side.translate(texts, **options)
        assert (
            "".join(translator.translate_stream(texts[0], max_length=8))
            == (translator.translate(texts[:1], max_length=8)[0])
        )
        few = translator.translate_n_best(texts, return_attention=True, max_length=8)
        for text, [best] in zip(texts, few, strict=True):
            pairs = translator.align_words(text, best)
            assert {source for source, _ in pairs} <= set(range(len(text.split())))
            # What is carried around the model is aligned with nothing.
            written = {n for n, word in enumerate(best.text.split()) if word != "☃"}
            assert {target for _, target in pairs} == written
    served = open_served(tmp_path / "a", {"max_length": 8})
    served.warm_up()
    served.close()

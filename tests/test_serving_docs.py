"""docs/serving.md: what it shows for servers that are not at hand parses, and its programs run."""

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

TEXT = Path(__file__).resolve().parents[1].joinpath("docs", "serving.md").read_text("utf-8")


def block(language: str, mark: str) -> str:
    """Returns the one code block of a language that holds a mark."""
    found = re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)
    [only] = [text for text in found if mark in text]
    return only


def test_models_config_is_a_model_server_config() -> None:
    from google.protobuf import text_format
    from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

    config = text_format.Parse(block("textproto", '"tensorflow"'), ModelServerConfig())
    [model] = config.model_config_list.config
    assert (model.name, model.base_path) == ("demo", "/models/demo")
    assert model.model_version_policy.latest.num_versions == 1


def test_our_servers_file_of_models_is_one(tmp_path: Path) -> None:
    from keras_transformer.serving.models.model_config import read_model_config

    file = tmp_path / "models.config"
    file.write_text(block("textproto", '"there"'), encoding="utf-8")
    there, back = read_model_config(file)
    assert (there.labels, back.name) == ({"stable": 1, "canary": 2}, "back")


def test_the_batching_file_has_the_servers_fields() -> None:
    from google.protobuf import text_format

    parameters = batching_parameters()
    text_format.Parse(block("textproto", "batch_timeout_micros"), parameters)
    assert parameters.max_batch_size.value == 64
    # Padding with a tensor's first element would put words behind a row's end.
    assert not parameters.pad_variable_length_inputs


def batching_parameters() -> Any:
    """Returns an empty BatchingParameters.

    `tensorflow-serving-api` lacks session_bundle_config.proto, so its fields stand here.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

    file = descriptor_pb2.FileDescriptorProto(
        name="batching_parameters.proto",
        package="docs",
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    add = file.message_type.add(name="BatchingParameters").field.add
    whole, text = ".google.protobuf.Int64Value", ".google.protobuf.StringValue"
    add(name="max_batch_size", number=1, type=11, type_name=whole, label=1)
    add(name="batch_timeout_micros", number=2, type=11, type_name=whole, label=1)
    add(name="max_enqueued_batches", number=3, type=11, type_name=whole, label=1)
    add(name="num_batch_threads", number=4, type=11, type_name=whole, label=1)
    add(name="thread_pool_name", number=5, type=11, type_name=text, label=1)
    add(name="allowed_batch_sizes", number=6, type=3, label=3)
    add(name="pad_variable_length_inputs", number=7, type=8, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("docs.BatchingParameters"))()


def test_the_encoders_tensors_are_those_of_the_tiny_preset() -> None:
    from keras_transformer.config import TransformerConfig

    config = TransformerConfig.preset("tiny", vocab_size=100)
    text = block("textproto", '"demo_encoder"')
    found = re.findall(r'name: "(cross_\w+)" data_type: TYPE_FP32 dims: (\[.*?\])', text)
    assert found == [
        (f"cross_{part}_{layer}", f"[ {config.num_heads}, -1, {width} ]")
        for part, width in (("key", config.key_dim), ("value", config.value_dim))
        for layer in range(config.num_decoder_layers)
    ]


class FakeTranslator:
    """Answers as `OnnxTranslator` does, without a model."""

    def __init__(self, directory: Any) -> None:
        self.directory = str(directory)

    def translate(self, texts: list[str], **options: Any) -> list[str]:
        assert options == {"beam_size": 4}
        return [text.upper() for text in texts]

    def translate_n_best(self, texts: list[str], **options: Any) -> list[list[Any]]:
        found = self.translate(texts, **options)
        return [[types.SimpleNamespace(text=text, score=-0.5)] for text in found]

    def close(self) -> None:
        self.directory = ""


@pytest.fixture
def _fake_translator(monkeypatch: pytest.MonkeyPatch) -> None:
    import keras_transformer.export

    monkeypatch.setattr(keras_transformer.export, "OnnxTranslator", FakeTranslator)


def run_program(mark: str) -> dict[str, Any]:
    """Runs a shown Python program as an imported module; returns its names."""
    names: dict[str, Any] = {"__name__": "shown"}
    exec(compile(block("python", mark), "docs/serving.md", "exec"), names)
    return names


@pytest.mark.usefixtures("_fake_translator")
def test_the_triton_model_answers_every_request_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    triton = types.ModuleType("triton_python_backend_utils")

    class Tensor:
        def __init__(self, name: str, array: Any) -> None:
            self.name, self.array = name, array

        def as_numpy(self) -> Any:
            return self.array

    triton.Tensor = Tensor  # type: ignore[attr-defined]
    triton.InferenceResponse = types.SimpleNamespace  # type: ignore[attr-defined]
    triton.get_input_tensor_by_name = lambda request, name: request[name]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", triton)

    model = run_program("TritonPythonModel")["TritonPythonModel"]()
    config = '{"parameters": {"beam_size": {"string_value": "4"}}}'
    model.initialize(
        {"model_config": config, "model_repository": "/models/demo", "model_version": "1"}
    )
    assert model.translator.directory == "/models/demo/1/artefact"
    rows = [[[b"one"], [b"two"]], [[b"\xff"]]]
    responses = model.execute([{"text": Tensor("text", np.array(r, np.object_))} for r in rows])
    texts, scores = zip(*(response.output_tensors for response in responses), strict=True)
    assert [tensor.array.tolist() for tensor in texts] == [
        [[b"ONE"], [b"TWO"]],
        [["\ufffd".encode()]],
    ]
    assert [tensor.array.shape for tensor in scores] == [(2, 1), (1, 1)]
    assert scores[0].array.dtype == np.float32
    model.finalize()
    assert model.translator.directory == ""


@pytest.mark.usefixtures("_fake_translator")
def test_the_kserve_predictor_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    kserve = types.ModuleType("kserve")
    kserve.Model = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kserve", kserve)
    model = run_program("kserve.Model")["Translation"]()
    assert model.load()
    assert model.predict({"instances": ["one", "two"]}) == {"predictions": ["ONE", "TWO"]}


def test_the_kserve_service_names_the_servers_flags() -> None:
    import yaml

    from keras_transformer.cli.commands.serve import build_parser

    service = yaml.safe_load(block("yaml", "InferenceService"))
    [container] = service["spec"]["predictor"]["containers"]
    program, command, directory = container["command"]
    assert (program, command) == ("keras-transformer", "serve")
    given = build_parser().parse([directory, *container["args"]])
    assert given.port == container["ports"][0]["containerPort"]

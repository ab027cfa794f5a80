"""TensorFlow Serving's file of models: what it says, and what is refused in it."""

import re
from pathlib import Path

import pytest

from keras_transformer.serving.models.model_config import read_model_config
from keras_transformer.serving.models.model_options import ModelOptions, VersionPolicy

DEMO = 'name: "demo" base_path: "/models/demo"'


def write(path: Path, *configs: str) -> Path:
    """Writes a file with these models, one a line."""
    lines = [f"  config {{ {config} }}" for config in configs]
    file = path / "models.config"
    file.write_text("\n".join(["model_config_list {", *lines, "}"]), encoding="utf-8")
    return file


def test_every_field_is_read(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        DEMO
        + ' model_platform: "onnx" model_version_policy { specific { versions: 1 versions: 2 } }'
        'version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 }',
        'name: "zurück" base_path: "back"',
    )
    policy = VersionPolicy(most=None, only=frozenset({1, 2}))
    assert read_model_config(file) == [
        ModelOptions("demo", Path("/models/demo"), policy, {"stable": 1, "canary": 2}),
        ModelOptions("zurück", tmp_path / "back"),
    ]


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("", VersionPolicy()),
        ("latest { }", VersionPolicy(most=1)),
        ("latest { num_versions: 3 }", VersionPolicy(most=3)),
        ("all { }", VersionPolicy(most=None)),
    ],
)
def test_a_policy_is_the_latest_unless_it_says_otherwise(tmp_path: Path, text, policy) -> None:
    file = write(tmp_path, f"{DEMO} model_version_policy {{ {text} }}")
    assert read_model_config(file)[0].policy == policy


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('nam: "demo"', ':3:12: Message type "tensorflow.serving.ModelConfig" has no field named'),
        (f'{DEMO} name: "b"', ':3:57: Message type .* should not have multiple "name" fields'),
        (
            f'{DEMO} model_version_policy {{ specific {{ versions: "x" }} }}',
            ':3:.*Couldn\'t parse integer: "x"',
        ),
        (
            f"{DEMO} model_version_policy {{ latest {{ }} all {{ }} }}",
            ':3:.*"all" is specified along with field "latest"',
        ),
        ('base_path: "/models/demo"', ": model number 2: name is missing"),
        ('name: "demo"', ": model 'demo': base_path is missing"),
        ('name: "a/b" base_path: "c"', "model 'a/b': model_name must have neither '/' nor ':'"),
        (f"{DEMO} logging_config {{ }}", "model 'demo': logging_config is not supported"),
        (f"{DEMO} model_type: TENSORFLOW", "model 'demo': model_type is not supported"),
        (f'{DEMO} model_platform: "tensorflow"', 'must be "onnx", or left out, got "tensorflow"'),
        (f"{DEMO} model_version_policy {{ specific {{ }} }}", "at least one specific version"),
        (
            f"{DEMO} model_version_policy {{ specific {{ versions: 1 }} }}"
            ' version_labels { key: "canary" value: 2 }',
            "model 'demo': the label 'canary' names version 2 of demo, but only 1",
        ),
        (
            f'{DEMO} version_labels {{ key: "a/b" value: 2 }}',
            "label must have neither '/' nor ':', got 'a/b'",
        ),
        ('name: "first" base_path: "b"', ": model 'first' is listed twice"),
    ],
)
def test_what_cannot_be_served_is_refused_by_file_and_model(
    tmp_path: Path, config, message
) -> None:
    file = write(tmp_path, 'name: "first" base_path: "a"', config)
    with pytest.raises(ValueError, match=f"{re.escape(str(file))}.*{message}"):
        read_model_config(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "model_config_list must name a model"),
        (b"model_config_list { }", "model_config_list must name a model"),
        (b"model_config_list {\n  config {", ":2:10: Expected"),
        (b"custom_model_config { }", "custom_model_config is not served"),
        (b'"\xff"', "must be a text in UTF-8"),
    ],
)
def test_a_file_without_models_is_refused(tmp_path: Path, content, message) -> None:
    file = tmp_path / "models.config"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=f"{re.escape(str(file))}.*{message}"):
        read_model_config(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.config cannot be read \(No such file or directory\)"):
        read_model_config(tmp_path / "none.config")

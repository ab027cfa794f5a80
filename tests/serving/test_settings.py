"""The server's options refuse what cannot be."""

import math
from pathlib import Path

import pytest

from keras_transformer.serving.settings import ServeOptions


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_batch", 0, "max_batch must be at least 1, got 0"),
        ("max_source_length", -1, "max_source_length must be at least 1"),
        ("request_timeout", 0, "request_timeout must be above 0 seconds, got 0"),
        ("poll_seconds", math.nan, "poll_seconds must be above 0 seconds, got nan"),
        ("max_wait_ms", -1, "max_wait_ms must be at least 0, got -1"),
        ("drain_seconds", math.inf, "drain_seconds must be at least 0, got inf"),
        ("port", 70_000, "port must be 0 to 65535, got 70000"),
        ("grpc_port", -1, "grpc_port must be 0 to 65535, got -1"),
        ("max_queue", 10, "max_sentences (256) is more than max_queue (10)"),
        ("model_name", "a/b", "model_name must have neither '/' nor ':', got 'a/b'"),
        ("model_name", "", "model_name must have neither"),
        ("versions", "newest", "versions must be latest, latest:N, all, or numbers"),
        ("versions", "latest:", "versions must be latest"),
        ("versions", "1,,2", "versions must be latest"),
        ("versions", "latest:0", "at least 1 of the latest versions must be served, got 0"),
        ("version_labels", ("stable",), "LABEL=VERSION, such as stable=1, got 'stable'"),
        ("version_labels", ("a=1", "a=2"), "version_labels names 'a' twice, got 'a=2'"),
        ("version_labels", ("a/b=1",), "label must have neither '/' nor ':', got 'a/b'"),
    ],
)
def test_what_cannot_be_is_refused(field, value, message) -> None:
    with pytest.raises(ValueError) as error:
        ServeOptions(artefact=Path("exported"), **{field: value})
    assert message in str(error.value)


def test_a_label_of_a_version_that_is_left_out_is_refused() -> None:
    with pytest.raises(ValueError, match="'a' names version 3 of exported, but only 1, 2 are to"):
        ServeOptions(artefact=Path("exported"), versions="1,2", version_labels=("a=3",))


@pytest.mark.parametrize("given", [{}, {"artefact": Path("a"), "model_config": Path("b")}])
def test_there_is_one_thing_to_serve(given) -> None:
    with pytest.raises(ValueError, match="either artefact or model_config must be given, not both"):
        ServeOptions(**given)


@pytest.mark.parametrize(
    ("field", "value"),
    [("model_name", "demo"), ("versions", "all"), ("version_labels", ("stable=1",))],
)
def test_what_a_file_of_models_says_is_said_nowhere_else(field, value) -> None:
    with pytest.raises(ValueError, match=f"{field} belongs in the file"):
        ServeOptions(model_config=Path("models.config"), **{field: value})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("allowed_hosts", ("https://a",), "allowed_hosts must be such as api.example.com"),
        ("allowed_hosts", ("a:80",), "allowed_hosts must be such as"),
        ("allowed_hosts", ("",), "allowed_hosts must be such as"),
        ("allowed_hosts", ("a.*",), "allowed_hosts must be such as"),
        ("cors_origin", ("https://a/",), "cors_origin must be such as https://app.example.com"),
        ("cors_origin", ("a.example.com",), "cors_origin must be such as"),
        ("cors_origin", ("https://*.a",), "cors_origin must be such as"),
        ("root_path", "translate", "root_path must be such as /translate"),
        ("root_path", "/a b", "root_path must be such as /translate"),
        ("root_path", "/v1", "not begin as the server's own paths do"),
        ("root_path", "//a", "root_path must be such as /translate"),
        ("forwarded_allow_ips", ("proxy",), "forwarded_allow_ips must be addresses, got 'proxy'"),
        ("header_timeout", 0, "header_timeout must be above 0 seconds, got 0"),
        ("max_header_bytes", 0, "max_header_bytes must be at least 1, got 0"),
    ],
)
def test_names_that_no_client_could_use_are_refused(field, value, message) -> None:
    with pytest.raises(ValueError) as error:
        ServeOptions(artefact=Path("exported"), **{field: value})
    assert message in str(error.value)

"""A classifier whose labels are languages' codes answers LibreTranslate's `/detect`, and tells
translators the source.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from keras_transformer.runtime.encoder import OnnxEncoder

TEXT = "the red dog"


@pytest.fixture(scope="module")
def server(
    exported: Any,
    family_artefact: Callable[..., Path],
    start_shared: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """A server of a translator from English and of a classifier of languages."""
    models = {"moods": family_artefact("classification"), "which": family_artefact("languages")}
    configs = "".join(
        f'config {{ name: "{name}" base_path: "{path}" }}\n'
        for name, path in {"demo": exported.path, **models}.items()
    )
    file = tmp_path_factory.mktemp("models") / "models.config"
    file.write_text(f"model_config_list {{ {configs} }}")
    return start_shared(
        None, search={}, model_config=file, max_source_length=18, language_pairs=("demo=en-es",)
    )


@pytest.fixture(scope="module")
def wanted(family_artefact: Callable[..., Path]) -> dict[str, float]:
    with OnnxEncoder(family_artefact("languages")) as encoder:
        [found] = encoder.classify([TEXT])
        return dict(zip(encoder.config.labels, found.probabilities, strict=True))


def post(server: Any, **asked: Any) -> Any:
    return requests.post(server.rest_url + "/translate", json=asked, timeout=60)


def test_its_client_detects(server: Any, wanted: dict[str, float]) -> None:
    client = pytest.importorskip("libretranslatepy", reason="libretranslatepy is not installed")
    found = client.LibreTranslateAPI(server.rest_url).detect(TEXT)
    shares = [one["confidence"] for one in found]
    assert shares == sorted(shares, reverse=True) and len(found) == 3
    for one in found:
        assert one["confidence"] == pytest.approx(100 * wanted[one["language"]], abs=1e-3)


def test_auto_is_the_most_probable_language_that_is_translated(
    server: Any, wanted: dict[str, float]
) -> None:
    asked = {"target": "es", "source": "auto"}
    answer = post(server, q=TEXT, **asked).json()
    plain = post(server, q=TEXT, **{**asked, "source": "en"}).json()
    assert answer["translatedText"] == plain["translatedText"]
    assert answer["detectedLanguage"]["language"] == "en" and "detectedLanguage" not in plain
    assert answer["detectedLanguage"]["confidence"] == pytest.approx(100 * wanted["en"], abs=1e-3)
    several = post(server, q=[TEXT, "hello"], **asked).json()
    assert len(several["translatedText"]) == len(several["detectedLanguage"]) == 2


def test_a_target_that_nothing_reaches_is_refused(server: Any) -> None:
    response = post(server, q=TEXT, source="auto", target="pl")
    assert response.status_code == 400 and "demo translates" in response.json()["error"]


def test_of_a_long_text_the_beginning_is_read(server: Any) -> None:
    url = server.rest_url + "/detect"
    short = ("the" + 17 * " ") * 10
    long = short + "a small house " * 30
    found = [requests.post(url, json={"q": text}, timeout=60).json() for text in (short, long)]
    assert found[0] == found[1]

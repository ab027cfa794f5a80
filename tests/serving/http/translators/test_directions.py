"""A request's languages find the model that translates between them."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.translators.directions import Direction, Directions
from keras_transformer.serving.models.model_options import LanguagePair
from keras_transformer.serving.models.served import Languages


def stub(*languages: Any) -> Any:
    """A translator with these languages."""
    return Mock(languages=Languages(*languages))


MANY = stub(("de", "en", "fr"), True, "en", None)
TAGS = stub(("de", "fr"), False, None, None)
ENDS = stub((), False, "en_XX", "ro_RO")


def directions(*pairs: LanguagePair, **models: Any) -> Directions:
    """The directions of models, of which None stands for one that is not loaded."""

    def find(name: str) -> Any:
        if models[name] is None:
            raise ServingError(Code.UNAVAILABLE, f"{name} has no version that is loaded.")
        return SimpleNamespace(name=name, model=models[name])

    service: Any = SimpleNamespace(
        models=[SimpleNamespace(name=name) for name in models], find=find
    )
    return Directions(service, pairs)


def found(known: Directions, source: str, target: str) -> tuple[str, str, str]:
    one = known.find(source, target)
    assert isinstance(one, Direction)
    return one.loaded.name, one.source, one.target


def test_a_model_of_several_is_told_both() -> None:
    known = directions(many=MANY)
    assert found(known, "fr", "de") == ("many", "fr", "de")
    assert found(known, "auto", "de") == ("many", "", "de")
    with pytest.raises(ServingError, match="many does not know the language 'it', only de, en, fr"):
        known.find("it", "de")


def test_a_model_that_is_not_loaded_holds_up_no_other() -> None:
    known = directions(absent=None, many=MANY)
    assert found(known, "fr", "de") == ("many", "fr", "de")
    assert known.all()["fr"] == ["de", "en"]
    with pytest.raises(ServingError, match="absent has no version"):
        known.find("it", "de")


def test_a_model_with_tags_is_told_the_target_alone() -> None:
    assert found(directions(tags=TAGS), "en", "fr") == ("tags", "", "fr")


def test_a_pair_is_named_by_the_server_or_the_model() -> None:
    known = directions(
        LanguagePair("there", "en", "es"),
        LanguagePair("back", "es", "en"),
        there=stub(),
        back=stub(),
        ends=ENDS,
    )
    assert found(known, "en", "es") == ("there", "", "")
    assert found(known, "es", "en") == ("back", "", "")
    assert found(known, "en_XX", "ro_RO") == ("ends", "", "")
    assert known.all() == {"en": ["es"], "en_XX": ["ro_RO"], "es": ["en"]}
    with pytest.raises(ServingError, match="there translates from en to es, not 'fr'"):
        known.find("en", "fr")


def test_without_a_pair_nothing_is_guessed() -> None:
    with pytest.raises(ServingError, match="serve it with --language-pairs demo=en-de"):
        directions(demo=stub()).find("en", "es")
    assert found(directions(demo=stub()), "", "") == ("demo", "", "")


def test_a_source_that_must_be_named_is() -> None:
    with pytest.raises(ServingError, match="finds no language by itself: name the source's"):
        directions(many=stub(("de", "en"), True, None, None)).find("auto", "de")


def test_what_does_not_translate_is_left_out() -> None:
    known = directions(other=object())
    assert known.all() == {}
    with pytest.raises(ServingError, match="no translator is served here"):
        known.find("en", "de")


def test_a_pair_of_no_model_is_refused() -> None:
    with pytest.raises(ValueError, match="names the model 'a', and served are b"):
        directions(LanguagePair("a", "en", "de"), b=stub())
    assert found(directions(LanguagePair("", "en", "de"), b=stub()), "en", "de")[0] == "b"

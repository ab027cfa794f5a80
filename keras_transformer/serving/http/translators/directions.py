"""From which language to which the served translators translate, for clients that name both."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keras_transformer.serving.errors import ServingError, refusal
from keras_transformer.serving.models.model_options import LanguagePair
from keras_transformer.serving.models.served import Languages, Translating
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.models.versioning.versions import LoadedVersion

AUTO = "auto"


class Direction(NamedTuple):
    """A translator and the languages of a request.

    Attributes:
        loaded: The translator.
        model: The same version's model.
        source: The code of the texts' language, as the model's option; "" for none.
        target: The code of the language to translate into, as the model's option; "" for none.
    """

    loaded: LoadedVersion
    model: Translating
    source: str = ""
    target: str = ""


class Directions:
    """The directions of a server's translators.

    Args:
        service: Whose models they are.
        pairs: The languages of models that do not name them.

    Raises:
        ValueError: A pair is of a model that is not served.
    """

    def __init__(self, service: Service, pairs: Sequence[LanguagePair]) -> None:
        self._service = service
        names = [model.name for model in service.models]
        self._pairs = {pair.model or names[0]: pair for pair in pairs}
        for name in self._pairs:
            if name not in names:
                raise ValueError(
                    f"language_pairs names the model {name!r}, and served are {', '.join(names)}."
                )

    def find(self, source: str, target: str) -> Direction:
        """Returns the first model that translates in a direction.

        Raises:
            ServingError: No model does, it is not loaded yet, or a language has to be named.
        """
        reasons, missing = [], list[ServingError]()
        for loaded, model, _ in self._translators(missing):
            found = self.of(loaded, model, source, target)
            if isinstance(found, Direction):
                return found
            reasons.append(found)
        if missing:
            raise missing[0]
        raise refusal(" ".join(reasons) or "no translator is served here.")

    def of(
        self, loaded: LoadedVersion, model: Translating, source: str, target: str
    ) -> Direction | str:
        """Returns a model's direction, or why it has none.

        Args:
            loaded: The translator.
            model: The same version's model.
            source: The code of the texts' language; "" or "auto" for the model's.
            target: The code of the language to translate into; "" for the model's.
        """
        languages, source = self._languages(loaded.name, model), "" if source == AUTO else source
        if languages.codes:
            for code in (source if languages.source else "", target):
                if code and code not in languages.codes:
                    known = ", ".join(languages.codes)
                    return f"{loaded.name} does not know the language {code!r}, only {known}."
            if languages.source and not (source or languages.source_language):
                return f"{loaded.name} finds no language by itself: name the source's."
            return Direction(loaded, model, source if languages.source else "", target)
        pair = languages.source_language, languages.target_language
        if None in pair and (source or target):
            return (
                f"{loaded.name} does not say between which languages it translates: serve it with "
                f"--language-pairs {loaded.name}=en-de, for instance."
            )
        for given, own in zip((source, target), pair, strict=True):
            if given and given != own:
                return f"{loaded.name} translates from {pair[0]} to {pair[1]}, not {given!r}."
        return Direction(loaded, model)

    def all(self) -> dict[str, list[str]]:
        """Returns the codes of all sources, each with those of its targets."""
        found: dict[str, set[str]] = {}
        for _, _, languages in self._translators([]):
            codes = languages.codes
            pairs = [(one, other) for one in codes for other in codes if one != other]
            if languages.source_language and languages.target_language and not codes:
                pairs = [(languages.source_language, languages.target_language)]
            for source, target in pairs:
                found.setdefault(source, set()).add(target)
        return {source: sorted(targets) for source, targets in sorted(found.items())}

    def _translators(
        self, missing: list[ServingError]
    ) -> Iterator[tuple[LoadedVersion, Translating, Languages]]:
        """Yields the translators; adds why models cannot be asked, whatever they are."""
        for options in self._service.models:
            try:
                loaded = self._service.find(options.name)
            except ServingError as error:
                missing.append(error)
                continue
            if isinstance(loaded.model, Translating):
                yield loaded, loaded.model, self._languages(loaded.name, loaded.model)

    def _languages(self, name: str, model: Translating) -> Languages:
        own, pair = model.languages, self._pairs.get(name)
        if pair is None or own.codes:
            return own
        return own._replace(source_language=pair.source, target_language=pair.target)

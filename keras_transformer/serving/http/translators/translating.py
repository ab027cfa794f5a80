"""Translations for clients that name a format and the languages: texts in, texts out."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from keras_transformer.markup.profiles import Profile
from keras_transformer.serving.http.translators.directions import Direction
from keras_transformer.serving.models.rows import Request
from keras_transformer.serving.models.served import Translations
from keras_transformer.serving.models.service import Service

# The profile of spans that a format means; None for the server's.
FORMATS: dict[str, Profile | None] = {"text": None, "html": "html"}


async def translate(
    service: Service,
    direction: Direction,
    texts: Sequence[str],
    *,
    form: str,
    name: str,
    count: int = 1,
    timeout: float | None = None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Translations:
    """Translates texts.

    Args:
        service: Answers requests.
        direction: The translator and its languages.
        texts: The texts.
        form: "text", or "html", whose tags translations keep.
        name: What the request is called in metrics and log.
        count: How many translations each text gets, best first.
        timeout: Seconds after which it gives up, at most the server's own limit.
        waiting: As for `Service.predict`.

    Raises:
        ServingError: There is no result.
    """
    model = direction.model

    def read() -> Request:
        languages = direction.source, direction.target
        return model.read_texts(texts, languages, FORMATS[form], count)

    request, found = await service.run(
        direction.loaded,
        name,
        read,
        model.run_texts(count),
        sentences=len(texts),
        texts=texts,
        timeout=timeout,
        waiting=waiting,
    )
    return model.translations(request, found)

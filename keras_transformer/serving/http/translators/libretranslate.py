"""LibreTranslate's API: one text or several between two languages, by the model that has them."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import Code, ServingError, refusal
from keras_transformer.serving.http.exchange import (
    BodyEncodingError,
    BodyReader,
    JsonResponse,
    read_timeout,
    until_hang_up,
)
from keras_transformer.serving.http.front.access import KEY_IN_BODY
from keras_transformer.serving.http.json_tensors import read_object
from keras_transformer.serving.http.openai.fields import Fields, checked_text, wrong
from keras_transformer.serving.http.translators.detection import Detected, detect, find_detector
from keras_transformer.serving.http.translators.directions import AUTO, Direction, Directions
from keras_transformer.serving.http.translators.language_names import name_of
from keras_transformer.serving.http.translators.translating import FORMATS, translate
from keras_transformer.serving.journal import UNKNOWN
from keras_transformer.serving.models.service import Service

_TRANSLATE, _LANGUAGES, _DETECT, _SETTINGS = KEY_IN_BODY
_FORM = "application/x-www-form-urlencoded"
_MOST = 100


def libretranslate_routes(
    service: Service, bodies: BodyReader, directions: Directions, keys: ApiKeys | None
) -> list[Route]:
    """Returns the routes.

    Args:
        service: Answers requests.
        bodies: Reads the bodies of requests.
        directions: The directions of the served translators.
        keys: The keys that clients need; None if they need none.
    """
    api = _LibreTranslate(service, bodies, directions, keys)
    return [
        Route(path, endpoint, methods=[method])
        for path, endpoint, method in (
            (_TRANSLATE, api.translate, "POST"),
            (_DETECT, api.detect, "POST"),
            (_LANGUAGES, api.languages, "GET"),
            (_SETTINGS, api.settings, "GET"),
        )
    ]


class _LibreTranslate:
    def __init__(
        self, service: Service, bodies: BodyReader, directions: Directions, keys: ApiKeys | None
    ) -> None:
        self._service, self._bodies = service, bodies
        self._directions, self._keys = directions, keys

    async def translate(self, request: Request) -> Response:
        """Translates a text or a list of them."""
        with self._service.refusals("rest", UNKNOWN):
            timeout = read_timeout(request.scope)
            fields = await self._read(request)
            is_one = not isinstance(fields.peek("q"), list)
            texts = fields.texts("q")
            source = checked_text("source", fields.required("source"))
            target = checked_text("target", fields.required("target"))
            form = fields.choice("format", FORMATS, "text")
            more = _read_count(fields.take("alternatives", 0))
            fields.finish((), {})
        options: dict[str, Any] = {
            "timeout": timeout,
            "waiting": lambda: until_hang_up(request.receive),
        }
        detected: Sequence[Detected] = ()
        if source == AUTO and (detector := find_detector(self._service)) is not None:
            detected = await detect(self._service, detector, texts, **options)
        with self._service.refusals("rest", UNKNOWN):
            direction, language = self._direction(source, target, detected)
        found = await translate(
            self._service,
            direction,
            texts,
            form=form,
            name="libretranslate",
            count=1 + more,
            **options,
        )
        best = [own[0] if own else "" for own in found.texts]
        answer: dict[str, Any] = {"translatedText": best[0] if is_one else best}
        if language is not None:
            shown = language._asdict()
            answer["detectedLanguage"] = shown if is_one else [shown] * len(texts)
        if more:
            others = [own[1:] for own in found.texts]
            answer["alternatives"] = others[0] if is_one else others
        return JsonResponse(answer)

    async def languages(self, request: Request) -> Response:
        """Lists the languages, each with those that it can be translated into."""
        with self._service.refusals("rest", UNKNOWN):
            await self._check_key(request)
            found = self._directions.all()
        return JsonResponse(
            [
                {"code": code, "name": name_of(code), "targets": targets}
                for code, targets in found.items()
            ]
        )

    async def detect(self, request: Request) -> Response:
        """Tells which languages a text may be in."""
        with self._service.refusals("rest", UNKNOWN):
            timeout = read_timeout(request.scope)
            fields = await self._read(request)
            text = checked_text("q", fields.required("q"))
            fields.finish((), {})
            detector = find_detector(self._service)
            if detector is None:
                raise refusal(
                    "no model here detects languages: name the source's, or serve a classifier "
                    "whose labels are codes of languages."
                )
        with until_hang_up(request.receive):
            found = await detect(self._service, detector, [text], timeout=timeout)
        return JsonResponse([one._asdict() for one in found])

    async def settings(self, request: Request) -> Response:
        """Tells what a client's page may offer."""
        with self._service.refusals("rest", UNKNOWN):
            await self._check_key(request)
            found = self._directions.all()
        source, targets = next(iter(found.items()), (AUTO, [AUTO]))
        return JsonResponse(
            {
                "apiKeys": self._keys is not None,
                "charLimit": -1,
                "filesTranslation": False,
                "frontendTimeout": 500,
                "keyRequired": self._keys is not None,
                "language": {
                    "source": {"code": source, "name": name_of(source)},
                    "target": {"code": targets[0], "name": name_of(targets[0])},
                },
                "suggestions": False,
                "supportedFilesFormat": [],
            }
        )

    def _direction(
        self, source: str, target: str, detected: Sequence[Detected]
    ) -> tuple[Direction, Detected | None]:
        """Returns the direction, and the most probable detected language that has one.

        Raises:
            ServingError: There is none.
        """
        if not detected:
            return self._directions.find(source, target), None
        reasons = []
        for language in detected:
            try:
                return self._directions.find(language.language, target), language
            except ServingError as error:
                reasons.append(error)
        raise reasons[0]

    async def _check_key(self, request: Request) -> None:
        if self._keys is not None:
            await self._read(request)

    async def _read(self, request: Request) -> Fields:
        """Returns the fields of a body, a form or JSON, once its key was checked."""
        body = await self._bodies.read(request.scope, request.receive)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind.startswith("multipart/"):
            message = f"the body must be JSON or {_FORM}, got {kind}."
            raise BodyEncodingError(Code.INVALID_ARGUMENT, message)
        values: Mapping[str, Any] = _read_form(body) if kind == _FORM else {}
        if kind != _FORM and body:
            values = read_object(body)
        fields = Fields(values)
        key = fields.text("api_key", request.query_params.get("api_key", ""))
        if self._keys is not None and not request.headers.get("authorization"):
            self._keys.check(f"Bearer {key}".encode())
        return fields


def _read_form(body: bytes) -> dict[str, Any]:
    """Returns the fields of a form; one that stands there several times is a list."""
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise refusal(f"the body is not a form in UTF-8: {error}") from error
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _read_count(given: Any) -> int:
    # A form has nothing but strings. Of too many digits Python reads no number.
    is_number = isinstance(given, str) and given.isdecimal() and len(given) <= len(str(_MOST))
    value = int(given) if is_number else given
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise wrong("alternatives", f"an integer from 0 to {_MOST}", given)
    return value

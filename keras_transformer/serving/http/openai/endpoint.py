"""The frame of a request with a body of JSON that names its model."""

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from keras_transformer.artefact.signatures import Signature
from keras_transformer.serving.errors import Code, ServingError, refusal
from keras_transformer.serving.http.exchange import BodyReader, read_timeout, until_hang_up
from keras_transformer.serving.http.json_tensors import read_object
from keras_transformer.serving.http.openai.fields import Fields
from keras_transformer.serving.models.outputs import Outputs
from keras_transformer.serving.models.rows import Arrays, Request
from keras_transformer.serving.models.served import Completing, Reading
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.models.versioning.versions import LoadedVersion


@dataclass(frozen=True)
class Asked:
    """A request whose body has been read.

    Attributes:
        service: Answers requests.
        request: The request.
        fields: The fields of its body without `model`.
        loaded: The newest version of the model that it names.
        timeout: Seconds that the client gives it; None if it sets no limit.
    """

    service: Service
    request: HttpRequest
    fields: Fields
    loaded: LoadedVersion
    timeout: float | None

    def waiting(self) -> AbstractContextManager[None]:
        """Makes a context that is cancelled when the client hangs up."""
        return until_hang_up(self.request.receive)

    def head(self, prefix: str, kind: str) -> dict[str, Any]:
        """Returns the first fields of an answer: its own id, its kind, the time and the model."""
        return {
            "id": f"{prefix}-{secrets.token_hex(12)}",
            "object": kind,
            "created": int(time.time()),
            "model": self.loaded.name,
            "system_fingerprint": f"version-{self.loaded.number}",
        }

    async def outputs(
        self,
        name: str,
        model: Reading,
        signature: Signature,
        inputs: Arrays,
        texts: Sequence[str],
        *,
        is_quick: bool = True,
    ) -> tuple[Outputs, int]:
        """Runs a signature that reads texts; returns its outputs and how many tokens were read.

        Args:
            name: What the request is called in metrics and log.
            model: What answers.
            signature: One of the model's.
            inputs: Its inputs.
            texts: The request's texts.
            is_quick: As for `Service.run`.

        Raises:
            ServingError: There is no result.
        """
        tokens = 0

        def read() -> Request:
            nonlocal tokens
            request = model.read(signature, inputs)
            tokens = model.count_tokens(request.rows)
            return request

        request, found = await self.service.run(
            self.loaded,
            name,
            read,
            model.run(signature),
            sentences=len(next(iter(inputs.values()))),
            texts=texts,
            is_quick=is_quick,
            timeout=self.timeout,
            waiting=self.waiting,
        )
        return model.write(signature, request, found), tokens


_CHATS = "/v1/chat/completions"
# What answers each path, by the signatures of which a model has one.
PATHS = {
    "/v1/completions": {"generate"},
    _CHATS: {"generate"},
    "/v1/embeddings": {"embed"},
    "/v1/rerank": {"regress_pairs"},
    "/v2/rerank": {"regress_pairs"},
    "/v1/translations": {"translate_ids"},
}
Answer = Callable[[Asked], Awaitable[Response]]


def endpoint(
    service: Service, bodies: BodyReader, answer: Answer
) -> Callable[[HttpRequest], Awaitable[Response]]:
    """Returns a handler of requests.

    Args:
        service: Answers requests.
        bodies: Reads the bodies of requests.
        answer: Reads a request and returns its answer.
    """

    async def respond(request: HttpRequest) -> Response:
        with service.refusals("rest", ""):
            timeout = read_timeout(request.scope)
            fields = Fields(read_object(await bodies.read(request.scope, request.receive)))
            name = fields.text("model")
        with service.refusals("rest", name or ""):
            loaded = find_model(service, name)
            answering = answer(Asked(service, request, fields, loaded, timeout))
        return await answering

    return respond


def cannot(loaded: LoadedVersion, what: str) -> ServingError:
    """Returns the error for a model of another kind.

    Args:
        loaded: The model.
        what: What models of its kind do not do.
    """
    known = [path for path, names in PATHS.items() if names & set(loaded.model.signatures)]
    if isinstance(loaded.model, Completing) and not loaded.model.completions.has_chats:
        known.remove(_CHATS)
    return refusal(
        f"models such as {loaded.name} {what}: it answers {', '.join(known)} and "
        f"/v1/models/{loaded.name}:predict.",
        "model",
    )


def find_model(service: Service, name: str | None) -> LoadedVersion:
    """Returns the newest version of a model, of the only one if none is named.

    Raises:
        ServingError: There is no such model, or a name is missing.
    """
    names = [model.name for model in service.models]
    if name is None and len(names) == 1:
        [name] = names
    names += service.options.adapters
    if name not in names:
        wanted = "the field 'model' is missing" if name is None else f"no model {name!r} is served"
        code = Code.INVALID_ARGUMENT if name is None else Code.NOT_FOUND
        raise ServingError(code, f"{wanted}: name one of {', '.join(names)}.", "model")
    return service.find(name)

"""Server-sent events as OpenAI's clients read them, and the errors within."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.responses import StreamingResponse

from keras_transformer.serving.errors import ServingError, encodable
from keras_transformer.serving.http.error_forms import openai_error
from keras_transformer.serving.http.openai.endpoint import Asked

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_DONE = "data: [DONE]\n\n"


async def streamed(asked: Asked, chunks: AsyncGenerator[dict[str, Any], None]) -> StreamingResponse:
    """Returns an answer that is sent chunk by chunk.

    Args:
        asked: The request.
        chunks: The chunks. An error before the first is answered as any other request's.
    """
    with asked.waiting():
        first = await anext(chunks)

    async def events() -> AsyncIterator[str]:
        async with aclosing(chunks):
            yield _event(first)
            try:
                async for chunk in chunks:
                    yield _event(chunk)
            except ServingError as error:
                yield _event(openai_error(error.http_status, error.message, error.code))
                return
            yield _DONE

    return StreamingResponse(events(), media_type="text/event-stream", headers=_HEADERS)


def _event(data: dict[str, Any]) -> str:
    return f"data: {encodable(json.dumps(data, ensure_ascii=False))}\n\n"

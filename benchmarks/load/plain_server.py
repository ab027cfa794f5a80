"""The server to compare with: the same translator behind a lock, one request at a time.

    python -m load.plain_server ARTEFACT MODEL_NAME

Prints its address when it is ready, as `keras-transformer serve` does.
"""

import asyncio
import socket
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from keras_transformer.export import OnnxTranslator


def plain_app(translator: OnnxTranslator, model_name: str) -> Starlette:
    """Returns an application that translates each request's instances one after the other.

    Args:
        translator: What all requests share.
        model_name: Name in the path, as TensorFlow Serving has it.
    """
    lock = asyncio.Lock()

    async def predict(request: Request) -> JSONResponse:
        body = await request.json()
        async with lock:
            found = [
                await asyncio.to_thread(translator.translate, [text]) for text in body["instances"]
            ]
        return JSONResponse({"predictions": [translation for [translation] in found]})

    return Starlette(routes=[Route(f"/v1/models/{model_name}:predict", predict, methods=["POST"])])


def main(artefact: str, model_name: str) -> None:
    """Serves on a free port of the loopback interface until the process is ended."""
    app = plain_app(OnnxTranslator(artefact), model_name)
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])

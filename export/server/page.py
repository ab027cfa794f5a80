"""The page at `/`: a sentence is typed; its translation, the n best and their attention appear.
Only its files are served here: what they show comes from the server's other paths.
"""

import html
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
# Whatever text a model or a user brings, the browser runs nothing but the page's own modules, and
# talks to nothing but this server.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # After an update of the server no browser mixes old files with new ones.
    "Cache-Control": "no-cache",
}
_MODEL_NAME = "{{model_name}}"


def page_routes(model_name: str) -> list[Route]:
    """Returns the routes of the page and of its files under `/page/`; all are read now, once.

    Args:
        model_name: The model that the page asks.
    """
    folder = resources.files(__package__) / "page"
    files = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir()}
    index = files.pop("index.html").replace(_MODEL_NAME, html.escape(model_name))
    return [
        _route("/", "index.html", index),
        *(_route(f"/page/{name}", name, text) for name, text in files.items()),
    ]


def _route(path: str, name: str, text: str) -> Route:
    media_type = _MEDIA_TYPES[name[name.rindex(".") :]]
    content = text.encode("utf-8")

    async def send(_: Request) -> Response:
        return Response(content, media_type=media_type, headers=_HEADERS)

    return Route(path, send, methods=["GET"], include_in_schema=False)

"""The files of the page at `/`, which shows the translation of a typed sentence, the n best and
their attention.
"""

import html
from collections.abc import Sequence
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
        "connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # After an update of the server no browser mixes old files with new ones.
    "Cache-Control": "no-cache",
}
_BASE = b"{{base}}"
_TITLE, _MODEL, _HEADING = "{{title}}", "{{model}}", "{{heading}}"


def page_routes(models: Sequence[str]) -> list[Route]:
    """Returns the routes of the page and of its files under `/page/`; all are read now, once.

    Args:
        models: Names of the models to choose from on the page; the first is selected at the start.
    """
    folder = resources.files(__package__) / "page_files"
    files = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir()}
    index = files.pop("index.html")
    for mark, text in (
        (_TITLE, html.escape(", ".join(models))),
        (_MODEL, html.escape(models[0])),
        (_HEADING, _heading(models)),
    ):
        index = index.replace(mark, text)
    return [
        _route("/", "index.html", index),
        *(_route(f"/page/{name}", name, text) for name, text in files.items()),
    ]


def _heading(models: Sequence[str]) -> str:
    """Returns the model's name, or a choice if there are several."""
    names = [html.escape(name) for name in models]
    if len(names) == 1:
        return names[0]
    options = "".join(f"<option>{name}</option>" for name in names)
    return f'<select id="model" aria-label="Model" autocomplete="off">{options}</select>'


def _route(path: str, name: str, text: str) -> Route:
    media_type = _MEDIA_TYPES[name[name.rindex(".") :]]
    content = text.encode("utf-8")

    async def send(request: Request) -> Response:
        # Below a prefix the page's own addresses are relative to it.
        base = html.escape(request.scope["root_path"]).encode()
        found = content.replace(_BASE, base) if _BASE in content else content
        return Response(found, media_type=media_type, headers=_HEADERS)

    return Route(path, send, methods=["GET"], include_in_schema=False)

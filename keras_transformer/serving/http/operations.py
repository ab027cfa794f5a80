"""The operations of an OpenAPI description: their bodies, their answers and their errors."""

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

ERRORS = {
    "400": "The request does not fit the signature or the limits.",
    "401": "An API key is missing or unknown.",
    "403": "This Host is not allowed.",
    "404": "The model, the version or the path is unknown.",
    "405": "The path does not allow this method.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body is encoded in a way that the server cannot read.",
    "414": "The request's target is too long.",
    "429": "Too many sentences are waiting.",
    "431": "The headers are too large, or too many.",
    "503": "No version is loaded yet.",
    "504": "The request timed out.",
}
# The schema of an error in TensorFlow Serving's form.
ERROR = "Error"


def post(summary: str, request: str, answer: Json, error: str = ERROR) -> Json:
    """Returns an operation with a body.

    Args:
        summary: What it does.
        request: The schema of its body.
        answer: Its answer.
        error: The schema of its errors.
    """
    return _with_body(summary, {"application/json": {"schema": schema_ref(request)}}, answer, error)


def post_file(summary: str, parameters: Iterable[Json], answer: Json) -> Json:
    """Returns an operation whose body is a file.

    Args:
        summary: What it does.
        parameters: What its query may hold.
        answer: Its answer.
    """
    described = _with_body(summary, {"application/octet-stream": {"schema": {}}}, answer, ERROR)
    return {**described, "parameters": [*described["parameters"], *parameters]}


def query(name: str, schema: Json, *, required: bool = False) -> Json:
    """Returns a parameter of a query."""
    return {"name": name, "in": "query", "required": required, "schema": schema}


def get(summary: str, schema: str, codes: Iterable[str], error: str = ERROR) -> Json:
    """Returns a path for GET; `codes` are the statuses of its errors."""
    return {"get": operation(summary, {"200": json_answer(schema), **_errors(codes, error)})}


def operation(summary: str, responses: Json) -> Json:
    """Returns an operation with these answers by their status."""
    return {"summary": summary, "responses": responses}


def json_answer(schema: str, description: str = "The answer.") -> Json:
    """Returns an answer of JSON of a schema."""
    return content(schema_ref(schema), description=description)


def content(
    schema: Json, media_type: str = "application/json", description: str = "The answer."
) -> Json:
    """Returns an answer."""
    return {"description": description, "content": {media_type: {"schema": schema}}}


def schema_ref(name: str) -> Json:
    """Returns a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def parameter_ref(name: str) -> Json:
    """Returns a reference to a parameter."""
    return {"$ref": f"#/components/parameters/{name}"}


def _with_body(summary: str, body: Json, answer: Json, error: str) -> Json:
    return {
        **operation(summary, {"200": answer, **_errors(ERRORS, error)}),
        "parameters": [parameter_ref("timeout")],
        "requestBody": {"required": True, "content": body},
    }


def _errors(codes: Iterable[str], error: str) -> Json:
    return {code: json_answer(error, ERRORS[code]) for code in codes}

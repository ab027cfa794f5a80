"""The REST side of the server: paths, bodies, JSON, the page and its description in OpenAPI."""

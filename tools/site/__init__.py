"""The documentation as a site: `make docs` builds it, `tools/site/look.py` looks at it."""

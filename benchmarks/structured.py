"""Counts the texts that fulfil what they must follow, and the time that following takes a token.

    python benchmarks/structured.py exported/qwen --texts 1000

Each text continues a prompt of its own. Greedy search, samples and beams take a third of the texts
of each grammar, and every text is checked by a program that has no part in the search.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
from driver import count, figures, parser_of, publish, table, tell
from speed.machine import describe_machine

from keras_transformer.runtime.generator import OnnxGenerator

_PACKAGES = ("onnxruntime", "numpy")
_MOST_TOKENS = 256
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "degrees": {"type": "integer", "minimum": -50, "maximum": 50},
        "kind": {"enum": ["ä", 'a "b"', None, 1.5, True]},
        "tags": {
            "type": "array",
            "maxItems": 4,
            "items": {"anyOf": [{"$ref": "#/$defs/tag"}, {"type": "boolean"}]},
        },
    },
    "required": ["name", "kind", "tags"],
    "additionalProperties": False,
    "$defs": {
        "tag": {
            "type": "object",
            "properties": {"id": {"type": "string", "pattern": "^[a-z]{2,8}-[0-9]{1,3}$"}},
            "required": ["id"],
            "additionalProperties": False,
        }
    },
}
REGEX = r"(?:[A-Z][a-z]{1,9} ){1,4}<[^<>\n]{0,12}>(?:, [0-9]{4}-[0-9]{2}-[0-9]{2})?"
CHOICES = ["yes", "no", "I do not know", "naïve 東京 😀", "yes, but"]
GRAMMARS: dict[str, Any] = {"json_schema": SCHEMA, "regex": REGEX, "choices": CHOICES}
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sample": {"sample": True, "temperature": 1.3, "seed": 1},
    "beams": {"beam_size": 4},
}


def _fulfils_schema(text: str) -> bool:
    try:
        jsonschema.validate(json.loads(text), SCHEMA)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


CHECKS: dict[str, Callable[[str], bool]] = {
    "json_schema": _fulfils_schema,
    "regex": lambda text: re.fullmatch(REGEX, text) is not None,
    "choices": CHOICES.__contains__,
}


def run(given: argparse.Namespace, result: dict) -> None:
    """Adds the counts and the times."""
    with OnnxGenerator(given.model, given.threads) as generator:
        for name, grammar in GRAMMARS.items():
            counted: Counter[str] = Counter()
            for number, (kind, search) in enumerate(SEARCHES.items()):
                prompts = [
                    f"{place} men in a" for place in range(number, given.texts, len(SEARCHES))
                ]
                options = {"max_length": _MOST_TOKENS, **search}
                begin = time.perf_counter()
                found = generator.generate_n_best(prompts, **{name: grammar}, **options)
                seconds, texts = time.perf_counter() - begin, [best for [best, *_] in found]
                counted["texts"] += len(texts)
                counted["fulfil"] += sum(CHECKS[name](one.text) for one in texts)
                counted["cut off"] += sum(one.stop_reason == "length" for one in texts)
                tokens = sum(len(one.ids) + 1 for one in texts)
                counted["tokens"] += tokens
                result.setdefault("seconds", {})[f"{name} {kind}"] = seconds / tokens
            result.setdefault("counts", {})[name] = dict(counted)
            tell(f"{name}: {dict(counted)}")


def report(result: dict) -> str:
    """Writes the counts as a table."""
    head = ("grammar", "texts", "fulfil it", "cut off", "tokens")
    rows = [(name, *map(str, own.values())) for name, own in result["counts"].items()]
    return table(head, rows)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of(__doc__.splitlines()[0], "json")
    parser.add_argument("model", type=Path, help="an exported decoder")
    parser.add_argument("--texts", type=count, default=1000, help="texts of each grammar")
    parser.add_argument("--threads", type=count, default=None)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    given = parse(arguments)
    asked = {"model": str(given.model), "texts": given.texts}
    with figures(__file__, given.json, machine=describe_machine(_PACKAGES), **asked) as result:
        run(given, result)
    publish(report(result), given.json)


if __name__ == "__main__":
    main()

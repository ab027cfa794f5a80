"""Damages a file at random: values of JSON by their kind, names, and bytes."""

import collections
import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# What a number, a text or a whole part of a file is replaced by.
_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    3,
    -(2**63),
    2**31,
    10**30,
    0.5,
    -1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "7",
    "\ud800",
    [],
    {},
    [None],
    [[[]]],
    ["a", 1],
    {"a": 1},
    {"0": {}},
)
_DEPTH = 100_000


def places(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields where the values of a JSON text are, a long list's first ones and some of the rest."""
    yield path
    items: list[tuple[Any, Any]] = []
    if isinstance(values, dict):
        items = list(values.items())
    elif isinstance(values, list):
        items = list(enumerate(values))
    for key, value in items[:40] + items[40::97]:
        yield from places(value, (*path, key))


def damaged_values(values: Any, rng: random.Random) -> tuple[str, Any]:
    """Returns values with one changed, deleted, moved or put in twice, and what was done."""
    by_depth = collections.defaultdict(list)
    for path in places(values):
        by_depth[min(len(path), 3)].append(path)
    place = rng.choice(by_depth[rng.choice(list(by_depth))])
    if not place:
        odd = rng.choice(_ODD)
        return f"all = {odd!r}", odd
    result = copy.deepcopy(values)
    parent = result
    for key in place[:-1]:
        parent = parent[key]
    key, old = place[-1], parent[place[-1]]
    kind = rng.choice(("odd", "odd", "odd", "odd", "delete", "wrap", "negative", "swap", "rename"))
    if kind == "delete":
        del parent[key]
    elif kind == "wrap":
        parent[key] = rng.choice(([old], {"value": old}))
    elif kind == "negative" and isinstance(old, int | float):
        parent[key] = rng.choice((-old, old * 1000, old + 1, old - 1, float(old), str(old)))
    elif kind == "swap":
        other = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
        parent[key], parent[other] = parent[other], old
    elif kind == "rename" and isinstance(parent, dict):
        parent[f"{key}x"] = parent.pop(key)
    else:
        kind = "odd"
        parent[key] = rng.choice(_ODD)
    return f"{kind} {'/'.join(map(str, place))}", result


def damaged_bytes(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Returns bytes cut short, with some changed, put in or left out, and what was done."""
    kind = rng.choice(("cut", "flip", "flip", "random", "insert", "empty", "zeros"))
    place = rng.randrange(len(content) + 1)
    if kind == "cut":
        return f"cut at {place}", content[:place]
    if kind == "empty":
        return "empty", b""
    size = rng.choice((1, 1, 2, 8, 64))
    end = place + size
    if kind == "flip":
        changed = bytes(byte ^ (1 << rng.randrange(8)) for byte in content[place:end])
        return f"flip {size} at {place}", content[:place] + changed + content[end:]
    if kind == "insert":
        return f"insert {size} at {place}", content[:place] + rng.randbytes(size) + content[place:]
    filler = b"\0" * size if kind == "zeros" else rng.randbytes(size)
    return f"{kind} {size} at {place}", content[:place] + filler + content[end:]


def damaged_text(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Returns a JSON file damaged in its values or as bytes, and what was done."""
    kind = rng.random()
    if kind < 0.2:
        return damaged_bytes(content, rng)
    if kind < 0.23:
        return "deep nesting", b"[" * _DEPTH + b"]" * _DEPTH
    values = json.loads(content)
    if kind < 0.26 and isinstance(values, dict) and values:
        key = rng.choice(list(values))
        twice = json.dumps({key: rng.choice(_ODD)})[1:]
        return f"{key} twice", content.rstrip()[:-1] + b"," + twice.encode()
    done, result = damaged_values(values, rng)
    return done, json.dumps(result).encode()


def damage(directory: Path, rng: random.Random) -> tuple[str, Path, bytes]:
    """Damages one file of a directory; returns what was done, the file, and what it was before."""
    files = sorted(
        one for one in directory.rglob("*") if one.is_file() and one.name != "reference.json"
    )
    # Weights are many bytes with one meaning: less often than what describes them.
    weights = [
        1 if one.suffix in (".safetensors", ".npz", ".bin", ".keras", ".gguf") else 3
        for one in files
    ]
    [file] = rng.choices(files, weights)
    content = file.read_bytes()
    if rng.random() < 0.04:
        other = rng.choice(files)
        file.write_bytes(other.read_bytes())
        return f"{file.name}: swapped for {other.name}", file, content
    is_json = file.suffix == ".json"
    done, changed = (damaged_text if is_json else damaged_bytes)(content, rng)
    file.write_bytes(changed)
    return f"{file.name}: {done}", file, content


def damage_manifest(directory: Path, rng: random.Random) -> tuple[str, Path, bytes]:
    """As `damage`, of an artefact's manifest alone, mostly without its own hash."""
    file = directory / "manifest.json"
    content = file.read_bytes()
    values = json.loads(content)
    if rng.random() < 0.9:
        # Manifests of before they had one are read, too: so readers see what is wrong.
        values.pop("sha256", None)
    done, changed = damaged_text(json.dumps(values).encode(), rng)
    file.write_bytes(changed)
    return f"manifest.json: {done}", file, content

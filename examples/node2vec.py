"""Vectors of the nodes of a graph: random walks are sentences, and skip-gram reads them (node2vec,
Grover and Leskovec 2016).

    python examples/node2vec.py edges.tsv nodes.txt --stay 1 --away 0.5

Each line of edges.tsv has two nodes with a tab between. Writes a file of vectors, for
`keras-transformer neighbours` and `plot vectors`.
"""

import argparse
import random
import tempfile
from collections import defaultdict
from pathlib import Path

from keras_transformer.vectors.options import VectorOptions
from keras_transformer.vectors.train import train_vectors


def main() -> None:
    """Reads a graph, walks on it and trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edges", type=Path, help="lines of two nodes with a tab between")
    parser.add_argument("output", type=Path, help="file of vectors to write")
    parser.add_argument("--walks", type=int, default=20, help="walks that begin at each node")
    parser.add_argument("--length", type=int, default=40, help="nodes of a walk")
    parser.add_argument("--stay", type=float, default=1.0, help="the paper's p: large: no way back")
    parser.add_argument("--away", type=float, default=1.0, help="the paper's q: large: stays near")
    parser.add_argument("--dim", type=int, default=32, help="numbers of a vector")
    given = parser.parse_args()
    graph = read_graph(given.edges)
    # The names of nodes may be anything; words of walks are their numbers.
    numbers = {node: str(number) for number, node in enumerate(sorted(graph))}
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        walks, vectors = Path(folder, "walks.txt"), Path(folder, "vectors.txt")
        with walks.open("w") as file:
            for node in sorted(graph) * given.walks:
                path = walk(graph, node, given.length, given.stay, given.away, draw)
                file.write(" ".join(numbers[one] for one in path) + "\n")
        train_vectors([walks], vectors, VectorOptions(dim=given.dim, min_count=1))
        names = {number: node for node, number in numbers.items()}
        head, *lines = vectors.read_text("utf-8").splitlines()
        named = (f"{names[one]} {rest}" for one, _, rest in (x.partition(" ") for x in lines))
        given.output.write_text("\n".join([head, *named, ""]), "utf-8")


def read_graph(path: Path) -> dict[str, set[str]]:
    """Returns the neighbours of each node; edges have no direction."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        nodes = line.split("\t")
        if len(nodes) != 2 or not all(nodes) or " " in line:
            raise SystemExit(
                f"{path}, line {number}: expected two nodes without spaces and a tab between, got "
                f"{line!r}."
            )
        graph[nodes[0]].add(nodes[1])
        graph[nodes[1]].add(nodes[0])
    return graph


def walk(
    graph: dict[str, set[str]], node: str, length: int, p: float, q: float, draw: random.Random
) -> list[str]:
    """Returns a walk whose next step depends on the last two nodes (section 3.2.2)."""
    path = [node]
    while len(path) < length:
        last = path[-2] if len(path) > 1 else None
        near = sorted(graph[path[-1]])
        weights = [
            1 / p if one == last else 1 if last is None or one in graph[last] else 1 / q
            for one in near
        ]
        path += draw.choices(near, weights)
    return path


if __name__ == "__main__":
    main()

"""What rerankers make of pairs, in Sentence Transformers and in transformers alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch


def of_sentence_transformers(model: Any, tokenizer: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Returns what Sentence Transformers makes of pairs, and the order of texts for a query.

    It writes its own files into the model's directory.
    """
    from sentence_transformers import CrossEncoder

    del tokenizer  # It opens its own.
    path = Path(model.name_or_path)
    reranker = CrossEncoder(str(path))
    # As a BertTokenizer has them.
    reranker.tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    reranker.save_pretrained(str(path))
    (path / "README.md").unlink()
    both = _with_queries(texts)
    ranked = reranker.rank(both[0][0], list(texts))
    return {
        "pairs": both,
        "scores": reranker.predict(both).tolist(),
        "ranked": [one["corpus_id"] for one in ranked],
    }


def of_transformers(model: Any, tokenizer: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Returns ids and numbers of pairs, and the order of texts for a query, as transformers alone
    gives them. The last three pairs are longer than the tokenizer allows, and cut.
    """
    both = _with_queries(texts)
    query, long = both[0][0], " ".join(texts)
    both += [[query, long], [long, long], [f"{long} {query}", long]]
    rows = [tokenizer(*one)["input_ids"] for one in both]

    def number(row: list[int]) -> float:
        with torch.no_grad():
            return model(torch.tensor([row])).logits.item()

    of_query = [number(tokenizer(query, text)["input_ids"]) for text in texts]
    return {
        "pairs": both,
        "pair_ids": rows,
        "scores": [number(row) for row in rows],
        "ranked": sorted(range(len(texts)), key=lambda place: -of_query[place]),
    }


def _with_queries(texts: Sequence[str]) -> list[list[str]]:
    """Returns the texts, each behind its last words as a query."""
    return [[" ".join(text.split()[-3:]), text] for text in texts]

"""The table of encoders."""

from typing import Any

from encoding.report import encode_table, notes

ROW: dict[str, Any] = {
    "size": "bert-base",
    "precision": "int8",
    "length": "128",
    "batch": 8,
    "ours": 2469.0,
    "peer": 1234.5,
    "peers": {"CTranslate2 × 1": 700.0, "CTranslate2 × 2": 1234.5, "onnxruntime × 2": 900.0},
    "peer_name": "CTranslate2 × 2",
    "ratio": 2.0,
    "ratio_low": 1.9,
    "ratio_high": 2.125,
    "cpu_seconds": {"ours": 0.5, "CTranslate2 × 2": 1.25},
    "deviation": {"ours": 0.01, "CTranslate2 × 2": 0.0225},
    "cosine": {"ours": 0.9995, "CTranslate2 × 2": 0.99},
    "difference": 4e-5,
}


def test_a_line_for_each_cell() -> None:
    libraries = ["CTranslate2", "onnxruntime", "PyTorch"]
    head, _, line = encode_table([ROW], libraries).splitlines()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert len(cells) == head.count("|") - 1
    assert cells[:5] == ["bert-base", "int8", "128", "8", "2,469"]
    assert cells[5:9] == ["1,234", "900", "–", "CTranslate2 × 2"]
    assert cells[9:] == ["**2.00**", "1.90–2.12", "0.5, 1.25", "1.00%, 2.25%", "0.9995, 0.9900"]


def test_the_largest_difference_is_named() -> None:
    assert "differ by at most 4e-05" in notes([ROW, {**ROW, "difference": 1e-6}])

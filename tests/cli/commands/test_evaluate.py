"""`evaluate`: a test set becomes BLEU, chrF and exact match, as text or JSON."""

import gzip
import json
from pathlib import Path

import pytest


@pytest.fixture
def test_set(tmp_path):
    source, reference = tmp_path / "source.txt", tmp_path / "reference.txt"
    source.write_text("the cat sat on the mat .\na dog ran home today .\n", encoding="utf-8")
    reference.write_text("THE CAT SAT ON THE MAT .\nA DOG RAN HOME NOW .\n", encoding="utf-8")
    return ["--source", source, "--reference", reference]


def test_the_report_has_scores_and_signatures(run_cli, translator, test_set) -> None:
    result = run_cli("evaluate", "model", *test_set)
    assert (result.code, result.err) == (0, "")
    lines = [line.split() for line in result.out.splitlines()]
    assert [line[0] for line in lines] == ["BLEU", "chrF", "exact", "sentences"]
    assert 0 < float(lines[0][1]) < 100 and 0 < float(lines[1][1]) < 100
    assert "case:mixed" in lines[0][2] and "tok:13a" in lines[0][2] and "nc:6" in lines[1][2]
    assert lines[2] == ["exact", "match", "50.0", "%"]
    assert lines[3][1] == "2"


def test_json_holds_the_same_numbers(run_cli, translator, test_set) -> None:
    result = json.loads(run_cli("evaluate", "model", *test_set, "--json").out)
    assert set(result) == {
        "bleu",
        "bleu_signature",
        "chrf",
        "chrf_signature",
        "exact_match",
        "sentences",
        "seconds",
    }
    assert (result["exact_match"], result["sentences"]) == (0.5, 2)
    report = run_cli("evaluate", "model", *test_set).out
    assert report.startswith(f"BLEU         {result['bleu']:.2f}  {result['bleu_signature']}\n")


def test_a_perfect_translation_scores_100(run_cli, translator, test_set, tmp_path) -> None:
    upper = tmp_path / "upper.txt"
    upper.write_text(test_set[1].read_text().upper())
    given = ["--source", test_set[1], "--reference", upper]
    result = json.loads(run_cli("evaluate", "model", *given, "--json").out)
    assert (result["bleu"], result["exact_match"]) == (100.0, 1.0)
    assert result["chrf"] == pytest.approx(100.0)


def test_a_catalogue_is_source_and_reference(run_cli, translator, tmp_path) -> None:
    catalogue = tmp_path / "de.po"
    catalogue.write_text('msgid "a cat"\nmsgstr "A CAT"\n\nmsgid "b"\nmsgstr ""\n')
    result = run_cli("evaluate", "model", "--data", "po", "--source", catalogue, "--json")
    assert {"sentences": 1, "exact_match": 1.0}.items() <= json.loads(result.out).items()


def test_a_table_is_read_as_in_training(run_cli, translator, tmp_path) -> None:
    table, output = tmp_path / "test.csv.gz", tmp_path / "out.txt"
    rows = 'id,de,en\n1,"A CAT, ""B""","a cat, ""b"""\n\n2,,c\n3,"X\ty","x\tz"\n'
    table.write_bytes(gzip.compress(rows.encode()))
    given = ["--data", "tsv", "--source", table, "--source-column", 2, "--target-column", 1]
    result = run_cli("evaluate", "model", *given, "--output", output, "--json")
    assert {"sentences": 2, "exact_match": 0.5}.items() <= json.loads(result.out).items()
    assert output.read_text() == 'A CAT, "B"\nX\tZ\n'
    assert result.err.splitlines() == [
        f"{table}: read as CSV, with commas between columns",
        f"{table}: the first line names the columns: id, de, en",
        f"{table}: 2 pairs with an empty side are left out",
    ]
    table.write_bytes(gzip.compress(b"a,\nb,\n"))
    result = run_cli("evaluate", "model", "--data", "tsv", "--source", table)
    assert (result.code, len(translator.blocks)) == (1, 1) and "has no pair of texts" in result.err


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--source", "a"], "--data text needs --reference."),
        (
            ["--source", "a", "--data", "tsv", "--reference", "b"],
            "--data tsv brings its own references: leave --reference out.",
        ),
        (
            ["--source", "a", "--data", "po", "--target-column", "2"],
            "--source-column and --target-column belong to --data tsv, but --data is po.",
        ),
        (
            ["--source", "a", "--data", "po", "--reference", "b"],
            "--data po brings its own references: leave --reference out.",
        ),
    ],
)
def test_references_are_needed_where_the_source_has_none(run_cli, flags, error) -> None:
    assert error in run_cli("evaluate", "model", *flags).err


def test_gzip_files_and_saved_translations(run_cli, translator, test_set, tmp_path) -> None:
    packed = tmp_path / "source.gz"
    packed.write_bytes(gzip.compress(test_set[1].read_bytes()))
    output = tmp_path / "new" / "translations.txt"
    flags = ["--source", packed, "--reference", test_set[3], "--output", output]
    assert run_cli("evaluate", "model", *flags).code == 0
    assert output.read_text() == "THE CAT SAT ON THE MAT .\nA DOG RAN HOME TODAY .\n"


def test_a_device_takes_translations_and_stays_one(run_cli, translator, test_set) -> None:
    assert run_cli("evaluate", "model", *test_set, "--output", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_an_output_that_cannot_be_written_is_told_before_translating(
    run_cli, translator, test_set
) -> None:
    result = run_cli("evaluate", "model", *test_set, "--output", test_set[1] / "out")
    assert (result.code, translator.blocks) == (1, [])
    assert f"cannot write {test_set[1] / 'out'}: {test_set[1]} is a file." in result.err


def test_search_flags_reach_the_translator(run_cli, translator, test_set) -> None:
    run_cli("evaluate", "model", *test_set, "--beam-size", 4, "--max-length", 7)
    (search,) = translator.search
    assert (search["beam_size"], search["max_length"]) == (4, 7)


def test_unequal_line_counts_are_refused(run_cli, translator, test_set) -> None:
    test_set[3].write_text("ONE LINE\n")
    result = run_cli("evaluate", "model", *test_set)
    assert (result.code, result.out) == (1, "")
    assert "source.txt has 2 lines" in result.err and "reference.txt has 1" in result.err


def test_an_empty_test_set_is_refused(run_cli, translator, test_set) -> None:
    test_set[1].write_text("")
    test_set[3].write_text("")
    result = run_cli("evaluate", "model", *test_set)
    assert result.code == 1
    assert f"the corpus is empty: no line in {test_set[1]}" in result.err


def test_a_missing_file_is_named(run_cli, translator, test_set) -> None:
    test_set[1].unlink()
    result = run_cli("evaluate", "model", *test_set)
    assert result.code == 1
    assert "source.txt" in result.err and result.err.count("\n") == 1


def test_without_sacrebleu_the_extra_is_named_first(run_cli, monkeypatch, test_set) -> None:
    monkeypatch.setattr("keras_transformer.cli.commands.evaluate.find_spec", lambda name: None)
    result = run_cli("evaluate", "no model", *test_set)
    assert result.code == 1
    assert "evaluate needs sacrebleu" in result.err and "[cli]" in result.err


def test_noise_is_scored_kind_by_kind(run_cli, translator, test_set) -> None:
    result = json.loads(run_cli("evaluate", "model", *test_set, "--noise", "--json").out)
    assert list(result["noise"]) == ["capitals", "typos", "punctuation", "emoji", "numbers"]
    # What translates by capitals loses none, but for the reference that differs.
    assert result["noise"]["capitals"]["bleu"] == result["bleu"]
    assert result["noise"]["typos"]["bleu"] < result["bleu"]
    report = run_cli("evaluate", "model", *test_set, "--noise").out.splitlines()
    assert [line.split()[0] for line in report[5:]] == ["BLEU", "clean", *result["noise"]]

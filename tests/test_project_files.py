"""Files that hosts and tools of a project read: hooks, citation, templates of issues."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def test_the_hooks_run_the_checks_of_make_test() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    checked = makefile.replace("$(SOURCES)", re.search(r"^SOURCES := (.*)$", makefile, re.M)[1])
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    [local] = hooks["repos"]
    commands = [hook["entry"].removesuffix(" --force-exclude") for hook in local["hooks"]]
    assert len(commands) == 3
    assert [command for command in commands if f"$(BIN)/{command}" not in checked] == []


def test_the_makefile_checks_nothing_that_the_hooks_do_not() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    tools = re.findall(r"\$\(BIN\)/(ruff \w+|mypy)", makefile)
    assert len(tools) == 3
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    assert [tool for tool in tools if f"entry: {tool}" not in hooks] == []


def test_the_citation_has_what_its_format_asks_for() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == "Apache-2.0"


def test_every_template_of_an_issue_says_what_it_is_for() -> None:
    templates = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    heads = [yaml.safe_load(path.read_text("utf-8").split("---")[1]) for path in templates]
    assert len(heads) >= 2
    assert all(head["name"] and head["about"] for head in heads)

"""What pages show in shells and as files is what the program takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from omnigraph.cli.config.configuration import FILE_NAME, read_configuration
from omnigraph.cli.main import app
from omnigraph.cluster.config.read_config import read_config
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.policy.cases import read_cases, run_cases
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.server.webhooks.config import read_webhooks

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md"))]
_ENDS = "();<>|&\n"
_ENDS_ITSELF = ["--install-completion"]


def blocks(page: Path, kind: str) -> list[str]:
    """Return the blocks of a kind that a page shows."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def calls(script: str) -> Iterator[list[str]]:
    """Return the calls of `omnigraph` in a script, without the program's name."""
    plain = re.sub(r"(?:^|\s)#.*$", "", script.replace("\\\n", " "), flags=re.MULTILINE)
    words = shlex.shlex(plain, posix=True, punctuation_chars=_ENDS)
    words.whitespace, words.commenters, words.whitespace_split = " \t", "", True
    call: list[str] = []
    for word in [*words, "\n"]:
        if set(word) <= set(_ENDS):
            if call[:2] == ["docker", "run"]:  # the image begins with the program
                call = call[call.index("omnigraph") :]
            if "omnigraph" in call[:1] and call[1:]:
                yield call[1:]
            call = []
        elif call or not re.fullmatch(r"\w+=.*", word):  # not what is set for one call
            call.append(word.removeprefix(".venv/bin/") if not call else word)


SCRIPTS = [
    pytest.param(call, id=f"{page.name}: {shlex.join(call)}"[:90])
    for page in PAGES
    for block in blocks(page, "sh")
    for call in calls(block)
    if call != _ENDS_ITSELF
]


def parse(words: list[str]) -> None:
    """Parse a call as the program does, down to the command that would run."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("omnigraph", list(words))
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, list(rest), parent=context)


def test_calls_are_found_in_scripts() -> None:
    script = (
        "docker run -v a:/b omnigraph e\ndocker run omnigraph\n"
        "A=1 omnigraph load x --data \\\n f.csv  # why\nls | omnigraph a 'b c' > f && .venv/bin/omnigraph d\n"
    )
    assert list(calls(script)) == [["e"], ["load", "x", "--data", "f.csv"], ["a", "b c"], ["d"]]
    assert len(SCRIPTS) > 90


@pytest.mark.parametrize("call", SCRIPTS)
def test_a_command_of_a_page_is_one_that_the_program_takes(call: list[str]) -> None:
    parse(call)


def yaml_of(page: str) -> str:
    """Return the one file that a page shows."""
    (text,) = blocks(DOCS / page, "yaml")
    return text


def test_every_file_of_a_page_is_read_here() -> None:
    shown = {page.name for page in PAGES if blocks(page, "yaml")}
    assert shown == {"policy.md", "data-policy.md", "command-line.md", "cluster.md", "server.md"}


def test_the_cases_of_the_page_on_policies_are_decided_as_they_say(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(yaml_of("policy.md"))
    (rules,) = re.findall(
        r'^RULES = """\n(.*?)^"""', (DOCS / "policy.md").read_text(), re.MULTILINE | re.DOTALL
    )
    outcomes = run_cases(parse_bundle(rules), read_cases(tmp_path / "cases.yaml"))
    assert [outcome.case.id for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) == 5


def test_the_bundle_of_the_page_on_rules_about_data_is_one() -> None:
    assert parse_bundle(yaml_of("data-policy.md")).data is not None


def test_the_configuration_of_the_page_on_the_command_line_is_read_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    (tmp_path / FILE_NAME).write_text(yaml_of("command-line.md"))
    warnings: list[str] = []
    assert read_configuration(warnings.append).aliases.keys() == {"older"}
    assert warnings == []


def test_the_pipelines_of_the_page_on_clusters_are_those_of_a_cluster() -> None:
    example = (ROOT / "examples" / "cluster" / "cluster.yaml").read_text().partition("\npipelines:")[0]
    findings = ClusterFindings()
    config = read_config(f"{example}\n{yaml_of('cluster.md')}".encode(), findings)
    assert [item.render() for item in findings] == []
    assert config is not None and set(config.pipelines) == {"staff-list"}


def test_the_webhooks_of_the_page_on_servers_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVIEWS_SECRET", "sixteen letters or more")
    (tmp_path / "secret").write_text("sixteen letters or more")
    text = yaml_of("server.md").replace("/etc/omnigraph/rebuild", str(tmp_path / "secret"))
    (tmp_path / "webhooks.yaml").write_text(text)
    assert [hook.name for hook in read_webhooks(tmp_path / "webhooks.yaml")] == ["reviews", "rebuild"]

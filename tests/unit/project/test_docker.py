"""The Dockerfile and the compose file name only what is there. They are parsed: nothing here builds them."""

from __future__ import annotations

import itertools
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from omnigraph.cli.commands import load_command

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
INSTRUCTIONS = {
    *("ARG", "FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"),
    *("ENTRYPOINT", "CMD"),
}
DOCUMENTED = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their words."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def test_every_line_of_the_dockerfile_is_an_instruction_and_copies_what_is_there() -> None:
    assert {word for word, _ in instructions()} <= INSTRUCTIONS
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
            assert all((ROOT / name).exists() for name in rest.split()[:-1]), rest
    assert instructions()[0][0] == "ARG"
    last = [rest for word, rest in instructions() if word == "USER"][-1]
    assert last != "root"


def test_what_the_image_runs_is_a_command_with_flags_that_it_knows() -> None:
    (command,) = [rest for word, rest in instructions() if word == "CMD"]
    parse(yaml.safe_load(command))


def test_extras_that_are_built_are_there() -> None:
    built = COMPOSE["services"]["server"]["build"]["args"]["EXTRAS"].split(",")
    assert set(built) <= EXTRAS
    assert re.search(r"^ARG EXTRAS=(\w+)$", DOCKERFILE, re.MULTILINE)[1] in EXTRAS  # type: ignore[index]


@pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
def test_a_service_needs_only_services_and_volumes_that_are_there(name: str) -> None:
    service: dict[str, Any] = COMPOSE["services"][name]
    assert set(service.get("depends_on", ())) <= set(COMPOSE["services"])
    for mount in service.get("volumes", ()):
        source = mount.split(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / "docker" / source).exists(), mount
    if "build" in service:
        context = ROOT / "docker" / service["build"]["context"]
        assert (context / service["build"]["dockerfile"]).is_file()
    for variable in service.get("environment", ()):
        assert variable.startswith("MINIO_") or f"`{variable}`" in DOCUMENTED, variable
    for port in service.get("ports", ()):
        assert port.startswith("127.0.0.1:"), f"{port} is open to the network, with the password of the file"


def test_commands_of_the_services_are_ours() -> None:
    services = COMPOSE["services"]
    parse(services["server"]["command"])
    for words in services["graph"]["command"][0].split("||"):
        program, *rest = shlex.split(words)
        assert program == "omnigraph"
        parse(rest)
    assert (ROOT / "examples" / "cluster" / "people.pg").is_file()


def test_loads_on_spark_find_what_was_sent_a_folder_and_a_core() -> None:
    server, worker = COMPOSE["services"]["server"], COMPOSE["services"]["worker"]
    assert set(server["volumes"]) <= set(worker["volumes"])
    flags = dict(itertools.pairwise(worker["command"]))
    assert flags["--work-dir"].startswith("/tmp/"), "its own is in the package, which belongs to root"
    settings = dict(item.split("=") for item in server["environment"]["OMNIGRAPH_SPARK_CONFIG"].split(";"))
    processes = int(dict(itertools.pairwise(server["command"]))["--workers"])
    assert processes * int(settings["spark.cores.max"]) <= int(flags["--cores"])


def parse(words: list[str]) -> None:
    """Parse a command as the program does; a flag that it does not know is an error."""
    load_command(words[0]).make_context(words[0], list(words[1:]))

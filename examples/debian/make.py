"""Make the Parquet files beside this script from the package lists of a Debian machine.

    apt-get update && python examples/debian/make.py

Standard library and pyarrow only. It reads what apt has downloaded, and no network.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
LISTS = Path("/var/lib/apt/lists")
RELEASE = re.compile(r"^(Version|Codename|Date): (.+)$", re.MULTILINE)
RELATIONS = {"Pre-Depends": "pre_depends", "Depends": "depends", "Recommends": "recommends"}
ADDRESS = re.compile(r"\s*<[^>]*>")


def paragraphs(path: Path) -> Iterator[dict[str, str]]:
    """Yield the fields of every package; lines that begin with a space continue a field."""
    text = subprocess.run(
        ["/usr/lib/apt/apt-helper", "cat-file", path], check=True, capture_output=True, text=True
    ).stdout
    for paragraph in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in paragraph.splitlines():
            if line.startswith(" "):
                fields[name] += line
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if "Package" in fields:
            yield fields


def find_lists(codename: str) -> tuple[Path, Path]:
    """Return the package list and the release file of a suite's main component."""
    packages = sorted(LISTS.glob(f"*_dists_{codename}_main_binary-*_Packages*"))
    if not packages:
        sys.exit(f"no package list of {codename} in {LISTS}: run apt-get update on a Debian machine")
    prefix = packages[0].name.partition("_main_binary-")[0]
    return packages[0], LISTS / f"{prefix}_InRelease"


def newest_versions(given: Iterator[dict[str, str]]) -> list[dict[str, str]]:
    """Return each package once, by name, as dpkg orders the versions."""
    newest: dict[str, dict[str, str]] = {}
    for fields in given:
        other = newest.setdefault(fields["Package"], fields)
        versions = (fields["Version"], "gt", other["Version"])
        if other is fields:
            continue
        if subprocess.run(["dpkg", "--compare-versions", *versions], check=False).returncode == 0:
            newest[fields["Package"]] = fields
    return [newest[name] for name in sorted(newest)]


def relations(fields: dict[str, str], known: frozenset[str]) -> Iterator[tuple[str, str, str | None, bool]]:
    """Yield name, kind and version of each package that is named, and whether another one will do."""
    for field, kind in RELATIONS.items():
        for clause in filter(None, re.split(r",\s*", fields.get(field, ""))):
            ways = re.findall(r"([a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\(([^)]*)\))?", clause)
            ways = [(name, version) for name, version in ways if name in known]
            for name, version in ways:
                yield name, kind, version or None, "|" in clause


def main(codename: str) -> None:
    """Write packages, dependencies, maintainers and who maintains what."""
    path, release = find_lists(codename)
    found = newest_versions(paragraphs(path))
    known = frozenset(fields["Package"] for fields in found)
    maintainers = [ADDRESS.sub("", fields["Maintainer"]).strip().strip('"') for fields in found]

    edges: dict[tuple[str, str], tuple[str, str | None, bool]] = {}
    for fields in found:
        for name, kind, version, one_of in relations(fields, known):
            if name != fields["Package"]:
                edges.setdefault((fields["Package"], name), (kind, version, one_of))

    def texts(name: str) -> pa.Array:
        return pa.array([fields.get(name) for fields in found], pa.string())

    packages = {
        "name": texts("Package"),
        "version": texts("Version"),
        "section": texts("Section"),
        "priority": texts("Priority"),
        "installed_kb": pa.array([int(fields.get("Installed-Size", 0)) for fields in found], pa.int64()),
        "summary": texts("Description"),
    }
    depends = {
        "from": [source for source, _ in edges],
        "to": [target for _, target in edges],
        "kind": [kind for kind, _, _ in edges.values()],
        "version": [version for _, version, _ in edges.values()],
        "alternative": [one_of for _, _, one_of in edges.values()],
    }
    tables = {
        "packages": packages,
        "depends": depends,
        "maintainers": {"name": sorted(set(maintainers))},
        "maintains": {"from": maintainers, "to": texts("Package")},
    }
    for name, columns in tables.items():
        rows = pa.table(columns)
        target = HERE / f"{name}.parquet"
        pq.write_table(rows, target, compression="zstd", compression_level=19, row_group_size=1 << 20)
        print(f"{target.name}: {rows.num_rows:,} rows, {target.stat().st_size:,} bytes")
    said = dict(RELEASE.findall(release.read_text()))
    print(f"Debian {said['Version']} ({said['Codename']}), {said['Date']}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "bookworm")

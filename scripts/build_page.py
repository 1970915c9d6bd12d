"""Build the page of the server from `webui/`, with Node; the result is committed: nobody else needs it.

Beside the files lies the digest of what they were made from. The generated client is left out of it: the page
takes what it needs of that when it is built.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "webui"
PAGE = ROOT / "src" / "omnigraph" / "server" / "page" / "files"
DIGEST = PAGE / "sources.sha256"
_FILES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")


def source_files() -> list[Path]:
    """Return what the page is made from."""
    folders = (SOURCES / "src", SOURCES / "test", SOURCES / "public")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sorted([*found, *(SOURCES / name for name in _FILES)])


def digest_of_sources() -> str:
    """Return the digest of all sources with their names."""
    total = hashlib.sha256()
    for path in source_files():
        total.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def main() -> None:
    """Install what the lock file says, test, build, and note from what."""
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=SOURCES, check=True)
    subprocess.run(["npm", "test"], cwd=SOURCES, check=True)
    subprocess.run(["npm", "run", "build"], cwd=SOURCES, check=True)
    DIGEST.write_text(digest_of_sources() + "\n")


if __name__ == "__main__":
    main()

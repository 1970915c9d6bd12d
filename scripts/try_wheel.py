"""Install the wheel as a newcomer does, for each Python that is there, and follow the tutorial: `make wheel`.

Each environment is new and empty, and outside the repository. It is filled from the package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).parent / "uv"
VERSIONS = ("3.11", "3.12", "3.13")
sys.path.insert(0, str(ROOT / "tests"))

from support.followed_page import follow  # noqa: E402


def try_python(version: str, wheel: Path, folder: Path) -> str:
    """Return what became of one version: how much was installed, and which steps of the tutorial failed."""
    made = subprocess.run(
        [UV, "venv", "--quiet", "--no-python-downloads", "--python", version, folder / "env"],
        # Where pyenv manages the Pythons, its programs start only the one that it is asked for.
        env={**os.environ, "PYENV_VERSION": version},
        check=False,
    )
    if made.returncode:
        return "not here"
    python = folder / "env" / "bin" / "python"
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, wheel], check=True)
    size = sum(path.stat().st_size for path in (folder / "env").rglob("*") if path.is_file())
    (folder / "work").mkdir()
    steps = list(follow(ROOT / "docs" / "tutorial.md", folder / "work", python.parent))
    wrong = [step.block for step in steps if not step.holds]
    told = f"{size / 2**20:.0f} MiB installed, {len(steps)} steps of the tutorial, {len(wrong)} differ"
    return "\n".join([told, *wrong])


def main() -> int:
    """Build the wheel, try every version, and say what became of each."""
    told = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", folder], cwd=ROOT, check=True)
        (wheel,) = folder.glob("*.whl")
        for version in sys.argv[1:] or VERSIONS:
            place = folder / version
            place.mkdir()
            told[version] = try_python(version, wheel, place)
            sys.stdout.write(f"Python {version}: {told[version].strip()}\n")
            sys.stdout.flush()
            shutil.rmtree(place)
    return int(any(" 0 differ" not in each and each != "not here" for each in told.values()))


if __name__ == "__main__":
    sys.exit(main())

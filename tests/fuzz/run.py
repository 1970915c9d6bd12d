"""Fuzz one target, guided by coverage: `python tests/fuzz/run.py record -max_total_time=60`.

What follows the target's name goes to libFuzzer. With `--keep`, inputs that reach something new are kept in
`corpus/<target>`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["omnigraph"]):
    from fuzz.json_mutator import mutate_json
    from fuzz.targets import ALLOWED, CORPUS, TARGETS


def main() -> None:
    """Run libFuzzer on a target."""
    name, *options = sys.argv[1:]
    target = TARGETS[name]

    def read(data: bytes) -> None:
        with suppress(*ALLOWED):
            target.read(data)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        return mutate_json(data, max_size, seed, atheris.Mutate)

    with TemporaryDirectory() as folder:
        for number, seed in enumerate(target.seeds()):
            Path(folder, f"seed-{number}").write_bytes(seed)
        kept = CORPUS / name
        kept.mkdir(parents=True, exist_ok=True)
        keeps = "--keep" in options  # libFuzzer writes to the first folder that it is given
        folders = [str(kept), folder] if keeps else [folder, str(kept)]
        given = [sys.argv[0], *(item for item in options if item != "--keep"), *folders]
        if target.is_json:
            atheris.Setup(given, read, custom_mutator=mutate)
        else:
            atheris.Setup(given, read)
        atheris.Fuzz()


main()

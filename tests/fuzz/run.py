"""Fuzz targets, guided by coverage: `python tests/fuzz/run.py record,ref -max_total_time=60`.

They run one after another, each in a fork. What follows their names goes to libFuzzer. With `--keep`, inputs
that reach something new are kept in `corpus/<target>`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["omnigraph"]):
    from fuzz.json_mutator import mutate_json
    from fuzz.targets import ALLOWED, CORPUS, TARGETS


def main() -> None:
    """Run libFuzzer on each target that is named, until it finds something in one."""
    names, *options = sys.argv[1:]
    for name in names.split(","):
        child = os.fork()
        if child == 0:
            fuzz(name, options)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit(f"{name}: libFuzzer ended with {code}")


def fuzz(name: str, options: list[str]) -> NoReturn:
    """Run libFuzzer on a target; the process ends with it."""
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
    os._exit(1)  # libFuzzer has ended the process, with its own code


main()

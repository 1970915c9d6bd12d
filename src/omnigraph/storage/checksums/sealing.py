"""Sealing a staged table version: the sums of its files are stored, and its pin gets their digest."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.base.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.storage.checksums.checking import CheckedVersion, compared
from omnigraph.storage.checksums.sums import Sums, compute, keeps_sums, put_sums, read_sums, stored
from omnigraph.storage.format.table_folder import TableFolder
from omnigraph.storage.format.version_files import read_files
from omnigraph.storage.namespace import Pin, WriteAttempt


def seal(attempt: WriteAttempt, table_id: str) -> Pin:
    """Return the newest staged version of a table with the digest of its sums.

    Files of the version that the attempt began with are known by its sums. What is new is read, unless who
    wrote it has hashed it already.
    """
    pin, folder = attempt.staged_pins()[table_id], attempt.folder(table_id)
    if pin.sums or not keeps_sums(folder):
        return pin
    files = read_files(attempt.manifest(table_id, pin), folder.inside(pin.path))
    try:
        sums = compute(folder, files, _before(folder, attempt.pinned_table(table_id).pin))
        sealed = replace(pin, sums=put_sums(folder, pin, sums))
    except NotFound as error:
        raise HistoricalVersionReclaimed(
            f"files of a version of {table_id} that was being staged are gone: a cleanup has removed them",
            table=table_id,
        ) from error
    attempt.seal(table_id, sealed)
    compared.put(
        folder.address(pin.path), CheckedVersion()
    )  # new files are hashed, others were when it was opened
    return sealed


def _before(folder: TableFolder, pin: Pin | None) -> Sums:
    if pin is None or not pin.sums:
        return Sums()
    return stored.get(folder.address(pin.path)) or read_sums(folder, pin) or Sums()

"""Files that are read whole, up to a size."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.base.errors import NotFound, ResourceLimit, Unavailable
from omnigraph.storage.files.inputs import local_path
from omnigraph.storage.objects.s3 import open_s3

_S3 = "s3://"


def read_whole(address: str, largest: int) -> bytes:
    """Return the bytes of a file on disk or in a bucket; its size is asked for first."""
    if address.startswith(_S3):
        bucket, _, key = address.removeprefix(_S3).partition("/")
        store = open_s3(bucket, {})
        _check_size(address, store.size(key), largest)
        return store.get(key)
    path = Path(local_path(address))
    try:
        _check_size(address, os.stat(path).st_size, largest)
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise NotFound(f"there is no file {address}", path=address) from None
    except OSError as error:
        raise Unavailable(f"{address} cannot be read: {error.strerror}", path=address) from error


def _check_size(address: str, size: int, largest: int) -> None:
    if size > largest:
        raise ResourceLimit(
            f"{address} has {size} bytes, the limit is {largest}: raise OMNIGRAPH_BLOB_SOURCE_BYTES",
            resource="blob_source_bytes",
            limit=largest,
            actual=size,
        )

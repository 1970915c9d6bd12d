"""Lance namespaces with managed versioning: a table has exactly the versions that we hand out.

A *pin* is one table version: a Lance manifest at a path of our own, which nothing else knows. A
`SnapshotNamespace` opens tables at given pins and refuses to commit. A `WriteAttempt` does the same
and also collects the versions that Lance commits through it. Nobody sees those until their pins are
published; dropping the attempt drops them.

Lance asks a namespace by the names of its methods and takes dictionaries for answers. What it offers to
inherit from and to answer with is a generated REST client, whose import alone takes longer than a query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import NotFound, PolicyDenied, ReadOnly
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.storage.format.digests import digest_of
from omnigraph.storage.format.manifests import manifests
from omnigraph.storage.format.table_folder import TableFolder
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.options import StorageOptions
from omnigraph.storage.objects.read_file import read_file
from omnigraph.storage.objects.settings import S3Settings
from omnigraph.storage.restrictions.restriction import Restriction

PINS = "_pins"
"""The folder of a table that holds its pins."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one table: Lance's number, and the manifest's path inside the table's folder."""

    version: int
    path: str
    digest: str = ""
    """Of the manifest's bytes; empty when nobody has told it."""
    sums: str = ""
    """The digest of the sums of all files of the version; empty when there are none (`storage.sums`)."""


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """A table's folder below the root, and the version to open (None while it is being created)."""

    location: str
    pin: Pin | None


@dataclass(frozen=True, slots=True)
class Location:
    """Where a table lies; Lance asks for these fields by name, and for all of them at once."""

    location: str
    storage_options: dict[str, str] | None
    managed_versioning: bool = True

    def model_dump(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "location": self.location,
            "storage_options": self.storage_options,
            "managed_versioning": self.managed_versioning,
        }


class SnapshotNamespace:
    """A read-only view of tables at fixed pins, by table id; cheap to make, safe to pickle."""

    def __init__(
        self,
        root_uri: str,
        options: Mapping[str, str],
        tables: Mapping[str, PinnedTable],
        restrictions: Mapping[str, Restriction] | None = None,
    ) -> None:
        """Take the tables, and what of them is hidden from whoever reads through this view."""
        self._root_uri = root_uri.rstrip("/")
        self._options = StorageOptions(options)
        self._tables = dict(tables)
        self._restrictions = dict(restrictions or {})
        self._id = f"omnigraph-{new_ulid()}"
        self._reached: dict[str, str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reached": None}

    @property
    def is_restricted(self) -> bool:
        """Whether anything is hidden from whoever reads through this view."""
        return bool(self._restrictions)

    def restriction(self, table_id: str) -> Restriction | None:
        """Return what is hidden of a table; None when all of it may be seen."""
        return self._restrictions.get(table_id)

    def without_restrictions(self) -> SnapshotNamespace:
        """Return the view that hides nothing, to find out what is hidden."""
        return SnapshotNamespace(self._root_uri, self._options, self._tables)

    def sight(self, table_id: str) -> str:
        """Return what tells the rows that are seen of a table from what others see; empty for all rows.

        It names the versions of the tables whose hidden rows hide rows of this one.
        """
        restriction = self._restrictions.get(table_id)
        if restriction is None:
            return ""
        said = [restriction.rows.digest if restriction.rows else "", *sorted(restriction.hidden_columns)]
        for item in restriction.references:
            said += [item.column, item.table, self.pin_path(item.table)]
        return hashlib.sha256("\0".join(said).encode()).hexdigest()

    def namespace_id(self) -> str:
        """Return a name that is unique to this view."""
        return self._id

    @property
    def options(self) -> dict[str, str]:
        """Storage options for Lance."""
        if self._reached is None:
            # A view that has come from another process has no credentials: they are looked up here.
            is_remote = "://" in self._root_uri
            self._reached = S3Settings.resolve(self._options).lance_options() if is_remote else {}
        return dict(self._reached)

    def pinned_table(self, table_id: str) -> PinnedTable:
        """Return the version that this view has of a table."""
        return self._table(table_id)

    def pin_path(self, table_id: str) -> str:
        """Return the path, below the root, of the manifest that this view pins for a table.

        Where something is hidden, it says what: equal paths are tables with the same rows.
        """
        table = self._table(table_id)
        if table.pin is None:
            raise NotFound(f"table {table_id!r} has no version yet", table=table_id)
        sight = self.sight(table_id)
        return f"{table.location}/{table.pin.path}" + (f"?{sight}" if sight else "")

    def newest_pin(self, table_id: str) -> Pin | None:
        """Return the newest version that this view has of a table; None while it is being created."""
        return next(iter(self._versions(table_id)), None)

    def folder(self, table_id: str) -> TableFolder:
        """Return the files of a table."""
        return TableFolder(self._root_uri, self.options, self._table(table_id).location)

    def table_uri(self, table_id: str) -> str:
        """Return the address of a table's folder."""
        return f"{self._root_uri}/{self._table(table_id).location}"

    def refuse_restricted(self) -> None:
        """Refuse to tell anybody where tables lie of which something is hidden: the files have all of it."""
        if self.is_restricted:
            raise PolicyDenied(
                "the policy has rules about data for this actor: tables cannot be read as a whole; query or "
                "export the graph instead"
            )

    def describe_table(self, request: Any) -> Location:
        """Tell Lance where the table lies and that its versions are ours."""
        self.refuse_restricted()
        return Location(self.table_uri(_table_id(request)), self.options or None)

    def list_table_versions(self, request: Any) -> Any:
        """List the versions of a table, newest first."""
        self.refuse_restricted()
        table_id = _table_id(request)
        return {
            "versions": [
                {"version": pin.version, "manifest_path": self._lance_path(table_id, pin.path)}
                for pin in self._versions(table_id)
            ]
        }

    def describe_table_version(self, request: Any) -> Any:
        """Return one version of a table."""
        self.refuse_restricted()
        table_id = _table_id(request)
        for pin in self._versions(table_id):
            if pin.version == request["version"]:
                return _version_answer(pin.version, self._lance_path(table_id, pin.path))
        from lance_namespace.errors import TableVersionNotFoundError

        raise TableVersionNotFoundError(str(request["version"]))

    def list_tables(self, request: Any) -> Any:
        """List the ids of all tables in this view."""
        return {"tables": sorted(self._tables)}

    def create_table_version(self, request: Any) -> Any:
        """Refuse: a snapshot never changes."""
        raise ReadOnly("this is a snapshot: write through the graph instead", table=_table_id(request))

    def _table(self, table_id: str) -> PinnedTable:
        try:
            return self._tables[table_id]
        except KeyError:
            raise NotFound(f"there is no table {table_id!r} in this snapshot", table=table_id) from None

    def _versions(self, table_id: str) -> list[Pin]:
        pin = self._table(table_id).pin
        return [pin] if pin else []

    def _lance_path(self, table_id: str, path: str) -> str:
        return f"{_store_path(self.table_uri(table_id))}/{path}"


class WriteAttempt(SnapshotNamespace):
    """The private view of one attempt to write: pinned versions, plus those staged on top of them."""

    def __init__(self, store: ObjectStore, tables: Mapping[str, PinnedTable]) -> None:
        super().__init__(store.root_uri, store.lance_options(), tables)
        self._store = store
        self._staged: dict[str, dict[int, Pin]] = {}
        self._manifests: dict[str, bytes] = {}

    def declare_table(self, request: Any) -> Any:
        """Tell Lance where the table that it is about to create will lie."""
        return self.describe_table(request)

    def create_table_version(self, request: Any) -> Any:
        """Take a manifest that Lance has staged: move it to a path of its own and remember the pin."""
        table_id = _table_id(request)
        location = self._table(table_id).location
        staged = request["manifest_path"].rsplit("/", 1)[1]
        # The pin must keep Lance's own file name; the staging suffix is unique and makes the folder.
        name, unique = staged.split("-", 1)
        path = f"{PINS}/{unique}/{name}"
        hit(Failpoint.TABLE_BEFORE_PIN)
        data = self._move(f"{location}/_versions/{staged}", f"{location}/{path}")
        pin = Pin(request["version"], path, digest_of(data))
        manifests.put(self.folder(table_id), path, data)
        self._manifests[path] = data
        hit(Failpoint.TABLE_AFTER_PIN)
        # Compaction commits a reservation and then its rewrite under the same number: the last one counts.
        self._staged.setdefault(table_id, {})[pin.version] = pin
        return _version_answer(
            pin.version, self._lance_path(table_id, pin.path), request.get("manifest_size")
        )

    def _move(self, source: str, target: str) -> bytes:
        """Move a manifest and return its bytes, which the next open then needs not to ask for."""
        if self._store.is_local:
            self._store.move(source, target)
            return read_file(f"{self._root_uri}/{target}")
        data = self._store.get(source)
        self._store.put(target, data)
        self._store.delete(source)
        return data

    def manifest(self, table_id: str, pin: Pin) -> bytes:
        """Return the manifest of a version that was staged here or in an attempt before."""
        return self._manifests.get(pin.path) or manifests.get(self.folder(table_id), pin.path, pin.digest)

    def seal(self, table_id: str, pin: Pin) -> None:
        """Put the digest of its sums on the newest staged version."""
        self._staged[table_id][pin.version] = pin

    def staged_pins(self) -> dict[str, Pin]:
        """Return the newest staged pin of every table that this attempt has changed."""
        return {table_id: pins[max(pins)] for table_id, pins in self._staged.items() if pins}

    def newest(self) -> dict[str, PinnedTable]:
        """Return every table with its newest version, staged or stored."""
        staged = self.staged_pins()
        return {
            table_id: PinnedTable(table.location, staged.get(table_id, table.pin))
            for table_id, table in self._tables.items()
        }

    def declare(self, table_id: str, location: str) -> None:
        """Make room for a table that this attempt is about to create."""
        self._tables[table_id] = PinnedTable(location, None)

    def repin(self, tables: Mapping[str, PinnedTable]) -> None:
        """Forget all that is staged and start again from other pins."""
        self._tables = dict(tables)
        self._staged.clear()
        self._manifests.clear()

    def savepoint(self, table_id: str) -> dict[int, Pin]:
        """Return what is staged for a table, for `rollback`."""
        return dict(self._staged.get(table_id, {}))

    def rollback(self, table_id: str, savepoint: Mapping[int, Pin]) -> None:
        """Forget what was staged for a table since `savepoint`."""
        self._staged[table_id] = dict(savepoint)

    def _versions(self, table_id: str) -> list[Pin]:
        pins = {pin.version: pin for pin in super()._versions(table_id)}
        pins.update(self._staged.get(table_id, {}))
        return [pins[number] for number in sorted(pins, reverse=True)]


def _table_id(request: Any) -> str:
    names = request["id"] if isinstance(request, dict) else request.id
    return str(names[0])


def _version_answer(version: int, path: str, size: int | None = None) -> dict[str, Any]:
    return {"version": {"version": version, "manifest_path": path, "manifest_size": size}}


def _store_path(uri: str) -> str:
    """Return the path as Lance's object store counts it: inside the bucket, or without the leading slash."""
    if "://" in uri:
        return uri.split("://", 1)[1].partition("/")[2]
    return uri.lstrip("/")

"""One store for small control files, on local disk, in memory or in S3; tables live elsewhere."""

from omnigraph.storage.objects.opening import open_store
from omnigraph.storage.objects.store import ObjectInfo, ObjectStore, Versioned

__all__ = ["ObjectInfo", "ObjectStore", "Versioned", "open_store"]

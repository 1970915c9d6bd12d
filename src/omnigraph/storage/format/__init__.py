"""Lance's own files as bytes: manifests, the files they name, their digests."""

"""The manifest: chains of immutable commit records, branch refs, the format stamp, stored schemas."""

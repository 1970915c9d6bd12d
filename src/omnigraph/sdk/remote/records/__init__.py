"""Records that go to a served graph and come from it."""

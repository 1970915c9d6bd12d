"""The one publisher: nothing becomes visible except through `publish`."""

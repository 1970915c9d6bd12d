"""The same engine over HTTP: routes are one thin layer over the SDK."""

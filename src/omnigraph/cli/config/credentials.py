"""The tokens of servers: a file that only its owner may read, and where tokens are looked for."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from omnigraph.base.errors import BadInput, Unavailable
from omnigraph.cli.config.home import find_home, make_home
from omnigraph.storage.files.shared_files import hold_lock, replace_file

FILE_NAME = "credentials"
TOKEN_FOR_ANY = "OMNIGRAPH_BEARER_TOKEN"
_TOKEN_OF = "OMNIGRAPH_TOKEN_"
_OTHERS_MAY = 0o077
_DEFAULT_PORTS = {"http": 80, "https": 443}


def variable_of(server: str) -> str:
    """Return the environment variable that holds the token of a server."""
    return _TOKEN_OF + "".join(letter if letter.isalnum() else "_" for letter in server).upper()


def find_token(url: str, servers: Mapping[str, str]) -> str | None:
    """Return the token for an address, or None.

    A token that is kept for a server goes to addresses below that server's and nowhere else.
    """
    name = server_of(url, servers)
    if name is not None:
        found = os.environ.get(variable_of(name)) or read_credentials().get(name)
        if found:
            return check_token(found)
    found = os.environ.get(TOKEN_FOR_ANY)
    return check_token(found) if found else None


def server_of(url: str, servers: Mapping[str, str]) -> str | None:
    """Return the name of the server that an address belongs to: the longest that is a folder above it."""
    origin, path = _split(url)
    best: tuple[int, str] | None = None
    for name, address in servers.items():
        known, folder = _split(address)
        if known == origin and (path == folder or path.startswith(folder + "/")):
            best = max(best or (-1, ""), (len(folder), name))
    return best[1] if best is not None else None


def _split(url: str) -> tuple[tuple[str, str, int | None], str]:
    """Return who answers at an address, and the path there without a slash at its end."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError as error:
        raise BadInput(f"{url!r} is not the address of a server: {error}") from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None:
        raise BadInput(f"{url!r} is not the address of a server: use http://host or https://host")
    path = parts.path.rstrip("/")
    if any(unquote(part) in (".", "..") for part in path.split("/")):
        raise BadInput(f"{url!r} has steps such as '..': write the address without them")
    return (parts.scheme, parts.hostname, port), path


def check_token(token: str) -> str:
    """Return a token as it may stand in a header, or refuse it without showing it."""
    found = token.strip()
    if not found or not all("!" <= letter <= "~" for letter in found):
        raise BadInput("a token is one word of ASCII characters: this is not one")
    return found


def read_credentials() -> dict[str, str]:
    """Return the tokens by server; a file that others may read is refused."""
    path = find_home() / FILE_NAME
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}", path=str(path)) from None
    if mode & _OTHERS_MAY:
        raise BadInput(
            f"{path} holds tokens and others may use it (mode {mode & 0o777:03o}): chmod 600 {path}",
            path=str(path),
        )
    parser = _parser()
    try:
        parser.read_string(text)
    except ConfigError as error:
        line = getattr(error, "lineno", None) or next(iter(getattr(error, "errors", [])), (None,))[0]
        where = f", line {line}" if line else ""
        raise BadInput(f"{path}{where}: it must have [NAME] and below it token = …", path=str(path)) from None
    return {name: parser[name]["token"] for name in parser.sections() if parser[name].get("token")}


def keep_token(server: str, token: str) -> Path:
    """Store the token of a server in place of an earlier one, and return the file."""
    with _change_tokens() as tokens:
        tokens[server] = check_token(token)
    return find_home() / FILE_NAME


def drop_token(server: str) -> bool:
    """Remove the token of a server, and return whether there was one."""
    with _change_tokens() as tokens:
        return tokens.pop(server, None) is not None


@contextmanager
def _change_tokens() -> Iterator[dict[str, str]]:
    """Yield the tokens and store them as they are left; one process at a time."""
    home = make_home()
    with hold_lock(home):
        before = read_credentials()
        tokens = dict(before)
        yield tokens
        if tokens != before:
            _write(home / FILE_NAME, tokens)


def _write(path: Path, tokens: Mapping[str, str]) -> None:
    parser, text = _parser(), io.StringIO()
    parser.read_dict({name: {"token": token} for name, token in sorted(tokens.items())})
    parser.write(text)
    try:
        replace_file(path, text.getvalue().encode())
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from error


def _parser() -> ConfigParser:
    # No section of defaults: a server may be called so.
    return ConfigParser(interpolation=None, default_section="\n", delimiters=("=",), comment_prefixes=("#",))

"""Sending one event: the address is looked up and judged first, the body is signed, nothing is followed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from omnigraph.base import clock
from omnigraph.server.webhooks.config import Webhook

_WITH_AN_IPV4_WITHIN = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
_LOCAL_TRANSLATION = ipaddress.IPv6Network("64:ff9b:1::/48")
ANSWER_SECONDS = 10.0
"""How long an answer is waited for."""


class Undelivered(Exception):
    """An event was not taken; it is sent again later."""


def deliver(hook: Webhook, id: str, event: Mapping[str, Any]) -> None:
    """Send an event, once; raise `Undelivered` unless it was taken (a status of 2xx)."""
    body = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    at = str(clock.current().now_us() // 1_000_000)
    address = find_address(hook)
    parts = urlsplit(hook.url)
    host = f"[{address}]" if ":" in address else address
    headers = {
        "host": parts.netloc,
        "content-type": "application/json",
        "user-agent": "omnigraph",
        "webhook-id": id,
        "webhook-timestamp": at,
        "webhook-signature": sign(hook.secret, id, at, body),
    }
    # The address that was judged is the one that is called, whatever the name means by then.
    url = urlunsplit((parts.scheme, f"{host}:{hook.port}", parts.path or "/", parts.query, ""))
    try:
        with httpx.Client(trust_env=False, follow_redirects=False, timeout=ANSWER_SECONDS) as client:
            request = client.build_request(
                "POST", url, content=body, headers=headers, extensions={"sni_hostname": hook.host}
            )
            answer = client.send(request, stream=True)  # what it says is not read
            status = answer.status_code
            answer.close()
    except (httpx.HTTPError, OSError) as error:
        raise Undelivered(f"{type(error).__name__}: {error}") from None
    if not 200 <= status < 300:
        raise Undelivered(f"status {status}")


def sign(secret: bytes, id: str, at: str, body: bytes) -> str:
    """Return the signature of a body, as Standard Webhooks have it."""
    made = hmac.new(secret, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(made).decode()}"


def find_address(hook: Webhook) -> str:
    """Return the address of a host, which must be a public one unless the file says otherwise."""
    try:
        found = socket.getaddrinfo(hook.host, hook.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Undelivered(f"the host {hook.host!r} was not found: {error}") from None
    addresses = [str(item[4][0]) for item in found]
    if not hook.allowed.private:
        for address in addresses:
            if not is_public(address):
                raise Undelivered(
                    f"{hook.host!r} is {address}, which is not a public address: "
                    "say `private: true` in `allow`"
                )
    return addresses[0]


def is_public(address: str) -> bool:
    """Return whether an address is one of the public internet, and so is the one that it may stand for."""
    read = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(read, ipaddress.IPv6Address):
        inner = read.ipv4_mapped or read.sixtofour
        if inner is None and any(read in net for net in _WITH_AN_IPV4_WITHIN):
            inner = ipaddress.IPv4Address(int(read) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if read.is_site_local or read in _LOCAL_TRANSLATION:
            return False
    return read.is_global and not read.is_multicast

"""The agents of the demo: each is a client of MCP with an `omnigraph mcp` of its own, as an assistant has."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

_PROGRAM = "from omnigraph.cli.main import run; run()"
_CHESS = 'section = "games" and summary contains "chess"'
_TASKS = {
    "agent-a": {
        "games of chess are kept": f'query q() {{ update Package set {{ note: "keep" }} where {_CHESS} }}',
        "3dchess goes": 'query q() { delete Package where name = "3dchess" }',
    },
    "agent-b": {
        "dreamchess needs OpenGL": (
            'query q() { update Package set { note: "needs OpenGL" } where name = "dreamchess" }'
        ),
        "brutalchess goes": 'query q() { delete Package where name = "brutalchess" }',
    },
}
"""What each agent does, by the message of the commit."""


def let_agents_propose(root: Path) -> dict[str, dict[str, Any]]:
    """Let both agents work at the same time; return what each has proposed."""

    async def both() -> dict[str, dict[str, Any]]:
        done = await asyncio.gather(*(_work(root, name) for name in _TASKS))
        return dict(zip(_TASKS, done, strict=True))

    return asyncio.run(both())


async def _work(root: Path, name: str) -> dict[str, Any]:
    command = ["-c", _PROGRAM, "mcp", str(root), "--as", name, "--metadata", "on_behalf_of=ada"]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
        await _call(client, "create_branch", name=name)
        for message, query in _TASKS[name].items():
            await _call(client, "mutate", query=query, branch=name, message=message, idempotency_key=message)
        proposed = await _call(client, "propose", source=name, title=", ".join(_TASKS[name]))
        return dict(proposed["proposal"])


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    done: Any = await client.call_tool(tool, arguments)
    if done.is_error:
        raise SystemExit(f"{tool}: {done.structured_content}")
    return dict(done.structured_content)

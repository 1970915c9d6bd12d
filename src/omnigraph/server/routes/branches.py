"""Branches and tags."""

from __future__ import annotations

from typing import Any

from omnigraph.graph.manifest.refs import MAIN
from omnigraph.server.bodies import (
    BranchBody,
    MergeBody,
    ProtectionBody,
    RebaseBody,
    RenameBody,
    ResetBody,
    TagBody,
)
from omnigraph.server.calls import GraphDep, HeadDep, WriteDep
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.paging import PageDep
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["branches"])


@router.get("/branches")
def list_branches(call: GraphDep, page: PageDep) -> dict[str, Any]:
    """Return the names of branches: main first, then by name."""
    names = call.open().branches.list()
    return page.cut("branches", names, lambda name: (name != MAIN, name))


@router.post("/branches", status_code=201)
def create_branch(call: GraphDep, body: BranchBody) -> dict[str, Any]:
    """Make a branch."""
    graph = call.open()
    graph.branches.create(body.name, body.from_branch, commit=body.commit, tag=body.tag, version=body.version)
    found: dict[str, Any] = encode(graph.branches.info(body.name))
    return found


@router.post("/branches/merge")
def merge_branch(call: GraphDep, headers: WriteDep, body: MergeBody) -> dict[str, Any]:
    """Bring what a branch has done into another, as one commit."""
    given = body.model_dump(exclude={"source", "target"})
    done = call.open(headers=headers).branches.merge(body.source, body.target, **given)
    found: dict[str, Any] = encode(done)
    return found


@router.get("/branches/{name:path}/info")
def describe_branch(call: GraphDep, name: str, compared_with: str = "main") -> dict[str, Any]:
    """Return where a branch stands: ahead, behind, last writer."""
    found: dict[str, Any] = encode(call.open().branches.info(name, compared_with))
    return found


@router.post("/branches/{name:path}/rename")
def rename_branch(call: GraphDep, name: str, body: RenameBody, if_commit: HeadDep) -> dict[str, Any]:
    """Give a branch another name."""
    call.open().branches.rename(name, body.name, if_commit=if_commit)
    return {"name": body.name}


@router.post("/branches/{name:path}/reset")
def reset_branch(call: GraphDep, headers: WriteDep, name: str, body: ResetBody) -> dict[str, Any]:
    """Give a branch the content and schema of a commit, as a new commit."""
    given = body.model_dump(exclude={"commit"})
    done = call.open(headers=headers).branches.reset(name, body.commit, **given)
    found: dict[str, Any] = encode(done)
    return found


@router.post("/branches/{name:path}/rebase")
def rebase_branch(call: GraphDep, name: str, body: RebaseBody, if_commit: HeadDep) -> dict[str, Any]:
    """Make the commits of a branch again on top of another's head."""
    done = call.open().branches.rebase(name, **body.model_dump(), if_commit=if_commit)
    found: dict[str, Any] = encode(done)
    return found


@router.put("/branches/{name:path}/protection", status_code=204)
def protect_branch(call: GraphDep, name: str, body: ProtectionBody) -> None:
    """Let nothing but proposals change a branch."""
    call.open().branches.protect(name, **body.model_dump())


@router.delete("/branches/{name:path}/protection", status_code=204)
def unprotect_branch(call: GraphDep, name: str) -> None:
    """Let writers change a branch directly again."""
    call.open().branches.unprotect(name)


@router.post("/branches/{name:path}/restore")
def restore_branch(call: GraphDep, name: str, if_commit: HeadDep) -> dict[str, Any]:
    """Bring a deleted branch back; the condition is about the commit that was its last."""
    graph = call.open()
    graph.branches.restore(name, if_commit=if_commit)
    found: dict[str, Any] = encode(graph.branches.info(name))
    return found


@router.delete("/branches/{name:path}", status_code=204)
def delete_branch(call: GraphDep, name: str, if_commit: HeadDep) -> None:
    """Delete a branch."""
    call.open().branches.delete(name, if_commit=if_commit)


@router.get("/tags")
def list_tags(call: GraphDep, page: PageDep) -> dict[str, Any]:
    """Return tags, by name."""
    return page.cut("tags", encode(call.open().tags.list()), lambda tag: (tag["name"],))


@router.post("/tags", status_code=201)
def create_tag(call: GraphDep, body: TagBody) -> dict[str, Any]:
    """Name a commit."""
    found: dict[str, Any] = encode(call.open().tags.create(body.name, body.commit, body.branch))
    return found


@router.delete("/tags/{name:path}", status_code=204)
def delete_tag(call: GraphDep, name: str, if_commit: HeadDep) -> None:
    """Remove a name; the condition is about the commit that it names."""
    call.open().tags.delete(name, if_commit=if_commit)

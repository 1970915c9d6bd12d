"""Fences: a write whose files a cleanup may have taken for leftovers is stopped before it is published.

Before cleanup removes any file it puts a record with a higher fence number onto every live branch, and only
then looks for the last time at what must be kept. A write that is published without meeting the fence is seen
by that look. One that meets it knows, from its own age alone, whether its files were spared; clocks of
different machines are never compared.
"""

from __future__ import annotations

from omnigraph.base.errors import Contention
from omnigraph.graph.manifest.lineage import Past
from omnigraph.graph.manifest.record import Fence
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.publish.plan import PublishPlan, Staging


def may_be_swept(truth: Truth, plan: PublishPlan, fence: Fence) -> bool:
    """Say whether a plan that meets this fence may have lost files."""
    if fence.count <= plan.staging.fence:
        return False
    if (plan.writes or plan.schema) and not is_spared(plan.staging, fence):
        return True
    past = Past(truth.chains)
    return not all(past.holds(source) for source in plan.sources)


def is_spared(staging: Staging, fence: Fence) -> bool:
    """Say whether files of this staging were too young for the cleanups up to a fence."""
    passed = fence.count - staging.fence
    return passed <= 0 or (passed == 1 and staging.age < fence.grace)


def swept(branch: str) -> Contention:
    """Return the error for a write that has to be made again."""
    return Contention(
        f"a cleanup came between this write of branch {branch!r} and its commit and may have removed files "
        "that it had staged: try again (OMNIGRAPH_CLEANUP_GRACE_SECONDS says how long such files are safe)",
        branch=branch,
    )

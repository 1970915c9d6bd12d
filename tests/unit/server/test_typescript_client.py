"""The TypeScript client is what its script makes of the description of today."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "typescript_client.py"


def test_the_committed_client_is_current() -> None:
    made = runpy.run_path(str(SCRIPT))
    text = made["write_client"]()
    assert made["TARGET"].read_text(encoding="utf-8") == text, "run scripts/typescript_client.py"
    assert (
        "async createBranch(given: { graph: string; idempotencyKey?: string | null; "
        "omnigraphHandle?: string | null; body: BranchBody }" in text
    )
    assert "export type QueryBody = {" in text
    assert "options: CallOptions = {}): Promise<BranchInfo> {" in text
    assert "  head: string;" in text.partition("export type BranchInfo = {")[2].partition("}")[0]
    assert "async showHealth(given: Record<string, never> = {}," in text
    assert "async listGraphs(given: { limit?: number | null; pageToken?: string | null } = {}," in text

"""The page in the package is what its sources make, and small."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import build_page  # noqa: E402

_MOST_BYTES = 300_000
"""What the whole page may take, compressed."""


def test_the_page_says_from_which_sources_it_was_built() -> None:
    assert build_page.DIGEST.read_text().strip() == build_page.digest_of_sources(), "run `make page`"


def test_the_whole_page_takes_at_most_300_kilobytes_compressed() -> None:
    files = [path for path in build_page.PAGE.rglob("*") if path.is_file()]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= _MOST_BYTES


def test_the_page_names_no_other_host() -> None:
    page = (build_page.PAGE / "index.html").read_text()
    assert "://" not in page
    assert "<script>" not in page
    assert "<style" not in page
    assert "style=" not in page

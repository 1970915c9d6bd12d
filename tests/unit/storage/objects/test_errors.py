"""Foreign exceptions become ours through one table, and the message says what, which and what next."""

from __future__ import annotations

import errno
import os

import pytest
from obstore import exceptions as foreign

from omnigraph.base import errors as ours
from omnigraph.storage.objects.errors import RULES, Failure, translate

S3 = "s3://pictures/graphs"
DISK = "/data/graph"


def refused(code: str) -> str:
    return f"status code: 403 Forbidden: <Error><Code>{code}</Code></Error>\n\nDebug source:\nlong"


def system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


CASES = [
    (FileNotFoundError("<Code>NoSuchKey</Code>"), S3, False, ours.NotFound, "no object 'a/b'"),
    (FileNotFoundError("<Code>NoSuchBucket</Code>"), S3, False, ours.StorageMissing, "mb s3://pictures`"),
    (foreign.GenericError("<Code>NoSuchBucket</Code>"), S3, True, ours.StorageMissing, "'pictures'"),
    (foreign.AlreadyExistsError("x"), S3, True, ours.AlreadyExists, "'a/b' exists"),
    (foreign.PreconditionError("x"), S3, True, ours.PreconditionFailed, "read it again"),
    (
        foreign.PermissionDeniedError(refused("AccessDenied")),
        S3,
        True,
        ours.ReadOnly,
        "grant .* write access",
    ),
    (foreign.PermissionDeniedError(refused("AccessDenied")), S3, False, ours.AccessDenied, "read access"),
    (
        foreign.PermissionDeniedError(refused("ExpiredToken")),
        S3,
        True,
        ours.AccessDenied,
        "AWS_SESSION_TOKEN",
    ),
    (foreign.UnauthenticatedError("x"), S3, False, ours.AccessDenied, "refused the credentials"),
    (foreign.GenericError("<Code>PermanentRedirect</Code>"), S3, False, ours.AccessDenied, "AWS_REGION"),
    (foreign.GenericError("HTTP error: connection refused"), S3, False, ours.Unavailable, "reachable"),
    (foreign.UnknownConfigurationKeyError("'x'"), S3, False, ours.BadInput, "not known"),
    (foreign.GenericError("Generic Config error: 'x'"), S3, False, ours.BadInput, "cannot be read"),
    (foreign.InvalidPathError("x"), S3, True, ours.InvalidName, "'a/b' cannot be the path"),
    (ValueError("x"), S3, True, ours.Unavailable, "x"),
    (system(errno.ENOENT), DISK, False, ours.NotFound, "no object 'a/b'"),
    (system(errno.EEXIST), DISK, True, ours.AlreadyExists, "exists"),
    (system(errno.EROFS), DISK, True, ours.ReadOnly, "read-only file system: mount it writable"),
    (system(errno.EACCES), DISK, True, ours.ReadOnly, "write access"),
    (system(errno.EPERM), DISK, True, ours.ReadOnly, "write access"),
    (system(errno.EACCES), DISK, False, ours.AccessDenied, "read access"),
    (system(errno.ENOSPC), DISK, True, ours.Unavailable, "no space"),
    (system(errno.EDQUOT), DISK, True, ours.Unavailable, "quota"),
    (system(errno.EIO), DISK, False, ours.Unavailable, "Input/output"),
    (system(errno.ENAMETOOLONG), DISK, True, ours.InvalidName, "too long"),
    (system(errno.ENOTDIR), DISK, True, ours.AlreadyExists, "part of it"),
    (system(errno.ENOTDIR), "/dev/null", True, ours.AlreadyExists, "not a folder"),
    (system(errno.ENOTDIR), DISK, False, ours.NotFound, "no object"),
    (system(errno.ENOENT), "/proc/nope", True, ours.StorageMissing, "cannot be made"),
    (OSError(errno.EPERM, "no", "x", None, "y"), DISK, True, ours.ReadOnly, "hard links"),
]


@pytest.mark.parametrize(("error", "root", "writing", "kind", "says"), CASES)
def test_each_foreign_exception_becomes_one_of_ours(
    error: Exception, root: str, writing: bool, kind: type[ours.OmniError], says: str
) -> None:
    translated = translate(error, root, "a/b", writing=writing)
    assert type(translated) is kind
    assert (translated.root, translated.path) == (root, "a/b")
    with pytest.raises(kind, match=says):
        raise translated


def test_every_rule_is_reached_by_a_case() -> None:
    failures = [Failure(error, root, "a/b", writing) for error, root, writing, *_ in CASES]
    reached = {next(rule for rule in RULES if rule.matches(failure)) for failure in failures}
    assert reached == set(RULES)


def test_a_path_named_like_an_error_is_not_taken_for_one() -> None:
    error = OSError(errno.EACCES, "Permission denied", "/data/graph/NoSuchBucket/credentials")
    assert type(translate(error, DISK, "NoSuchBucket/credentials", writing=True)) is ours.ReadOnly


def test_the_debug_dump_of_obstore_is_left_out() -> None:
    translated = translate(foreign.PermissionDeniedError(refused("AccessDenied")), S3, "a/b", writing=True)
    assert "Debug source" not in translated.message

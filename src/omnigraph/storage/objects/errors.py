"""The border at which exceptions of obstore and the operating system become ours."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
    UnknownConfigurationKeyError,
)

from omnigraph.base.errors import (
    AccessDenied,
    AlreadyExists,
    BadInput,
    InvalidName,
    NotFound,
    OmniError,
    PreconditionFailed,
    ReadOnly,
    StorageMissing,
    Unavailable,
)

FOREIGN = (BaseError, OSError, NotImplementedError, ValueError)
"""Everything that obstore and the operating system raise."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A foreign exception and what was being done when it came."""

    error: Exception
    root: str
    path: str
    writing: bool

    @property
    def text(self) -> str:
        """What the exception says, without obstore's debug dump."""
        return str(self.error).split("\n\nDebug source:")[0]

    @property
    def bucket(self) -> str:
        """The bucket of an S3 root."""
        return self.root.removeprefix("s3://").split("/")[0]

    @property
    def file(self) -> str | None:
        """The file that stands where the root, or a folder above it, should be."""
        place = self.root
        while place.startswith("/") and not os.path.isdir(place):
            if os.path.exists(place):
                return place
            place = os.path.dirname(place)
        return None

    @property
    def is_root_missing(self) -> bool:
        """Whether there is no folder at a local root."""
        return self.root.startswith("/") and not os.path.isdir(self.root)

    def number(self, *numbers: int) -> bool:
        """Return whether it is an operating-system error with one of these numbers."""
        return isinstance(self.error, OSError) and self.error.errno in numbers

    def says(self, pattern: str) -> bool:
        """Return whether the exception's text matches a pattern."""
        return re.search(pattern, self.text) is not None


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """Which failures become which error; the first rule that matches decides."""

    matches: Callable[[Failure], bool]
    becomes: type[OmniError]
    message: str


_BAD_CREDENTIALS = (
    r"<Code>(InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|TokenRefreshRequired|"
    r"RequestTimeTooSkewed)</Code>|metadata endpoint|latest/api/token|latest/meta-data"
)

RULES: tuple[ErrorRule, ...] = (
    ErrorRule(
        lambda f: f.says("<Code>NoSuchBucket</Code>"),
        StorageMissing,
        "the bucket {bucket!r} does not exist: create it (for example with `aws s3 mb s3://{bucket}`) "
        "or correct the URI",
    ),
    ErrorRule(
        lambda f: isinstance(f.error, UnknownConfigurationKeyError),
        BadInput,
        "a storage option of {root} is not known: {text}",
    ),
    ErrorRule(
        lambda f: isinstance(f.error, BaseError) and f.says(r"\AGeneric Config error"),
        BadInput,
        "a storage option of {root} cannot be read: {text}",
    ),
    ErrorRule(
        lambda f: isinstance(f.error, InvalidPathError) or f.number(errno.ENAMETOOLONG, errno.EILSEQ),
        InvalidName,
        "{path!r} cannot be the path of an object: {text}",
    ),
    ErrorRule(
        lambda f: f.writing and f.number(errno.ENOTDIR, errno.EEXIST) and f.file is not None,
        AlreadyExists,
        "{root} cannot be written: {file} is a file, not a folder; choose another address",
    ),
    ErrorRule(
        lambda f: f.writing and f.number(errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY),
        AlreadyExists,
        "{path!r} cannot be written under {root}: a folder has this path, or an object has a part of it",
    ),
    ErrorRule(
        lambda f: f.writing and f.number(errno.ENOENT) and f.is_root_missing,
        StorageMissing,
        "the folder {root} does not exist and cannot be made: choose another address ({text})",
    ),
    ErrorRule(
        lambda f: (
            isinstance(f.error, FileNotFoundError) or f.number(errno.ENOENT, errno.ENOTDIR, errno.EISDIR)
        ),
        NotFound,
        "there is no object {path!r} under {root}",
    ),
    ErrorRule(
        lambda f: isinstance(f.error, AlreadyExistsError) or f.number(errno.EEXIST),
        AlreadyExists,
        "the object {path!r} exists under {root}",
    ),
    ErrorRule(
        lambda f: isinstance(f.error, PreconditionError),
        PreconditionFailed,
        "the object {path!r} under {root} has changed since it was read: read it again",
    ),
    ErrorRule(
        lambda f: f.number(errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        Unavailable,
        "no space to write {path!r} under {root}: free some, or raise the quota or the file-size limit, "
        "and try again ({text})",
    ),
    ErrorRule(
        lambda f: (
            f.number(errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
            or (f.number(errno.EPERM) and f.says(" -> "))
        ),
        ReadOnly,
        "the file system of {root} refuses hard links, which OmniGraph needs to create a file exactly once: "
        "use a disk that has them ({text})",
    ),
    ErrorRule(
        lambda f: f.number(errno.EROFS),
        ReadOnly,
        "{root} is on a read-only file system: mount it writable, or open the graph read-only ({text})",
    ),
    ErrorRule(
        lambda f: f.says(_BAD_CREDENTIALS) or isinstance(f.error, UnauthenticatedError),
        AccessDenied,
        "{root} refused the credentials: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        "AWS_SESSION_TOKEN, or the options of the same names ({text})",
    ),
    ErrorRule(
        lambda f: f.says("<Code>(PermanentRedirect|AuthorizationHeaderMalformed)</Code>"),
        AccessDenied,
        "{root} is in another region: set AWS_REGION to the region of the bucket ({text})",
    ),
    ErrorRule(
        lambda f: (
            f.writing and (isinstance(f.error, PermissionDeniedError) or f.number(errno.EACCES, errno.EPERM))
        ),
        ReadOnly,
        "writing {path!r} under {root} is not allowed: grant this user write access, or open the graph "
        "read-only ({text})",
    ),
    ErrorRule(
        lambda f: isinstance(f.error, PermissionDeniedError) or f.number(errno.EACCES, errno.EPERM),
        AccessDenied,
        "reading {path!r} under {root} is not allowed: check the credentials and grant read access ({text})",
    ),
    ErrorRule(
        lambda f: True,
        Unavailable,
        "storage at {root} did not answer a request for {path!r}: check that it is up and reachable, "
        "and try again ({text})",
    ),
)


def translate(error: Exception, root: str, path: str, *, writing: bool = False) -> OmniError:
    """Return our error for a foreign exception."""
    failure = Failure(error, root, path, writing)
    rule = next(rule for rule in RULES if rule.matches(failure))
    message = rule.message.format(
        root=root, path=path, bucket=failure.bucket, text=failure.text, file=failure.file
    )
    return rule.becomes(message, path=path, root=root)

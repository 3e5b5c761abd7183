"""Disks that cannot be written, or are full: real ones, in a mount namespace that ends with its process."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

_READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
_SMALL = 'mount -t tmpfs -o "size=$2" tmpfs "$1"'


def read_only_disk(path: Path) -> list[str]:
    """A command that runs the rest of its arguments where `path` is on a read-only disk."""
    return _mounted(_READ_ONLY, str(path), "")


def small_disk(path: Path, size: str) -> list[str]:
    """A command that runs the rest of its arguments where `path` is an empty disk of that size."""
    return _mounted(_SMALL, str(path), size)


def _mounted(mount: str, path: str, size: str) -> list[str]:
    return [*_namespace(), "sh", "-c", f'{mount} && shift 2 && exec "$@"', "sh", path, size]


@cache
def _namespace() -> tuple[str, ...]:
    """The command for a mount namespace of one's own: as root, or as root of a user namespace."""
    ways = [("unshare", "--mount"), ("unshare", "--map-root-user", "--mount")]
    for way in ways if os.geteuid() == 0 else ways[1:]:
        tried = subprocess.run([*way, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
        if tried.returncode == 0:
            return way
    return ()


def can_mount() -> bool:
    """Whether this machine lets us mount something for one process."""
    return bool(_namespace())

"""What an apply takes: a batch of one group, as changes of its objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store.blocks import RawChange


@dataclass(slots=True)
class ObjectChanges:
    """What an apply does to one object: by encoded key, the encoded row before and after (None: absent).

    `rows` is the same without what was before, for objects that have no feed: many at once.
    """

    codec: RowCodec
    changes: dict[bytes, RawChange] = field(default_factory=dict)
    has_feed: bool = False
    rows: dict[bytes, bytes | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counted:
    """By how much the counters of an object grow; see ObjectState."""

    errors: int = 0
    late: int = 0
    extra: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """A batch of one group: from `lower`, which must be its watermark, to `upper`, a transaction boundary.

    `transaction` and `committed_at` are those of the last transaction before `upper`. For a step of a fill, `lower` and
    `upper` are both the watermark, and `fill` is where the fill stood and where it stands then (None: it is whole).
    """

    group: int
    generation: int
    lower: int
    upper: int
    transaction: int
    committed_at: int
    objects: Mapping[int, ObjectChanges]
    counted: Mapping[int, Counted] = field(default_factory=dict)
    fill: tuple[bytes, bytes | None] | None = None
    holder: str = ""

"""Groups whose changes the base has lost: rolled back by a power cut, or no longer in the log. They are filled anew."""

from __future__ import annotations

from viewkeeper.pipeline.attempts import Attempts
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.views.bound import BoundViews


def drop_lost(store: EmbeddedStore, bound: BoundViews, attempts: Attempts) -> None:
    """Drop what is stored of lost groups, and of views above them: the next round fills them."""
    lost = [
        number
        for group, state in store.view_tables.groups().items()
        # Another maintainer may have brought it on, and the log been truncated behind it, since it was read.
        if _is_lost(store, state) and store.view_tables.groups().get(group) == state
        for number in state.objects
    ]
    if not lost:
        return
    # Those above follow the feeds of those below, which go with them.
    above = [view.id for view in bound.catalog.dependents(lost)]
    for one in reversed(bound.of([*lost, *above])):
        store.view_tables.drop_objects(one.view.objects)
        told = "filled anew: the log no longer has the changes that it was to follow"
        attempts.note(one.view.id, error=told, failures=0, retry_at=0)
    attempts.write(force=True)


def _is_lost(store: EmbeddedStore, state: GroupState) -> bool:
    """Whether the log is another one than the group has followed, or no longer reaches back to it."""
    head, oldest = store.offset(store.head()), store.offset(store.oldest())
    if not oldest <= state.watermark <= head:
        return True
    known = store.transaction_before(state.watermark)
    if known is None:
        # Where the log begins, the transaction before it may be gone; elsewhere one has to end.
        return state.watermark != oldest
    return known[0] != state.transaction

"""One read of a source by a path: by which values, and how many rows it finds at most.

It is bounded if a key or CARDINALITY limits what is under its key, or if LIMIT does: the first rows in stored order are
enough where that is the order wanted, where nothing drops rows later on, and where the read itself applies all
conditions on its source.
"""

from __future__ import annotations

from viewkeeper.analysis.block import WORD, Source, SourceKind
from viewkeeper.analysis.conditions import Conditions, core, equal_pair, excluded_by, is_constant
from viewkeeper.analysis.keyvalues import Choosing, Values
from viewkeeper.analysis.paths import Path, path_rows
from viewkeeper.analysis.ranges import Stretch, stretch
from viewkeeper.analysis.reads import Known, Reads, alternatives, is_of_rows
from viewkeeper.analysis.scope import Scope
from viewkeeper.plan.access import Access, AccessKind, Count, Found, Operand
from viewkeeper.plan.expr import Call, Expr, Input, inputs


class Reading:
    """A source, and a path to it, while a read of it is made."""

    def __init__(self, scope: Scope, reads: Reads, number: int, path: Path) -> None:
        self.scope = scope
        self.block = scope.block
        self.before = reads
        self.number = number
        self.path = path
        self.source = scope.block.sources[number]
        self.among = self._among()
        self.choosing = Choosing(scope, reads, self.among, self.source)
        self.covered: set[Expr] = set(path.holds)
        self.fed: dict[Expr, Found] = {}
        self._fix()

    def _among(self) -> Conditions:
        """What the values of key columns may follow from: of a SEMI source that was read, too, since some row of it has
        what ON asks for.
        """
        block = self.block
        more = [
            one
            for number in self.before.known
            if block.sources[number].kind is SourceKind.SEMI
            for one in block.sources[number].on
        ]
        if self.source.kind is not SourceKind.INNER:
            more += self.source.on
        return Conditions((*block.conjuncts, *more)) if more else self.scope.conditions

    @property
    def fixed(self) -> tuple[int, ...]:
        return self.path.stored.key[: len(self.equal)]

    def _fix(self) -> None:
        """Take values for key columns, from the first on, as long as there are some: those that are the fewest keys."""
        exprs: list[Expr] = []
        choices: list[list[Values]] = []
        for column in self.path.stored.key:
            expr = self.path.shown[column]
            found = [] if expr is None else self.choosing.of(expr)
            if expr is None or not found:
                break
            exprs.append(expr)
            choices.append(found)
        self.chosen = self.choosing.fewest_of_each(choices)
        self.keys = self.choosing.keys(self.chosen)
        self.equal = [one.operands for one in self.chosen]
        self.covered.update(one.conjunct for one in self.chosen if one.conjunct is not None)
        for expr, (operand, *_) in zip(exprs, self.equal, strict=True):
            if isinstance(operand, Found):
                self.fed[core(expr)] = operand

    def reads(self) -> Reads | None:
        """What is known with this read; None if it has no bound."""
        under = path_rows(self.path, self.source, frozenset(self.fixed), self.scope.schema)
        between = stretch(self.path, len(self.equal), self.among, is_bounded=under is not None)
        self.covered |= between.covered
        limit: Count | None = None
        reverse = False
        limited = self._limit(between)
        if limited is not None and (under is None or limited[1] < under):
            limit, under, reverse = limited
        if under != 1 and self._is_one_enough():
            limit, under = 1, 1
        elif under != 1 and (closer := self._closer(between)) is not None:
            between, limit, under = closer, 1, 1
        if under is None:
            return None
        return self._made(under, limit, reverse, between)

    def _made(self, under: int, limit: Count | None, reverse: bool, between: Stretch) -> Reads:
        path, stored, source = self.path, self.path.stored, self.source
        copies = stored.copies
        is_direct = not path.misses
        joined = bool(self.fed) or is_of_rows(between.lower) or is_of_rows(between.upper)
        kind = AccessKind.LOOKUP_JOIN if joined else AccessKind.INDEX_SCAN
        if limit is not None and joined:
            kind = AccessKind.SORTED_INDEX_JOIN
        elif not joined and len(self.equal) == len(stored.key) and under == 1:
            kind = AccessKind.LOOKUP
        condition = self.scope.condition(source, frozenset(self.covered)) if is_direct else None
        first = Access(
            kind=kind,
            object=stored.id,
            name=stored.name,
            leaf=source.leaf if is_direct else None,
            shows=self._shows() if is_direct and not self._is_own() else None,
            equal=tuple(self.equal),
            lower=between.lower,
            upper=between.upper,
            starts=between.starts,
            beyond=between.beyond,
            not_null=between.not_null,
            limit=limit,
            reverse=reverse,
            words=self._words_among(len(self.equal) + 1),
            condition=condition,
            operations=self.keys * copies,
            rows=self.keys * under * copies,
        )
        accesses = [*self.before.accesses, first]
        if not is_direct:
            accesses.append(self._base(len(accesses) - 1, self.keys * under))
        columns = path.columns() if is_direct else _own(source)
        rows = self.keys * under
        made = {stored.id} if stored.ddl is not None else set()
        per = under if not joined else under * alternatives(self.equal)
        return Reads(
            accesses=tuple(accesses),
            known={
                **self.before.known,
                self.number: Known(access=len(accesses) - 1, columns=columns, rows=rows),
            },
            rows=self.before.rows * (per if joined else rows),
            limited=self.before.limited or (limit is not None and self.source.kind is SourceKind.INNER),
            made=self.before.made | made,
        )

    def _words_among(self, count: int) -> frozenset[int]:
        """Which of the first key columns are words of a text."""
        shown = (self.path.shown[column] for column in self.path.stored.key[:count])
        return frozenset(n for n, expr in enumerate(shown) if isinstance(expr, Call) and expr.name == WORD)

    def _is_own(self) -> bool:
        return self.source.stored is not None and self.path.stored.id == self.source.stored.id

    def _shows(self) -> tuple[int | None, ...]:
        """For each column of the source, the column of what is read that has it."""
        columns = self.path.columns()
        return tuple(columns.get(expr) for expr in _own(self.source))

    def _base(self, entries: int, rows: int) -> Access:
        """The rows of the table that entries are of."""
        table = self.source.stored
        assert table is not None
        equal = tuple(
            (Found(access=entries, column=place, type=self.path.stored.columns[place].type),) for place in self.path.key
        )
        condition = self.scope.condition(self.source, frozenset(self.covered))
        return Access(
            kind=AccessKind.LOOKUP_JOIN,
            object=table.id,
            name=table.name,
            leaf=self.source.leaf,
            equal=equal,
            condition=condition,
            operations=rows,
            rows=rows,
        )

    # Whether the first rows are enough

    def _closer(self, between: Stretch) -> Stretch | None:
        """What EXISTS asks for, with bounds of rows that were read, if any one row within them will do.

        There may be more keys then, since each row has its own bounds.
        """
        if self.source.kind not in (SourceKind.SEMI, SourceKind.ANTI):
            return None
        bounds: list[Values] = []

        def value_of(expr: Expr) -> Operand | None:
            ways = self.choosing.equal_to(expr)
            if not ways:
                return None
            bounds.append(self.choosing.fewest([*self.chosen, *bounds, one] for one in ways)[-1])
            return bounds[-1].operands[0]

        closer = stretch(self.path, len(self.equal), self.among, is_bounded=False, found=value_of)
        if not bounds or not closer.covered >= between.covered:
            return None
        before, self.covered = self.covered, self.covered | closer.covered
        if not self._is_one_enough():
            self.covered = before
            return None
        self.keys = self.choosing.keys([*self.chosen, *bounds])
        return closer

    def _is_one_enough(self) -> bool:
        """Whether EXISTS asks for any row under a key, and whatever else it asks is the same for all of them."""
        source = self.source
        if source.kind not in (SourceKind.SEMI, SourceKind.ANTI) or self.path.misses:
            return False
        known = {*self.before.known, self.number}
        fixed = {self.path.shown[column] for column in self.fixed}
        return all(
            self.block.reads(one) <= known
            and (self.number not in self.block.reads(one) or one in self.covered or self._is_fixed(one, fixed))
            for one in (*source.on, *self.block.conjuncts)
            if one in source.on or self.number in self.block.reads(one)
        )

    def _may_limit(self) -> bool:
        block = self.block
        return (
            block.rows_wanted is not None
            and block.group is None
            and not block.distinct
            and self.source.kind is SourceKind.INNER
            and not self.before.limited
        )

    def _limit(self, between: Stretch) -> tuple[Count, int, bool] | None:
        """The limit, as given and at most, and the direction; None if the first rows are not enough."""
        block, wanted = self.block, self.block.rows_wanted
        if not self._may_limit() or wanted is None or not self._is_last():
            return None
        dropped = self._dropped()
        if dropped is None:
            return None
        reverse = self._direction()
        if reverse is None:
            return None
        # Under one word there is one entry of a row; under several there may be one for each.
        words = 1 if between.starts is None else self._words()
        if words is None or (words > 1 and block.order):
            return None
        is_exact = block.offset == 0 and words == 1 and dropped == 0
        most = (wanted + dropped) * words
        return block.limit if is_exact and block.limit is not None else most, most, reverse

    def _words(self) -> int | None:
        """How many entries one row has at most; None if it may be any number."""
        if not self.path.misses or self.path.stored.plan is None:
            return 1
        return path_rows(self.path, self.source, frozenset(self.path.key), self.scope.schema)

    def _is_last(self) -> bool:
        """Whether all that follows keeps every row, and so does all before that depends on this source."""
        waiting = self._waiting()
        return all(
            source.kind is SourceKind.LEFT
            or number == self.number
            or (number in self.before.known and number not in waiting)
            for number, source in enumerate(self.block.sources)
        )

    def _waiting(self) -> frozenset[int]:
        """The sources read before whose partners are known only with a row of one that was not, or that waits itself.

        Such a row is this one's, or one that is still to be read: ON compares them with it.
        """
        settled = set(self.before.known)
        while True:
            waits = {
                number
                for number in settled
                if any(
                    not self.block.reads(one) <= settled and not self._is_alike(number, one)
                    for one in self.block.sources[number].on
                )
            }
            if not waits:
                return frozenset(self.before.known.keys() - settled)
            settled -= waits

    def _is_alike(self, number: int, conjunct: Expr) -> bool:
        """Whether a condition of EXISTS on a source that was read is the same for all rows under a key.

        So it is if they are looked up by just what it asks for, or if all that it asks of them is constant.
        """
        kind = self.block.sources[number].kind
        if not self.block.reads(conjunct) <= {number, self.number} or kind not in (SourceKind.SEMI, SourceKind.ANTI):
            return False
        asked = {place - self.source.start for place in inputs(conjunct) if self.source.has(place)}
        own = [one for one, place in _own(self.source).items() if place in asked]
        # What only EXISTS says of them holds for the rows that it keeps, and the others are read, too.
        fixed = {self.path.shown[column] for column in self.fixed}
        if all(one in fixed or self.scope.conditions.constants(one) for one in own):
            return True
        pair = equal_pair(conjunct)
        if pair is None or kind is not SourceKind.SEMI:
            return False
        known = self.before.known[number]
        mine, theirs = pair if pair[0] in self.fed else (pair[1], pair[0])
        found = self.fed.get(mine)
        return (
            found is not None
            and isinstance(theirs, Input)
            and (found.access, found.column) == (known.access, known.columns.get(theirs))
        )

    def _dropped(self) -> int | None:
        """How many rows under a key the conditions drop at most that the read does not apply itself; None if it may be
        any number, or if one is on what follows.
        """
        fixed = {self.path.shown[column] for column in self.fixed}
        known = {*self.before.known, self.number} - self._waiting()
        dropped = 0
        for conjunct in self.block.conjuncts:
            reads = self.block.reads(conjunct)
            if not reads <= known:
                return None
            if self.number not in reads or conjunct in self.covered or self._is_fixed(conjunct, fixed):
                continue
            count = self._excluded(conjunct, fixed)
            if count is None:
                return None
            dropped += count
        return dropped

    def _excluded(self, conjunct: Expr, fixed: set[Expr | None]) -> int | None:
        """How many rows under a key a condition drops that names them by their key: `id <> :id`; None if any number."""
        subject, others = excluded_by(conjunct)
        if subject is None or not self.source.has(subject.index):
            subject, others = excluded_by(conjunct, turned=True)
        table = self.source.stored
        if subject is None or table is None or table.unique is None or not self.source.has(subject.index):
            return None
        if any(self.source.has(place) for one in others for place in inputs(one)):
            return None
        own = _own(self.source)
        keys = {one for one, place in own.items() if place in table.unique}
        # What is NULL is not known to be another one, so it is dropped, too.
        count = len(others) + table.columns[subject.index - self.source.start].nullable
        return count if keys <= {subject, *fixed} else None

    def _is_fixed(self, conjunct: Expr, fixed: set[Expr | None]) -> bool:
        """Whether a condition is an equality that the values of the key columns see to."""
        pair = next((pair for pair in self.among.equalities if pair[2] is conjunct or pair[2] == conjunct), None)
        if pair is None:
            return False
        members = self.among.same(pair[0])
        own = [one for one in members if any(map(self.source.has, inputs(one)))]
        return sum(map(is_constant, members)) <= 1 and all(one in fixed for one in own)

    def _direction(self) -> bool | None:
        """Whether stored order has to be read backwards to have the order wanted; None if it is neither."""
        stored = self.path.stored
        behind = [
            (self.path.shown[column], descends) for column, descends in zip(stored.key, stored.descending, strict=True)
        ][len(self.equal) :]
        fixed = {core(expr) for column in self.fixed if (expr := self.path.shown[column]) is not None}
        reverse: bool | None = None
        seen = set(self.fixed)
        waiting = self._waiting()
        for sort in self.block.order:
            expr = core(self.block.outputs[sort.column])
            places = set(inputs(expr))
            if self.among.constants(expr) or not fixed.isdisjoint(self.among.same(expr)):
                continue
            if not all(map(self.source.has, places)) or not places:
                if all(self.block.source_at(place) in self.before.known.keys() - waiting for place in places):
                    continue
                return None
            if stored.unique is not None and stored.unique <= seen:
                break
            if not behind:
                return None
            here, descends = behind.pop(0)
            if here is None or core(here) not in self.among.same(expr):
                return None
            turned = descends is not sort.descending
            if reverse is not None and reverse is not turned:
                return None
            reverse = turned
            # What the order names again changes nothing.
            fixed.add(core(here))
            seen.add(stored.key[len(stored.key) - len(behind) - 1])
        return bool(reverse)


def _own(source: Source) -> dict[Expr, int]:
    assert source.stored is not None
    return {Input(source.start + number, column.type): number for number, column in enumerate(source.stored.columns)}

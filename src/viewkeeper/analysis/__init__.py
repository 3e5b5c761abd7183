"""Says of a query or a view, before it is used, whether it stays fast as the data grows.

Takes: bound queries and view definitions, and a schema: tables and views with their keys, limits and definitions.
Gives: a Verdict: a level, SI-0 to SI-3 or unbounded, bounds as numbers, the plan, the indexes and views still needed,
and for what has no bound the step at fault and what would bound it.
Invariant: a bound holds for every content of the tables that keeps the declared limits.
Does not: read a row, look at the clock, or make anything.
"""

"""The SELECT of a view to a plan.

Takes: a query as sqlglot reads it, and a way to find its sources. Gives: a relation of plan/, the visible columns, and
what of the text has to be written out so that it means the same tomorrow.
Invariant: a query is either understood whole, every conversion written into the plan, or refused by name and place.
Does not: know how a view is stored or maintained, beyond what can be maintained at all.

The way of a query: select.py puts it together from FROM and WHERE, grouping.py, outputs.py and expressions.py. FROM
(from_clause.py, joins.py, using.py) and WHERE (sub_queries.py) make a cluster of inner joins (cluster.py), in which
columns.py says what a name stands for; conjuncts.py and matching.py sort its conditions. unions.py puts queries below
one another. What PERIODIC views alone may have, since it is computed whole, is in whole.py, over.py, windows.py and
cut.py; what is refused, and what to write instead, in refused.py and refused_joins.py.
"""

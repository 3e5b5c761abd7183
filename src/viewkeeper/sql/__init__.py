"""SQL texts to bound statements.

Takes: a text, a way to find tables and views by name, and parameters. Gives: the statements of statements.py, whose
columns are ids, whose values are cells, and whose views are plans of plan/.
Invariant: a text is either understood whole or refused with line and column; parameters are bound as values and never
become part of a text. This is the only importer of sqlglot, which is imported when the first text is parsed.
Does not: run anything, or look into the store.

The way of a text: parse.py cuts it into statements; reader.py, query_syntax.py, table_syntax.py, row_syntax.py,
view_syntax.py and option_syntax.py turn each into a tree of tree.py; bind.py compiles the tree against its table once
(bind_tables.py, bind_rows.py, bind_select.py, with keys.py for WHERE and constants.py for values) and fills in the
parameters at every call. The query of a view becomes a plan: bind_views.py, and query/ for the SELECT itself. So does
any other query, whose parameters stay open in the plan: bind_query.py, and query_params.py for the values of a run.
"""

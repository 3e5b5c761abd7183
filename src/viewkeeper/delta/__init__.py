"""View plan to delta plan: how changes of a view's inputs become changes of the view.

Takes: a bound relation. Gives: a delta plan, that is stages, each a linear pipeline that ends in a sink with state.
Invariant: a stage is exact on bags with signed weights, whatever the order or split of the changes.
Does not: read tables, or know which executor will run it.
"""

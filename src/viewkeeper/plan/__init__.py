"""Bound plans: relations and expressions with every name resolved and every type known.

Takes: model types. Gives: frozen nodes that refuse to be built invalid, and the allow-list of scalar functions.
Invariant: no implicit conversion is left; what an executor computes is written in the plan.
Does not: parse text, look up names, or run anything.
"""

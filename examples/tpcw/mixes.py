"""How often each web interaction comes, in percent: the three mixes of the standard."""

from __future__ import annotations

_SHARES = {
    "home": (29.00, 16.00, 9.12),
    "new_products": (11.00, 5.00, 0.46),
    "best_sellers": (11.00, 5.00, 0.46),
    "product_detail": (21.00, 17.00, 12.35),
    "search_request": (12.00, 20.00, 14.53),
    "search_results": (11.00, 17.00, 13.08),
    "shopping_cart": (2.00, 11.60, 13.53),
    "customer_registration": (0.82, 3.00, 12.86),
    "buy_request": (0.75, 2.60, 12.73),
    "buy_confirm": (0.69, 1.20, 10.18),
    "order_inquiry": (0.30, 0.75, 0.25),
    "order_display": (0.25, 0.66, 0.22),
    "admin_request": (0.10, 0.10, 0.12),
    "admin_confirm": (0.09, 0.09, 0.11),
}
INTERACTIONS = tuple(_SHARES)
MIXES = {
    mix: {name: shares[place] for name, shares in _SHARES.items()}
    for place, mix in enumerate(("browsing", "shopping", "ordering"))
}

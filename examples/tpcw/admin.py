"""The web interactions of those who run the shop."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import viewkeeper as vk
from examples.tpcw.pages import Page
from examples.tpcw.shop import Row, Shop


def admin_request(shop: Shop, item: int) -> Page:
    return {"item": shop.first("product_detail", item=item)}


def admin_confirm(shop: Shop, item: int, cost: Decimal, image: str, thumbnail: str) -> Page:
    """Change an item; what was bought with it most often in this hour is related to it now."""
    together = [row["ol_i_id"] for row in shop.ask("bought_together", item=item, hour=shop.clock.hour())]

    def change(tx: vk.Transaction) -> Row | None:
        known = tx.get("item", item)
        if known is None:
            return None
        changed = {
            "i_id": item,
            "i_cost": cost,
            "i_image": image,
            "i_thumbnail": thumbnail,
            "i_pub_date": shop.clock.now().date(),
            **_related(known, together),
        }
        tx.put("item", changed)
        return {**known, **changed}

    return {"item": shop.write(change), "together": together}


def _related(item: Row, together: Sequence[int]) -> Row:
    """Five items: those that were bought together, then those that were related before."""
    before = [item[f"i_related{place}"] for place in range(1, 6)]
    five = list(dict.fromkeys([*together, *before]))[:5]
    return {f"i_related{place}": number for place, number in enumerate(five, 1)}

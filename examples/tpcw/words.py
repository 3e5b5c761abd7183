"""The texts of the bookstore: subjects, words of titles, names.

Few words make many titles, so that a search finds a full page in a small store too, and ever more in a larger one.
"""

from __future__ import annotations

from random import Random

SUBJECTS = (
    "ARTS",
    "BIOGRAPHIES",
    "BUSINESS",
    "CHILDREN",
    "COMPUTERS",
    "COOKING",
    "HEALTH",
    "HISTORY",
    "HOME",
    "HUMOR",
    "LITERATURE",
    "MYSTERY",
    "NON-FICTION",
    "PARENTING",
    "POLITICS",
    "REFERENCE",
    "RELIGION",
    "ROMANCE",
    "SCIENCE-FICTION",
    "SCIENCE-NATURE",
    "SELF-HELP",
    "SPORTS",
    "TRAVEL",
    "YOUTH",
)
BACKINGS = ("HARDBACK", "PAPERBACK", "USED", "AUDIO", "LIMITED-EDITION")
SHIPPING = ("AIR", "UPS", "FEDEX", "SHIP", "COURIER", "MAIL")
STATUSES = ("PROCESSING", "SHIPPED", "PENDING", "DENIED")
CARDS = ("VISA", "MASTERCARD", "DISCOVER", "AMEX", "DINERS")
COUNTRIES = 92

TITLE_WORDS = tuple(
    first + second
    for first in ("amber", "birch", "cloud", "dusk", "ember", "frost", "glass", "harbour")
    for second in ("field", "gate", "house", "light", "path", "song", "stone", "water")
)
LAST_NAMES = (
    "Abel",
    "Brandt",
    "Castro",
    "Dahl",
    "Egan",
    "Fuentes",
    "Gray",
    "Holm",
    "Ito",
    "Jansen",
    "Kaya",
    "Lund",
    "Moreau",
    "Nagy",
    "Okoro",
)
FIRST_NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Femi", "Gita", "Hugo", "Iris", "Jun", "Kira", "Leon")


def title(draw: Random) -> str:
    """Two to six words, of which one may come twice."""
    return " ".join(draw.choices(TITLE_WORDS, k=draw.randint(2, 6))).capitalize()


def last_name(draw: Random) -> str:
    """One word; every fifth has two."""
    name = draw.choice(LAST_NAMES)
    return name if draw.randrange(5) else f"{name}-{draw.choice(LAST_NAMES)}"


def user_name(customer: int) -> str:
    return f"reader{customer}"


def country_name(number: int) -> str:
    return f"Country {number:02}"

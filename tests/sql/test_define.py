"""A view defined in Python is the view that its SQL defines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.sql.tables import Catalog, view
from viewkeeper.errors import BadDefinition
from viewkeeper.sql.define import Query, create_text, table

SHOP = """
CREATE TABLE Events (ID BIGINT PRIMARY KEY, ProdID INT, ShopID INT, Type STRING, Cost DECIMAL(10,2));
CREATE TABLE Products (ID INT PRIMARY KEY, ShopID INT, CatID INT, Name STRING);
CREATE TABLE Shops (ID INT PRIMARY KEY, Name STRING);
CREATE TABLE Tags (docId BIGINT, tag STRING, PRIMARY KEY (docId, tag));
CREATE TABLE "my table" ("my col" INT PRIMARY KEY, "when" INT, "a.b" INT, größe INT, "it""s" STRING)
"""

EVENTS_OF_PRODUCTS = table("Events").join("Products", on={"ProdID": "ID"})

SAME: list[tuple[Query, str]] = [
    (table("Events"), "SELECT * FROM Events"),
    (table("Events", alias="e").select("e.ID", twice="e.Cost * 2"), "SELECT e.ID, e.Cost * 2 AS twice FROM Events e"),
    (
        EVENTS_OF_PRODUCTS.group_by("CatID").agg(n="COUNT(*)", total="SUM(Cost)"),
        "SELECT CatID, COUNT(*) AS n, SUM(Cost) AS total FROM Events, Products p WHERE ProdID = p.ID GROUP BY CatID",
    ),
    (
        EVENTS_OF_PRODUCTS.join("Shops", on={"Events.ShopID": "ID"}).select("CatID", "Shops.Name"),
        "SELECT CatID, s.Name FROM Events e JOIN Products p ON ProdID = p.ID JOIN Shops s ON e.ShopID = s.ID",
    ),
    (
        table("Events", alias="e")
        .join("Products", on="e.ProdID = p.ID AND e.Cost > p.CatID", how="LEFT", alias="p")
        .select("e.ID", "Name"),
        "SELECT e.ID, Name FROM Events e LEFT JOIN Products p ON e.ProdID = p.ID AND e.Cost > p.CatID",
    ),
    (
        table("Shops").join("Products", on={"ID": "ShopID"}, how="right").select("Products.ID", "Shops.Name"),
        "SELECT Products.ID, Shops.Name FROM Shops RIGHT JOIN Products ON Shops.ID = Products.ShopID",
    ),
    (
        table("Events").join("Products", on="ShopID", how="full").select("ShopID", "Events.ID", "Name"),
        "SELECT ShopID, Events.ID, Name FROM Events FULL JOIN Products USING (ShopID)",
    ),
    (
        table("Events").join("Products", on=["ShopID", "ID"], how="semi"),
        "SELECT * FROM Events LEFT SEMI JOIN Products USING (ShopID, ID)",
    ),
    (
        table("Products").join("Events", on={"ID": "ProdID", "ShopID": "ShopID"}, how="anti").select("ID"),
        "SELECT ID FROM Products p LEFT ANTI JOIN Events e ON p.ID = ProdID AND p.ShopID = e.ShopID",
    ),
    (
        table("Tags", alias="t1").join("Tags", on="docId", alias="t2").select("docId", one="t1.tag", other="t2.tag"),
        "SELECT docId, t1.tag AS one, t2.tag AS other FROM Tags t1 JOIN Tags t2 USING (docId)",
    ),
    (
        table("Shops").join(
            table("Events").group_by("ShopID").agg("COUNT(*)"), {"ID": "ShopID"}, how="left", alias="e"
        ),
        "SELECT * FROM Shops s LEFT JOIN (SELECT ShopID, COUNT(*) FROM Events GROUP BY ShopID) e ON s.ID = e.ShopID",
    ),
    (
        table(EVENTS_OF_PRODUCTS.group_by("CatID").agg(n="COUNT(*)"), alias="c").where("n > 1").agg(most="MAX(n)"),
        (
            "SELECT MAX(n) AS most FROM (SELECT CatID, COUNT(*) AS n FROM Events, Products p WHERE ProdID = p.ID "
            "GROUP BY 1) WHERE n > 1"
        ),
    ),
    (
        table("Events")
        .where("Type = 'a' OR Type = 'b'")
        .where("Cost > 1")
        .join("Products", on={"ProdID": "ID"})
        .select("CatID"),
        "SELECT CatID FROM Events e JOIN Products p ON e.ProdID = p.ID WHERE (Type = 'a' OR Type = 'b') AND Cost > 1",
    ),
    (
        table("Events").group_by("Type").having("COUNT(*) > 1").having("MIN(ID) = 1 OR MAX(ID) = 9").agg("COUNT(*)"),
        "SELECT Type, COUNT(*) FROM Events GROUP BY Type HAVING COUNT(*) > 1 AND (MIN(ID) = 1 OR MAX(ID) = 9)",
    ),
    (
        table("Events").group_by("ShopID", small="Cost < 5").agg(n="COUNT(*)").agg(most="MAX(Cost)"),
        "SELECT ShopID, Cost < 5 AS small, COUNT(*) AS n, MAX(Cost) AS most FROM Events GROUP BY ShopID, Cost < 5",
    ),
    (
        table("Events").group_by("ShopID", "Type").select("Type").agg(n="COUNT(*)"),
        "SELECT Type, COUNT(*) AS n FROM Events GROUP BY ShopID, Type",
    ),
    (
        EVENTS_OF_PRODUCTS.cube("Events.ShopID", "CatID", "Type").agg(total="SUM(Cost)", level="GROUPING_ID()"),
        (
            "SELECT e.ShopID, CatID, Type, SUM(Cost) AS total, GROUPING_ID() AS level "
            "FROM Events e JOIN Products p ON e.ProdID = p.ID GROUP BY CUBE (e.ShopID, CatID, Type)"
        ),
    ),
    (
        table("Events").rollup("ShopID", "Type").agg("COUNT(*)"),
        "SELECT ShopID, Type, COUNT(*) FROM Events GROUP BY ROLLUP (ShopID, Type)",
    ),
    (
        table("Events").grouping_sets(["ShopID", "Type"], "Type", []).agg("COUNT(*)"),
        "SELECT ShopID, Type, COUNT(*) FROM Events GROUP BY GROUPING SETS ((ShopID, Type), Type, ())",
    ),
    (
        table("Tags", alias="tag").join("Tags", on={"tag": "tag"}, alias="t").select("t.docId"),
        "SELECT b.docId FROM Tags a JOIN Tags b ON a.tag = b.tag",
    ),
    (table("Events").select("Type", "ShopID").distinct(), "SELECT DISTINCT Type, ShopID FROM Events"),
    (
        table("Events")
        .select("ID")
        .union(table("Products").select("ID"))
        .union(table("Shops").select("ID"), all=False),
        "(SELECT ID FROM Events UNION ALL SELECT ID FROM Products) UNION SELECT ID FROM Shops",
    ),
    (
        table("Events")
        .select("ID")
        .union(table("Products").select("ID").union(table("Shops").select("ID"), all=False)),
        "SELECT ID FROM Events UNION ALL (SELECT ID FROM Products UNION SELECT ID FROM Shops)",
    ),
    (table("Shops").union("Shops"), "SELECT * FROM Shops UNION ALL SELECT * FROM Shops"),
    (
        table(table("Events").select("ID").union(table("Shops").select("ID")), alias="u").agg(n="COUNT(DISTINCT ID)"),
        "SELECT COUNT(DISTINCT ID) AS n FROM (SELECT ID FROM Events UNION ALL SELECT ID FROM Shops)",
    ),
    (
        table("my table").group_by("when", "größe").agg(**{"my sum": 'SUM("my col" + 1)', "from": "when"}),
        (
            'SELECT "when", "größe", SUM("my col" + 1) AS "my sum", "when" AS "from" '
            'FROM "my table" GROUP BY "when", "größe"'
        ),
    ),
    (
        table("my table", alias="select")
        .join("my table", on={"my col": "from.when", "a.b": "a.b", "select.a.b": "größe"}, alias="from")
        .select('"from"."my col"'),
        (
            'SELECT b."my col" FROM "my table" a JOIN "my table" b ON a."my col" = b."when" AND a."a.b" = b."a.b" '
            'AND a."a.b" = b."größe"'
        ),
    ),
    (
        table("my table", alias="x").join("my table", on=["my col", 'it"s'], alias="y").select("y.größe"),
        'SELECT y."größe" FROM "my table" x JOIN "my table" y USING ("my col", "it""s")',
    ),
    (table("Events").select("ID", yes="TRUE", no="false"), "SELECT ID, TRUE AS yes, FALSE AS no FROM Events"),
]


@pytest.mark.parametrize(("query", "text"), SAME, ids=[text for _, text in SAME])
def test_a_definition_is_bound_as_its_sql(query: Query, text: str) -> None:
    tables = Catalog(SHOP)
    found, expected = view(query.sql(), tables), view(text, tables)
    assert (found.plan, found.visible, found.key) == (expected.plan, expected.visible, expected.key)
    assert str(query) == query.sql()


def test_the_text_has_a_line_for_each_clause() -> None:
    query = (
        table("Events", alias="e")
        .join(table("Products").select("ID", "CatID"), on={"ProdID": "ID"}, alias="p")
        .where("Type = 'click'")
        .group_by("CatID")
        .agg(total="SUM(Cost)")
        .having("COUNT(*) > 1")
        .union(table("Shops").select("ID", "0"))
    )
    assert query.sql() == (
        "SELECT CatID, SUM(Cost) AS total\n"
        "FROM Events AS e\n"
        "JOIN (SELECT ID, CatID\nFROM Products) AS p ON e.ProdID = p.ID\n"
        "WHERE Type = 'click'\n"
        "GROUP BY CatID\n"
        "HAVING COUNT(*) > 1\n"
        "UNION ALL\n"
        "SELECT ID, 0\n"
        "FROM Shops"
    )


def test_a_step_leaves_the_definition_before_as_it_was() -> None:
    before = EVENTS_OF_PRODUCTS.sql()
    EVENTS_OF_PRODUCTS.where("Cost > 1").group_by("CatID").agg("COUNT(*)").distinct().union("Shops")
    EVENTS_OF_PRODUCTS.join("Shops", on={"Events.ShopID": "ID"})
    assert EVENTS_OF_PRODUCTS.sql() == before


GROUPED = table("Events").group_by("Type").agg(n="COUNT(*)")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda: GROUPED.join("Shops", on="n = ID"), "join comes after select"),
        (lambda: GROUPED.where("n > 1"), "where comes after select"),
        (lambda: GROUPED.group_by("n"), "group_by comes after select"),
        (lambda: table("Events").group_by("Type").cube("Type"), "cube comes after group_by"),
        (lambda: table("Events").select("Type").group_by("Type"), "group_by comes after select"),
        (lambda: table("Events").select("Type").distinct().agg(n="COUNT(*)"), "agg comes after distinct"),
        (lambda: GROUPED.distinct().having("n > 1"), "having comes after distinct"),
        (lambda: GROUPED.union(GROUPED).select("n"), "select comes after union"),
        (lambda: GROUPED.union(GROUPED).distinct(), "distinct comes after union"),
        (lambda: table("Shops").where("ID > 1").join("Events", on="ID", how="full"), "join comes after where"),
        (lambda: table("Shops").where("ID > 1").join("Events", on="ID", how="right"), "join comes after where"),
    ],
)
def test_a_step_that_would_read_as_another_query_is_refused(step: Any, message: str) -> None:
    with pytest.raises(BadDefinition) as caught:
        step()
    assert caught.value.message == message
    assert caught.value.hint is not None
    assert "table(query, alias=…)" in caught.value.hint


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda: table("Events").join("Shops", on="ID", how="outer"), '"outer" is no kind of join'),
        (lambda: table("Tags").join("tags", on="docId"), 'two sources are called "tags"'),
        (lambda: table("Tags").join("Shops", on="docId = ID", alias="Tags"), 'two sources are called "Tags"'),
        (lambda: table(GROUPED), "a query in FROM has no name"),
        (lambda: table("Events").join(GROUPED, on="Type"), "a query in FROM has no name"),
        (lambda: table(5), "5 is not a source"),  # type: ignore[arg-type]
        (lambda: table("Events").union(None), "None is not a source"),  # type: ignore[arg-type]
        (lambda: table("Events").join("Shops", on={}), 'the join with "Shops" is on {}'),
        (lambda: table("Events").join("Shops", on=" "), "the join with \"Shops\" is on ' '"),
        (lambda: table("Events").join("Shops", on=[("ID", "ID")]), "the join with \"Shops\" is on [('ID', 'ID')]"),  # type: ignore[list-item]
        (lambda: table("Events").group_by("CUBE (Type)"), "group_by of CUBE (Type)"),
    ],
)
def test_mistakes_are_told_when_they_are_made(step: Any, message: str) -> None:
    with pytest.raises(BadDefinition) as caught:
        step()
    assert caught.value.message == message
    assert caught.value.hint


def test_a_column_that_several_sources_have_is_told_by_the_binder() -> None:
    query = EVENTS_OF_PRODUCTS.join("Shops", on={"ShopID": "ID"}).select("CatID")
    with pytest.raises(BadDefinition, match='"ShopID"'):
        view(query.sql(), Catalog(SHOP))


def test_create_text_has_key_mode_and_quotes() -> None:
    text = create_text("my view", GROUPED, key=["n desc", "Type"], maintain="EVERY 1 SECOND", or_replace=True)
    assert text.splitlines()[0] == (
        'CREATE OR REPLACE MATERIALIZED VIEW "my view" KEY (n desc, Type) MAINTAIN EVERY 1 SECOND AS'
    )
    assert create_text("v", "SELECT 1", key="when").splitlines() == [
        'CREATE MATERIALIZED VIEW v KEY ("when") AS',
        "SELECT 1",
    ]


def test_a_database_keeps_a_view_that_is_defined_in_python(tmp_path: Path) -> None:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(SHOP)
        statement = db.create_view(
            "by cat", EVENTS_OF_PRODUCTS.group_by("CatID").agg(total="SUM(Cost)"), key=["total DESC"]
        )
        assert statement.startswith('CREATE MATERIALIZED VIEW "by cat" KEY (total DESC) AS\nSELECT CatID')
        db.put("Products", {"ID": 1, "CatID": 5})
        db.put("Products", {"ID": 2, "CatID": 6})
        for number, product in enumerate([1, 2, 2]):
            db.put("Events", {"ID": number, "ProdID": product, "Cost": 10})
        db.maintain()
        assert [(row["CatID"], int(row["total"])) for row in db.scan("by cat")] == [(6, 20), (5, 10)]
        db.put("Products", {"ID": 2, "CatID": 5})
        db.maintain()
        assert [(row["CatID"], int(row["total"])) for row in db.scan("by cat")] == [(5, 30)]
        assert db.verify("by cat").ok

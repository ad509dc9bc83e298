"""Record how the reference plans joins over plain tables.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_join_plans.py

Writes the file beside the tests of plans: the optimized physical plan of each query, with changelog modes.
"""

# ruff: noqa: E501  (queries)
from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from reference_session import run_in_reference

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "plan" / "reference_join_plans.json"
_GENERATED = "WITH ('connector' = 'datagen')"
TABLES = [
    f"CREATE TABLE orders (id BIGINT, customer INT, product STRING, amount DOUBLE, note STRING) {_GENERATED}",
    f"CREATE TABLE payments (id BIGINT, order_id BIGINT, way STRING, paid DOUBLE) {_GENERATED}",
    f"CREATE TABLE customers (id INT PRIMARY KEY NOT ENFORCED, name STRING, city STRING) {_GENERATED}",
    f"CREATE TABLE products (code STRING PRIMARY KEY NOT ENFORCED, title STRING, price DECIMAL(8, 2)) {_GENERATED}",
    f"CREATE TABLE lines (a INT, b INT, c STRING, PRIMARY KEY (a, b) NOT ENFORCED) {_GENERATED}",
]
_KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_O_P = "orders AS o {} payments AS p ON o.id = p.order_id"
_TOTALS = "(SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer)"
QUERIES = [
    # Kinds, keys and input specs
    *(f"SELECT o.id, o.amount, p.way FROM {_O_P.format(kind)}" for kind in _KINDS),
    *(f"SELECT * FROM orders o {kind} customers c ON o.customer = c.id" for kind in _KINDS),
    *(f"SELECT c.name, t.total FROM customers c {kind} {_TOTALS} t ON c.id = t.customer" for kind in _KINDS),
    *(f"SELECT o.id, l.c FROM orders o {kind} lines l ON o.customer = l.a" for kind in _KINDS),
    "SELECT o.id, l.c FROM orders o JOIN lines l ON o.customer = l.a AND o.customer = l.b",
    "SELECT a.c, b.c FROM lines a JOIN lines b ON a.a = b.a AND a.b = b.b",
    "SELECT a.c, b.c FROM lines a LEFT JOIN lines b ON a.a = b.b",
    "SELECT o.id FROM orders o JOIN customers c ON o.customer = c.id",
    "SELECT c.id FROM orders o JOIN customers c ON o.customer = c.id",
    "SELECT o.id, p.title FROM orders o JOIN products p ON o.product = p.code",
    # Without keys
    *(f"SELECT o.id, c.name FROM orders o {kind} customers c ON o.customer > c.id" for kind in _KINDS),
    "SELECT o.id, c.name FROM orders o CROSS JOIN customers c",
    "SELECT o.id, c.name FROM orders o, customers c",
    "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON TRUE",
    "SELECT o.id, c.name FROM orders o, customers c WHERE o.customer > c.id",
    # Types and expressions
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.id = c.id",
    "SELECT o.id, p.title FROM orders o JOIN products p ON o.amount = p.price",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer + 1 = c.id",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id * 2",
    "SELECT o.id, p.title FROM orders o JOIN products p ON UPPER(o.product) = UPPER(p.code)",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id AND o.note = c.city",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.note = c.city AND o.customer = c.id",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id AND o.customer = c.id",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id AND o.note <> c.city",
    "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id AND o.note < c.city",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.note IS NOT DISTINCT FROM c.city",
    "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.note IS NOT DISTINCT FROM c.city AND o.customer = c.id",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.note = c.city OR (o.note IS NULL AND c.city IS NULL)",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id OR o.note = c.city",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON (o.customer = c.id AND o.amount > 1) OR (o.customer = c.id AND c.city = o.note)",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON (o.customer, o.note) = (c.id, c.city)",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id AND o.customer > 3",
    # Conditions of one side, in ON
    *(f"SELECT o.id, p.paid FROM {_O_P.format(kind)} AND o.amount > 10" for kind in _KINDS),
    *(f"SELECT o.id, p.paid FROM {_O_P.format(kind)} AND p.paid > 10" for kind in _KINDS),
    *(f"SELECT o.id, p.paid FROM {_O_P.format(kind)} AND o.id = 5" for kind in _KINDS),
    "SELECT o.id, p.paid FROM orders o JOIN payments p ON o.id = p.order_id AND 1 = 1",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND TRUE",
    # Conditions in WHERE
    *(f"SELECT o.id, p.paid FROM {_O_P.format(kind)} WHERE o.amount > 10" for kind in _KINDS),
    *(f"SELECT o.id, p.paid FROM {_O_P.format(kind)} WHERE p.paid > 10" for kind in _KINDS),
    *(f"SELECT o.id, p.paid FROM {_O_P.format(kind)} WHERE p.id IS NULL" for kind in _KINDS),
    *(f"SELECT o.id, p.paid FROM {_O_P.format(kind)} WHERE o.amount < p.paid" for kind in _KINDS),
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id WHERE p.paid > 1 OR p.way = 'card'",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id WHERE p.paid > 1 OR o.amount > 1",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id WHERE COALESCE(p.paid, 0) > 1",
    "SELECT o.id, p.paid FROM orders o FULL JOIN payments p ON o.id = p.order_id WHERE o.amount > 1 AND p.paid > 2",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id WHERE p.paid IS NOT NULL",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id WHERE p.paid + o.amount > 2",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id WHERE NOT (p.paid > 2)",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id WHERE p.way LIKE 'c%'",
    "SELECT o.id, p.paid FROM orders o, payments p WHERE o.id = p.order_id AND o.id = 7",
    "SELECT id, paid FROM (SELECT o.id, p.paid, p.way FROM orders o LEFT JOIN payments p ON o.id = p.order_id) WHERE paid > 3",
    # More than two
    "SELECT o.id, c.name, p.paid FROM orders o JOIN customers c ON o.customer = c.id JOIN payments p ON p.order_id = o.id",
    "SELECT o.id, c.name, p.paid FROM orders o LEFT JOIN customers c ON o.customer = c.id LEFT JOIN payments p ON p.order_id = o.id",
    "SELECT o.id, c.name, p.paid FROM orders o JOIN (customers c JOIN payments p ON p.id = c.id) ON o.customer = c.id",
    "SELECT o.id, c.name, r.title FROM orders o, customers c, products r WHERE o.customer = c.id AND o.product = r.code",
    "SELECT o.id, c.name, r.title FROM orders o, customers c, products r WHERE o.customer = c.id AND o.product = r.code AND r.price > 5",
    "SELECT o.id, c.name, p.paid FROM payments p, customers c, orders o WHERE o.customer = c.id AND p.order_id = o.id",
    "SELECT a.id, b.id FROM orders a JOIN orders b ON a.id = b.customer",
    # Around other nodes
    "SELECT c.city, SUM(o.amount) FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.city",
    "SELECT c.id, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id",
    "SELECT DISTINCT c.city FROM orders o JOIN customers c ON o.customer = c.id",
    "SELECT o.id, p.n FROM orders o LEFT JOIN (SELECT order_id, COUNT(*) AS n FROM payments GROUP BY order_id) p ON o.id = p.order_id",
    "SELECT a.customer, a.total, b.n FROM (SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer) a JOIN (SELECT order_id, COUNT(*) AS n FROM payments GROUP BY order_id) b ON a.customer = b.n",
    "SELECT o.id, p.paid FROM orders o JOIN payments p ON o.id = p.order_id UNION ALL SELECT o.id, o.amount FROM orders o",
    "SELECT o.id, v.y FROM orders o JOIN (VALUES (1, 'a'), (2, 'b')) AS v(x, y) ON o.customer = v.x",
    "SELECT o.id FROM orders o JOIN (SELECT id AS i FROM customers WHERE city = 'X') c ON o.customer = c.i",
    "WITH big AS (SELECT * FROM orders WHERE amount > 100) SELECT b.id, p.paid FROM big b LEFT JOIN payments p ON b.id = p.order_id",
    "SELECT id, way FROM orders JOIN payments USING (id)",
    "SELECT * FROM orders NATURAL JOIN payments",
    "SELECT * FROM orders FULL JOIN payments USING (id)",
]
# Chains with a common key, as one operator.
_O_P_Q = "orders o {0} payments p ON o.id = p.order_id {1} payments q ON o.id = q.order_id"
MULTI_JOINS = [
    *(f"SELECT o.id, p.paid, q.way FROM {_O_P_Q.format(one, other)}" for one in _KINDS[:2] for other in _KINDS[:2]),
    f"SELECT o.id, p.paid, q.way FROM {_O_P_Q.format('LEFT JOIN', 'LEFT JOIN')} AND p.paid < q.paid",
    f"SELECT o.id, p.paid, q.way, r.way FROM {_O_P_Q.format('JOIN', 'LEFT JOIN')} JOIN payments r ON q.order_id = r.order_id AND p.way = r.way",
    "SELECT c.name, o.note, l.c FROM customers c LEFT JOIN orders o ON c.id = o.customer LEFT JOIN lines l ON c.id = l.a",
    f"SELECT c.name, t.total, o.id FROM customers c JOIN {_TOTALS} t ON c.id = t.customer JOIN orders o ON o.customer = c.id",
    f"SELECT c.name, t.total, u.total FROM customers c LEFT JOIN {_TOTALS} t ON c.id = t.customer LEFT JOIN {_TOTALS} u ON u.customer = c.id",
    "SELECT x.c, y.c, z.c FROM lines x JOIN lines y ON x.a = y.a AND x.b = y.b JOIN lines z ON y.a = z.a AND z.b = y.b",
    "SELECT x.c, y.c, z.c FROM lines x JOIN lines y ON x.a = y.a AND x.b = y.b LEFT JOIN lines z ON y.b = z.b",
    "SELECT o.id, p.paid, q.way FROM orders o, payments p, payments q WHERE o.id = p.order_id AND p.order_id = q.order_id AND o.amount > 3 AND o.amount < q.paid",
    "SELECT /*+ STATE_TTL('o' = '1d', 'q' = '2h') */ o.id, p.paid, q.way FROM " + _O_P_Q.format("JOIN", "LEFT JOIN"),
]


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    from pyflink.table import EnvironmentSettings, ExplainDetail, TableEnvironment  # type: ignore[import-not-found]

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for each in TABLES:
        environment.execute_sql(each)

    def plans(queries: Sequence[str]) -> dict[str, list[str]]:
        strings = {each: environment.explain_sql(each, ExplainDetail.CHANGELOG_MODE) for each in queries}
        parts = {
            each: text.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0] for each, text in strings.items()
        }
        return {each: part.strip().splitlines() for each, part in parts.items()}

    recorded = {"tables": TABLES, "plans": plans(QUERIES)}
    environment.get_config().set("table.optimizer.multi-join.enabled", "true")
    recorded["multi_joins"] = plans(MULTI_JOINS)
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

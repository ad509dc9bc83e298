"""Statements over a few tables: some have a meaning, some have none. What the reference says of each is recorded."""

# ruff: noqa: E501  (tables of texts)
from __future__ import annotations

PRELUDE = [
    """CREATE TABLE orders (
        id INT, item STRING, price DECIMAL(10, 2), amount INT NOT NULL, weight DOUBLE, tags ARRAY<STRING>,
        props MAP<STRING, INT>, addr ROW<street STRING, zip INT>, ok BOOLEAN, day_ DATE, ts TIMESTAMP(3),
        p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    ) WITH ('connector' = 'datagen')""",
    "CREATE TABLE people (id BIGINT, name STRING, born DATE) WITH ('connector' = 'datagen')",
    "CREATE TABLE totals (item STRING, total BIGINT) WITH ('connector' = 'print')",
    "CREATE TABLE parted (a INT, b STRING, dt STRING) PARTITIONED BY (dt) WITH ('connector' = 'print')",
    "CREATE VIEW cheap AS SELECT id, item FROM orders WHERE price < 10",
]

# Each is a statement of its own; the reference says which of them have a meaning.
STATEMENTS = """
SELECT * FROM orders
SELECT id, item AS i, price * 2 FROM orders
SELECT o.id, o.item FROM orders AS o
SELECT orders.id FROM orders
SELECT default_database.orders.id FROM orders
SELECT o.* FROM orders o
SELECT DISTINCT item FROM orders
SELECT ALL item FROM orders
SELECT id FROM cheap
SELECT addr.street, addr.zip + 1 FROM orders
SELECT o.addr.street FROM orders o
SELECT tags[1], props['a'] FROM orders
SELECT CAST(id AS STRING) || item FROM orders
SELECT COUNT(*) FROM orders
SELECT item, COUNT(*), SUM(price) FROM orders GROUP BY item
SELECT item, COUNT(*) AS n FROM orders GROUP BY item HAVING COUNT(*) > 1
SELECT UPPER(item), COUNT(*) FROM orders GROUP BY UPPER(item)
SELECT item || 'x', COUNT(*) FROM orders GROUP BY item
SELECT COUNT(DISTINCT item) FILTER (WHERE ok) FROM orders
SELECT item, id, SUM(amount) FROM orders GROUP BY ROLLUP (item, id)
SELECT item, id, SUM(amount), GROUPING(item) FROM orders GROUP BY CUBE (item, id)
SELECT item, SUM(amount) FROM orders GROUP BY GROUPING SETS ((item), ())
SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end
SELECT window_start, item, COUNT(*) FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)) GROUP BY window_start, window_end, item
SELECT * FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE))
SELECT * FROM TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
SELECT * FROM TABLE(TUMBLE(DATA => TABLE orders, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' MINUTE))
SELECT TUMBLE_START(ts, INTERVAL '1' HOUR), COUNT(*) FROM orders GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)
SELECT item, SESSION_END(ts, INTERVAL '1' HOUR) FROM orders GROUP BY item, SESSION(ts, INTERVAL '1' HOUR)
SELECT TUMBLE_PROCTIME(p, INTERVAL '1' HOUR) FROM orders GROUP BY TUMBLE(p, INTERVAL '1' HOUR)
SELECT item, SUM(amount) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders
SELECT item, COUNT(*) OVER w FROM orders WINDOW w AS (PARTITION BY item ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)
SELECT ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts) FROM orders
SELECT id FROM orders UNION ALL SELECT id FROM people
SELECT id FROM orders UNION SELECT id FROM people
SELECT id FROM orders INTERSECT SELECT id FROM people
SELECT id FROM orders EXCEPT SELECT id FROM people
SELECT id FROM orders INTERSECT ALL SELECT id FROM people
SELECT id FROM orders EXCEPT ALL SELECT id FROM people
WITH x AS (SELECT id FROM orders) SELECT * FROM x
WITH x (a) AS (SELECT id FROM orders), y AS (SELECT a + 1 AS b FROM x) SELECT b FROM y
SELECT * FROM (SELECT id FROM orders) AS s (a)
SELECT a FROM (VALUES (1, 'x'), (2, 'y')) AS v (a, b)
VALUES (1, 'a'), (2, 'b')
SELECT t FROM orders CROSS JOIN UNNEST(tags) AS u (t)
SELECT id, t FROM orders LEFT JOIN UNNEST(tags) AS u (t) ON TRUE
SELECT k, v FROM orders CROSS JOIN UNNEST(props) AS u (k, v)
SELECT id FROM orders WHERE item IN ('a', 'b') AND id NOT IN (1, 2)
SELECT id FROM orders WHERE item LIKE 'a%' AND price BETWEEN 1 AND 5
SELECT CASE WHEN id > 1 THEN 'a' ELSE 'b' END FROM orders
SELECT CASE item WHEN 'a' THEN 1 END FROM orders
SELECT COALESCE(id, 0), NULLIF(id, 1), IFNULL(item, '') FROM orders
SELECT EXTRACT(YEAR FROM ts), FLOOR(ts TO HOUR), TIMESTAMPADD(DAY, 1, ts) FROM orders
SELECT ts + INTERVAL '1' DAY, day_ - INTERVAL '1' MONTH FROM orders
SELECT CURRENT_TIMESTAMP, CURRENT_DATE, LOCALTIME, NOW(), PROCTIME()
SELECT JSON_VALUE(item, '$.a' RETURNING INT), JSON_QUERY(item, '$.b'), JSON_EXISTS(item, '$') FROM orders
SELECT JSON_OBJECT('a' VALUE id), JSON_ARRAY(id, item) FROM orders
SELECT ARRAY[1, 2], MAP['a', 1], ROW(1, 'x')
SELECT TRIM(BOTH 'x' FROM item), SUBSTRING(item FROM 2 FOR 3), POSITION('a' IN item) FROM orders
SELECT TRY_CAST(item AS INT) FROM orders
SELECT id FROM orders LIMIT 5
SELECT id FROM orders /*+ OPTIONS('rows-per-second' = '1') */
SELECT * FROM orders WHERE ok
SELECT * FROM orders WHERE NOT ok OR id IS NULL
SELECT id AS a, id AS a FROM orders
SELECT id FROM orders WHERE id IS NOT DISTINCT FROM amount
INSERT INTO totals SELECT item, COUNT(*) FROM orders GROUP BY item
INSERT INTO totals (item) SELECT item FROM orders
INSERT INTO totals (total, item) SELECT id, item FROM orders
INSERT INTO totals VALUES ('a', 1)
INSERT INTO parted PARTITION (dt = '2024') SELECT id, item FROM orders
INSERT INTO totals SELECT item, CAST(id AS BIGINT) FROM orders
CREATE TABLE made (a INT, b AS a + 1) WITH ('connector' = 'print')
CREATE TABLE IF NOT EXISTS orders (a INT) WITH ('connector' = 'print')
CREATE TEMPORARY TABLE tmp (a INT METADATA VIRTUAL, b STRING) WITH ('connector' = 'print')
CREATE TABLE keyed (a INT NOT NULL, b STRING, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'print')
CREATE TABLE timed (ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'print')
CREATE TABLE liked (extra INT) LIKE orders
CREATE TABLE chosen WITH ('connector' = 'print') AS SELECT id, item FROM orders
CREATE VIEW v1 AS SELECT id FROM orders
CREATE VIEW v2 (a, b) AS SELECT id, item FROM orders
CREATE TEMPORARY VIEW v3 AS SELECT 1 AS one
CREATE DATABASE db1
CREATE DATABASE IF NOT EXISTS default_database
DROP TABLE IF EXISTS nothing
DROP VIEW cheap
DROP TABLE orders
ALTER TABLE orders RENAME TO orders2
ALTER TABLE orders ADD (extra INT)
ALTER TABLE orders SET ('x' = 'y')
ALTER TABLE orders DROP WATERMARK
ALTER TABLE orders MODIFY (item VARCHAR(10))
ALTER VIEW cheap AS SELECT id, item FROM orders
USE CATALOG default_catalog
USE default_database
SHOW TABLES
SHOW TABLES LIKE 'o%'
SHOW DATABASES
SHOW CATALOGS
SHOW FUNCTIONS
SHOW VIEWS
SHOW COLUMNS FROM orders
SHOW CREATE TABLE orders
SHOW CREATE VIEW cheap
SHOW MODULES
SHOW PARTITIONS parted
SHOW CURRENT CATALOG
SHOW CURRENT DATABASE
DESCRIBE orders
DESC EXTENDED orders
EXPLAIN SELECT id FROM orders
EXPLAIN PLAN FOR SELECT id FROM orders
EXPLAIN CHANGELOG_MODE SELECT item, COUNT(*) FROM orders GROUP BY item
EXPLAIN INSERT INTO totals SELECT item, 1 FROM orders
EXECUTE STATEMENT SET BEGIN INSERT INTO totals SELECT item, 1 FROM orders; INSERT INTO totals SELECT item, 2 FROM orders; END
LOAD MODULE core
UNLOAD MODULE core
USE MODULES core
SELECT nothing FROM orders
SELECT x FROM orders
SELECT id, missing, item FROM orders
SELECT o.missing FROM orders AS o
SELECT z.id FROM orders AS o
SELECT orders.id FROM orders AS o
SELECT ID FROM orders
SELECT id FROM missing
SELECT id FROM nowhere.missing
SELECT id FROM a.b.c
SELECT missing.* FROM orders
SELECT NO_SUCH(id) FROM orders
SELECT no_such(id, item) FROM orders
SELECT id FROM orders WHERE no_such(id)
SELECT UPPER(id) FROM orders
SELECT UPPER() FROM orders
SELECT UPPER(item, item) FROM orders
SELECT ABS(item) FROM orders
SELECT SUM(item) FROM orders
SELECT AVG(ok) FROM orders
SELECT id + item FROM orders
SELECT id + ok FROM orders
SELECT item - 1 FROM orders
SELECT ok + 1 FROM orders
SELECT NOT id FROM orders
SELECT id AND ok FROM orders
SELECT ok OR item FROM orders
SELECT -item FROM orders
SELECT item * 2 FROM orders
SELECT ts + 1 FROM orders
SELECT ts - ts FROM orders
SELECT tags + 1 FROM orders
SELECT id = ok FROM orders
SELECT tags = id FROM orders
SELECT id LIKE 'a' FROM orders
SELECT id FROM orders WHERE id
SELECT id FROM orders WHERE item
SELECT id FROM orders WHERE id + 1
SELECT id FROM orders WHERE SUM(id) > 1
SELECT item, COUNT(*) FROM orders
SELECT item, id, COUNT(*) FROM orders GROUP BY item
SELECT item, price + 1, COUNT(*) FROM orders GROUP BY item
SELECT * FROM orders GROUP BY item
SELECT item FROM orders GROUP BY missing
SELECT item FROM orders GROUP BY COUNT(*)
SELECT item FROM orders GROUP BY item HAVING id > 1
SELECT item FROM orders GROUP BY item HAVING item
SELECT item FROM orders HAVING id > 1
SELECT SUM(COUNT(*)) FROM orders
SELECT COUNT(SUM(id)) FROM orders GROUP BY item
SELECT UPPER(DISTINCT item) FROM orders
SELECT UPPER(item) FILTER (WHERE ok) FROM orders
SELECT COUNT(*) FILTER (WHERE id) FROM orders
SELECT GROUPING(id) FROM orders
SELECT GROUPING(price) FROM orders GROUP BY item
SELECT CAST(ts AS INT) FROM orders
SELECT CAST(tags AS INT) FROM orders
SELECT CAST(ok AS DATE) FROM orders
SELECT CAST(id AS ROW<a INT>) FROM orders
SELECT CASE WHEN id THEN 1 END FROM orders
SELECT CASE WHEN ok THEN 1 ELSE 'a' END FROM orders
SELECT CASE id WHEN tags THEN 1 END FROM orders
SELECT COALESCE(id, tags) FROM orders
SELECT IF(id, 1, 2) FROM orders
SELECT NULLIF(id, tags) FROM orders
SELECT id[1] FROM orders
SELECT tags['a'] FROM orders
SELECT props[1] FROM orders
SELECT addr.missing FROM orders
SELECT id.x FROM orders
SELECT id FROM orders UNION SELECT id, name FROM people
SELECT id, item FROM orders UNION ALL SELECT name, id FROM people
SELECT tags FROM orders UNION ALL SELECT id FROM people
SELECT id FROM orders EXCEPT SELECT id, name FROM people
SELECT id FROM orders ORDER BY missing
SELECT id FROM orders ORDER BY 5
SELECT item FROM (SELECT id FROM orders)
SELECT b FROM (SELECT id FROM orders) AS s (a)
SELECT a FROM (SELECT id FROM orders) AS s (a, b)
WITH x AS (SELECT id FROM orders) SELECT item FROM x
WITH x (a, b) AS (SELECT id FROM orders) SELECT a FROM x
WITH x AS (SELECT id FROM orders) SELECT id FROM y
VALUES (1, 'a'), (2)
VALUES (1), ('a')
SELECT id, id2 FROM (SELECT id, item AS id2 FROM orders) WHERE id3 = 1
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(id), INTERVAL '1' MINUTE))
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(missing), INTERVAL '1' MINUTE))
SELECT * FROM TABLE(TUMBLE(TABLE missing, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts)))
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), 5))
SELECT * FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
SELECT * FROM TABLE(NO_WINDOW(TABLE orders, DESCRIPTOR(ts)))
SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) FROM orders
SELECT COUNT(*) FROM orders GROUP BY TUMBLE(id, INTERVAL '1' HOUR)
SELECT HOP_START(ts, INTERVAL '1' HOUR, INTERVAL '2' HOUR) FROM orders GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)
SELECT SUM(amount) OVER (PARTITION BY missing ORDER BY ts) FROM orders
SELECT SUM(amount) OVER w FROM orders
SELECT UPPER(item) OVER (ORDER BY ts) FROM orders
SELECT ROW_NUMBER() FROM orders
SELECT COUNT(*) OVER (PARTITION BY item ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders
SELECT COUNT(*) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM orders
SELECT t FROM orders CROSS JOIN UNNEST(id) AS u (t)
SELECT t FROM orders CROSS JOIN UNNEST(tags) AS u (t, s)
SELECT * FROM orders, LATERAL TABLE(no_such(item))
SELECT EXTRACT(YEAR FROM item) FROM orders
SELECT FLOOR(item TO DAY) FROM orders
SELECT FLOOR(item) FROM orders
SELECT TIMESTAMPADD(DAY, item, ts) FROM orders
SELECT TIMESTAMPDIFF(DAY, ts, item) FROM orders
SELECT SUBSTRING(id, 1) FROM orders
SELECT POSITION(1 IN item) FROM orders
SELECT CHAR_LENGTH(ok) FROM orders
SELECT CONCAT(item, tags) FROM orders
SELECT MD5(id) FROM orders
SELECT CARDINALITY(id) FROM orders
SELECT ARRAY_CONTAINS(id, 1) FROM orders
SELECT ELEMENT(id) FROM orders
SELECT MAP['a', 1, 'b'] FROM orders
SELECT MOD(item, 2) FROM orders
SELECT POWER(item, 2) FROM orders
SELECT ROUND(ok, 1) FROM orders
SELECT JSON_VALUE(id, '$.a') FROM orders
SELECT id IN ('a', tags) FROM orders
SELECT id BETWEEN ok AND 1 FROM orders
SELECT item IS TRUE FROM orders
SELECT * FROM orders WHERE (id, item) = 1
SELECT LISTAGG(id) FROM orders
SELECT COUNT(id, item, price, ok) + COUNT() FROM orders
SELECT MAX(tags) FROM orders
SELECT MIN() FROM orders
SELECT SUM(id, id) FROM orders
INSERT INTO missing SELECT id FROM orders
INSERT INTO totals SELECT item FROM orders
INSERT INTO totals SELECT id, item, price FROM orders
INSERT INTO totals SELECT tags, id FROM orders
INSERT INTO totals SELECT item, item FROM orders
INSERT INTO totals (missing) SELECT item FROM orders
INSERT INTO totals (item, item) SELECT item, item FROM orders
INSERT INTO totals (item) SELECT item, id FROM orders
INSERT INTO parted PARTITION (missing = '2024') SELECT id, item FROM orders
CREATE TABLE orders (a INT) WITH ('connector' = 'print')
CREATE TABLE bad (a INT, a STRING) WITH ('connector' = 'print')
CREATE TABLE bad (a INT, b AS missing + 1) WITH ('connector' = 'print')
CREATE TABLE bad (a INT, PRIMARY KEY (missing) NOT ENFORCED) WITH ('connector' = 'print')
CREATE TABLE bad (a INT, PRIMARY KEY (a)) WITH ('connector' = 'print')
CREATE TABLE bad (a INT, WATERMARK FOR missing AS missing) WITH ('connector' = 'print')
CREATE TABLE bad (a INT, WATERMARK FOR a AS a) WITH ('connector' = 'print')
CREATE TABLE bad (ts TIMESTAMP(3), WATERMARK FOR ts AS 'x') WITH ('connector' = 'print')
CREATE TABLE bad (a INT) PARTITIONED BY (missing) WITH ('connector' = 'print')
CREATE TABLE bad LIKE missing
CREATE TABLE bad (a DECIMAL(50, 2)) WITH ('connector' = 'print')
CREATE TABLE bad (a DECIMAL(5, 7)) WITH ('connector' = 'print')
CREATE TABLE bad (a CHAR(0)) WITH ('connector' = 'print')
CREATE TABLE bad (a TIMESTAMP(12)) WITH ('connector' = 'print')
CREATE TABLE bad (a NO_TYPE) WITH ('connector' = 'print')
CREATE VIEW bad AS SELECT missing FROM orders
CREATE VIEW bad (a) AS SELECT id, item FROM orders
CREATE VIEW bad (a, a) AS SELECT id, item FROM orders
DROP TABLE missing
DROP VIEW missing
DROP DATABASE missing
ALTER TABLE missing RENAME TO x
ALTER TABLE orders RENAME missing TO x
ALTER TABLE orders DROP missing
ALTER TABLE orders ADD (id INT)
ALTER TABLE orders MODIFY (missing INT)
ALTER VIEW missing AS SELECT 1
USE CATALOG missing
DESCRIBE missing
SHOW CREATE TABLE missing
SHOW COLUMNS FROM missing
EXPLAIN SELECT missing FROM orders
"""


def statements() -> list[str]:
    """All of them."""
    return [each for each in STATEMENTS.splitlines() if each]

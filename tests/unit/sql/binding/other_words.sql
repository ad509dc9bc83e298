-- Statements that are refused in other words than Flink's, or that only one of both refuses.
SELECT ROUND(name) FROM t
SELECT COALESCE() FROM t
SELECT IF(id, 1, 2) FROM t
SELECT EXTRACT(YEAR FROM name) FROM t
SELECT TIMESTAMPADD(DAY, name, ts) FROM t
SELECT id > name FROM t
SELECT id IN ('a', TRUE) FROM t
SELECT id BETWEEN 'a' AND ts FROM t
SELECT CASE WHEN TRUE THEN ts ELSE 1 END FROM t
SELECT CAST(name AS VARCHAR(0)) FROM t
SELECT CAST(id AS DECIMAL(50, 2)) FROM t
SELECT NULL FROM t
SELECT a.id FROM t AS b
SELECT ROW_NUMBER() OVER () FROM t
SELECT SUM(id) OVER w FROM t
SELECT UPPER(DISTINCT name) FROM t
SELECT COUNT(*) FROM t GROUP BY TUMBLE(ts)
SELECT COUNT(*) FROM t GROUP BY TUMBLE(id, INTERVAL '1' DAY)
SELECT TUMBLE_START(ts, INTERVAL '1' DAY) FROM t
SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(zz), INTERVAL '1' DAY))
SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(id), INTERVAL '1' DAY))
SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts)))
SELECT * FROM TABLE(TUMBLE(TABLE t, ts, INTERVAL '1' DAY))
SELECT * FROM TABLE(nofunc(TABLE t))
SELECT (SELECT id, name FROM t) FROM t
SELECT id IN (SELECT id, name FROM t) FROM t
SELECT JSON_VALUE(id, '$.a') FROM t
SELECT 'a
SELECT id FROM t t2, t2
SELECT id AS select FROM t
SELECT id! FROM t
SELECT id FROM t WHERE id IN 1
INSERT INTO s (id) SELECT 1, 'a'
CREATE TABLE x (a INT, a INT) WITH ('connector' = 'datagen')
CREATE TABLE x (a NOTYPE) WITH ('connector' = 'datagen')
CREATE TABLE x (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'datagen')
CREATE TABLE x (a INT, PRIMARY KEY (a)) WITH ('connector' = 'datagen')
CREATE TABLE x (a INT, WATERMARK FOR b AS b) WITH ('connector' = 'datagen')
CREATE TABLE x (a INT, b AS zz + 1) WITH ('connector' = 'datagen')
CREATE TABLE x (a INT, b AS UPPER(a)) WITH ('connector' = 'datagen')
CREATE TABLE x (a INT) WITH ('connector' 'datagen')
CREATE VIEW v AS SELECT zz FROM t
DROP CATALOG nope
EXPLAIN SELECT zz FROM t
SET a = 1
SELECT * FROM t, u ON t.id = u.id
SELECT * FROM t OUTER JOIN u ON t.id = u.id
SELECT * FROM t JOIN u ON t.r = u.id
SELECT t.id FROM t JOIN u ON ROW_NUMBER() OVER (ORDER BY t.ts) = u.id
SELECT * FROM t JOIN u ON t.id IN (u.name, 1)
SELECT * FROM t JOIN u ON t.id BETWEEN u.name AND 3
SELECT * FROM t JOIN u ON (t.id, t.name) = (u.id)
SELECT * FROM t JOIN u ON (t.id, t.name) = (u.name, u.id)
SELECT x.* FROM t JOIN u ON t.id = u.id
SELECT default_catalog.default_database.t.id FROM t JOIN u ON t.id = u.id
SELECT default_database.t.id FROM t JOIN u ON t.id = u.id
INSERT INTO k SELECT t.id, u.name FROM t LEFT JOIN u ON t.id = u.id
SELECT t.ts, SUM(t.id) FROM t JOIN u ON t.id = u.id GROUP BY TUMBLE(t.ts, INTERVAL '1' SECOND)
SELECT * FROM TABLE(TUMBLE((SELECT t.ts, u.id FROM t JOIN u ON t.id = u.id), DESCRIPTOR(ts), INTERVAL '1' SECOND))
SELECT id AS x FROM t JOIN u USING (id)
SELECT id AS x FROM t LEFT JOIN u USING (id)
SELECT id AS x FROM t FULL JOIN u USING (id)
SELECT id AS x, COUNT(*) FROM t FULL JOIN u USING (id) GROUP BY id
SELECT id, id AS x FROM t RIGHT JOIN u USING (id)
SELECT id AS x, name AS y FROM t JOIN u USING (id, name)

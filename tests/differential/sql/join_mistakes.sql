-- Joins that mean nothing, or look as if, one on each line, over the tables t and u of record_mistakes.py.
SELECT id FROM t JOIN u ON t.id = u.id
SELECT t.id FROM t JOIN u ON id = u.id
SELECT name FROM t, u
SELECT t.id FROM t, u WHERE name = 'a'
SELECT COUNT(*) FROM t JOIN u ON t.id = u.id GROUP BY name
SELECT t.id FROM t JOIN u ON t.id = u.id ORDER BY name
SELECT x.id FROM t JOIN u ON t.id = u.id
SELECT t.zz FROM t JOIN u ON t.id = u.id
SELECT t.id FROM t JOIN u ON t.id = u.zz
SELECT t.id FROM t JOIN u ON t.id = x.id
SELECT t.id FROM t JOIN u ON zz = u.id
SELECT t.id FROM t AS a JOIN u ON a.id = u.id
SELECT a.id FROM t AS a JOIN u AS a ON a.id = a.id
SELECT t.id FROM t JOIN t ON t.id = t.id
SELECT 1 FROM t, t
SELECT 1 FROM t a, u a
SELECT * FROM t a JOIN u b ON a.id = b.id JOIN u b ON b.id = a.id
SELECT * FROM t JOIN nope ON t.id = nope.id
SELECT * FROM nope JOIN t ON t.id = nope.id
SELECT * FROM t JOIN nope.u ON TRUE
SELECT * FROM t JOIN u
SELECT * FROM t INNER JOIN u
SELECT * FROM t LEFT JOIN u
SELECT * FROM t RIGHT OUTER JOIN u
SELECT * FROM t FULL JOIN u
SELECT * FROM t CROSS JOIN u ON t.id = u.id
SELECT * FROM t CROSS JOIN u USING (id)
SELECT * FROM t NATURAL JOIN u ON t.id = u.id
SELECT * FROM t NATURAL JOIN u USING (id)
SELECT * FROM t, u ON t.id = u.id
SELECT * FROM t JOIN u ON
SELECT * FROM t JOIN ON t.id = 1
SELECT * FROM t LEFT INNER JOIN u ON TRUE
SELECT * FROM t OUTER JOIN u ON t.id = u.id
SELECT * FROM t LEFT SEMI JOIN u ON t.id = u.id
SELECT * FROM t LEFT ANTI JOIN u ON t.id = u.id
SELECT * FROM t JOIN u USING
SELECT * FROM t JOIN u USING ()
SELECT * FROM t JOIN u USING id
SELECT * FROM t JOIN u USING (t.id)
SELECT * FROM t JOIN u ON t.id
SELECT * FROM t JOIN u ON u.name
SELECT * FROM t JOIN u ON t.id + u.id
SELECT * FROM t JOIN u ON 1
SELECT * FROM t JOIN u ON NULL
SELECT * FROM t JOIN u ON 'a'
SELECT * FROM t JOIN u ON t.flag
SELECT * FROM t JOIN u ON t.id = u.ts
SELECT * FROM t JOIN u ON t.flag = u.id
SELECT * FROM t JOIN u ON t.arr = u.id
SELECT * FROM t JOIN u ON t.id = u.name
SELECT * FROM t JOIN u ON t.ts = u.name
SELECT * FROM t JOIN u ON t.m = u.name
SELECT * FROM t JOIN u ON t.r = u.id
SELECT * FROM t JOIN u ON t.arr = t.arr
SELECT * FROM t JOIN u ON t.m = t.m
SELECT * FROM t JOIN u USING (zz)
SELECT * FROM t JOIN u USING (flag)
SELECT * FROM t JOIN u USING (other)
SELECT * FROM t JOIN u USING (id, zz)
SELECT * FROM t JOIN u USING (id, id)
SELECT * FROM t JOIN u USING (ts)
SELECT * FROM t JOIN (SELECT name AS id FROM u) USING (id)
SELECT * FROM t JOIN (SELECT ts AS id FROM u) USING (id)
SELECT * FROM t JOIN (SELECT id, id AS id0 FROM u) AS x (id, id) USING (id)
SELECT * FROM (SELECT id AS a FROM t) NATURAL JOIN (SELECT id AS b FROM u)
SELECT * FROM t NATURAL JOIN (SELECT name AS id FROM u)
SELECT * FROM t NATURAL JOIN (SELECT ts AS id FROM u)
SELECT * FROM t NATURAL JOIN (SELECT id FROM u)
SELECT id FROM t NATURAL JOIN (SELECT id FROM u)
SELECT id FROM t JOIN u USING (id)
SELECT id + 1 FROM t JOIN u USING (id)
SELECT COUNT(id) FROM t JOIN u USING (id)
SELECT id, COUNT(*) FROM t JOIN u USING (id) GROUP BY id
SELECT id FROM t JOIN u USING (id) WHERE id > 1
SELECT id FROM t JOIN u USING (id) WHERE t.id > 1
SELECT MAX(id) FROM t JOIN u USING (id) HAVING MAX(id) > 1
SELECT DISTINCT id FROM t JOIN u USING (id)
SELECT id FROM t JOIN u USING (id) JOIN (SELECT id AS i FROM u) ON id = i
SELECT id FROM t JOIN u USING (id) JOIN (SELECT id FROM u) AS x USING (id)
SELECT * FROM t JOIN u USING (id) JOIN (SELECT id FROM u) AS x USING (id)
SELECT name FROM t JOIN u USING (id)
SELECT t.id, u.id, id FROM t FULL JOIN u USING (id)
SELECT ROW_NUMBER() OVER (PARTITION BY id ORDER BY t.ts) FROM t JOIN u USING (id)
SELECT * FROM t JOIN u ON COUNT(*) > 1
SELECT * FROM t JOIN u ON SUM(t.id) = u.id
SELECT * FROM t JOIN u ON t.id = MAX(u.id)
SELECT * FROM t JOIN u ON t.id = u.id AND COUNT(t.id) = 1
SELECT t.id FROM t JOIN u ON ROW_NUMBER() OVER (ORDER BY t.ts) = u.id
SELECT * FROM t JOIN u ON nofunc(t.id) = u.id
SELECT * FROM t JOIN u ON UPPER(t.id) = u.name
SELECT * FROM t JOIN u ON t.name + 1 = u.id
SELECT * FROM t JOIN u ON t.id IN (u.name, 1)
SELECT * FROM t JOIN u ON t.id BETWEEN u.name AND 3
SELECT * FROM t JOIN u ON t.name LIKE u.id
SELECT * FROM t JOIN u ON (t.id, t.name) = (u.id, u.name)
SELECT * FROM t JOIN u ON (t.id, t.name) = (u.id)
SELECT * FROM t JOIN u ON (t.id, t.name) = (u.name, u.id)
SELECT * FROM t JOIN (SELECT id FROM u) ON t.id = id
SELECT * FROM t JOIN (SELECT id FROM u) ON t.id = u.id
SELECT * FROM t JOIN (SELECT id AS i FROM u) ON t.id = i
SELECT * FROM t JOIN (SELECT t.id FROM u) ON TRUE
SELECT * FROM (t JOIN u ON t.id = u.id)
SELECT * FROM (t JOIN u ON t.id = u.id) AS x
SELECT x.id FROM (t JOIN u ON t.id = u.id) AS x
SELECT * FROM t JOIN (u JOIN s ON u.id = s.id) ON t.id = u.id
SELECT * FROM t JOIN u AS x (a, b) ON t.id = x.a
SELECT * FROM t JOIN u AS x (a, b, c, d, e) ON t.id = x.a
SELECT * FROM t JOIN u AS x (a, a, c, d) ON t.id = x.a
SELECT u.* FROM t JOIN u ON t.id = u.id
SELECT x.* FROM t JOIN u ON t.id = u.id
SELECT *, t.* FROM t JOIN u ON t.id = u.id
SELECT default_catalog.default_database.t.id FROM t JOIN u ON t.id = u.id
SELECT default_database.t.id FROM t JOIN u ON t.id = u.id
SELECT * FROM default_catalog.default_database.t JOIN u ON t.id = u.id
SELECT T.id FROM t JOIN u ON t.id = u.id
SELECT t.ID FROM t JOIN u ON t.id = u.id
INSERT INTO s SELECT t.id, u.name FROM t LEFT JOIN u ON t.id = u.id
INSERT INTO s SELECT t.id, u.id FROM t LEFT JOIN u ON t.id = u.id
INSERT INTO s SELECT * FROM t JOIN u ON t.id = u.id
INSERT INTO k SELECT t.id, u.name FROM t LEFT JOIN u ON t.id = u.id
INSERT INTO f SELECT t.id, u.name FROM t LEFT JOIN u ON t.id = u.id
INSERT INTO f SELECT t.id, u.name FROM t JOIN u ON t.id = u.id
INSERT INTO f SELECT t.id, u.name FROM t JOIN (SELECT id, MAX(name) AS name FROM u GROUP BY id) u ON t.id = u.id
INSERT INTO f SELECT t.id, u.name FROM t RIGHT JOIN u ON t.id = u.id
INSERT INTO f SELECT t.id, u.name FROM t FULL JOIN u ON t.id = u.id
SELECT t.ts, SUM(t.id) FROM t JOIN u ON t.id = u.id GROUP BY TUMBLE(t.ts, INTERVAL '1' SECOND)
SELECT SUM(t.id) OVER (ORDER BY t.ts) FROM t JOIN u ON t.id = u.id
SELECT * FROM TABLE(TUMBLE((SELECT t.ts, u.id FROM t JOIN u ON t.id = u.id), DESCRIPTOR(ts), INTERVAL '1' SECOND))
SELECT t.id FROM t JOIN u ON t.id = u.id ORDER BY t.ts
SELECT t.id FROM t JOIN u ON t.id = u.id ORDER BY t.id
SELECT t.id, u.other FROM t JOIN u ON t.id = u.id LIMIT 3
SELECT t.id FROM t JOIN u ON t.id = u.id AND RAND() > 0.5
SELECT t.id FROM (SELECT id, COUNT(*) AS c FROM t GROUP BY id) t JOIN u ON t.id = u.id AND RAND() > 0.5
SELECT t.id FROM t JOIN u ON t.ts BETWEEN u.ts - INTERVAL '1' SECOND AND NOW() AND t.id = u.id
SELECT id AS x FROM t JOIN u USING (id)
SELECT id AS x FROM t LEFT JOIN u USING (id)
SELECT id AS x FROM t FULL JOIN u USING (id)
SELECT id + 1 FROM t LEFT JOIN u USING (id)
SELECT id + 1 AS x FROM t FULL JOIN u USING (id)
SELECT COUNT(id) FROM t FULL JOIN u USING (id)
SELECT COUNT(id) AS x FROM t LEFT JOIN u USING (id)
SELECT id, COUNT(*) FROM t FULL JOIN u USING (id) GROUP BY id
SELECT id AS x, COUNT(*) FROM t FULL JOIN u USING (id) GROUP BY id
SELECT id FROM t RIGHT JOIN u USING (id)
SELECT id, id AS x FROM t RIGHT JOIN u USING (id)
SELECT id AS x, name AS y FROM t JOIN u USING (id, name)
SELECT * FROM t NATURAL JOIN u WHERE id = 1
SELECT t.id FROM t NATURAL JOIN u WHERE t.id = 1
SELECT other FROM t NATURAL JOIN u

"""Queries whose printed results `record.py` keeps: types and values of all kinds, in both modes."""

from __future__ import annotations

QUERIES = {
    "numbers": (
        "SELECT CAST(1 AS TINYINT) AS t, CAST(2 AS SMALLINT) AS s, 3 AS i, CAST(4 AS BIGINT) AS b, "
        "CAST(1.5 AS DECIMAL(10, 2)) AS d, CAST(1.5 AS DOUBLE) AS dbl, CAST(1.1 AS FLOAT) AS f, TRUE AS x"
    ),
    "nulls": (
        "SELECT CAST(NULL AS TINYINT) AS t, CAST(NULL AS BOOLEAN) AS b, CAST(NULL AS INT) AS i, "
        "CAST(NULL AS STRING) AS s, CAST(NULL AS DECIMAL(3, 1)) AS d"
    ),
    "texts": (
        "SELECT 'a long string that is longer than the column' AS s, CAST('ab' AS CHAR(5)) AS c, "
        "CAST('abc' AS VARCHAR(3)) AS v, x'0aff' AS b, '漢字' AS w"
    ),
    "times": (
        "SELECT DATE '2020-01-02' AS d, TIME '03:04:05' AS t, TIMESTAMP '2020-01-02 03:04:05.123' AS ts, "
        "CAST(TIMESTAMP '2020-01-02 03:04:05' AS TIMESTAMP(0)) AS ts0, TO_TIMESTAMP_LTZ(0, 3) AS ltz"
    ),
    "collections": ("SELECT ARRAY[1, 2] AS a, MAP['k', 1] AS m, ROW(1, 'x') AS r, ARRAY[CAST(NULL AS INT)] AS n"),
    "intervals": "SELECT INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS ds",
    "long name": "SELECT 1 AS a_column_with_a_name_of_forty_characters",
    "two rows": "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(id, name)",
    "changes": "SELECT name, COUNT(*) AS n FROM (VALUES (1, 'a'), (2, 'a')) AS t(id, name) GROUP BY name",
    "nothing": "SELECT * FROM (VALUES (1)) AS t(id) WHERE id > 1",
    "show catalogs": "SHOW CATALOGS",
    "show tables": "SHOW TABLES",
    "create": "CREATE TEMPORARY TABLE t (id INT NOT NULL, ts TIMESTAMP(3), p AS PROCTIME(), "
    "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print')",
    "describe": "DESCRIBE t",
    "show tables again": "SHOW TABLES",
    "use": "USE default_database",
}

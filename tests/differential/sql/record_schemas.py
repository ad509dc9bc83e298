"""Record how the reference shows the schemas of tables: by Table, DESCRIBE and SHOW CREATE TABLE.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_schemas.py

Writes the file beside the tests of the facade: expressions of computed columns, tables and queries with their texts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from reference_session import run_in_reference

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "table" / "reference" / "schemas.json"
_WITH = "WITH ('connector' = 'datagen')"
TABLES = [
    f"""CREATE TABLE t (
        id BIGINT NOT NULL COMMENT 'the id', name STRING, ts TIMESTAMP(3), pt AS PROCTIME(),
        up AS UPPER(name) COMMENT 'upper', WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
        PRIMARY KEY (id) NOT ENFORCED
    ) COMMENT 'a table' {_WITH}""",
    f"""CREATE TABLE t (
        d BIGINT, ts AS TO_TIMESTAMP_LTZ(d, 3), r ROW<x INT, y TIMESTAMP(3)>,
        WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE
    ) {_WITH}""",
    f"CREATE TABLE t (x INT, y AS x * 2, z AS x + 1.5, w AS CAST(x AS STRING) || 'a') {_WITH}",
    f"CREATE TABLE t (a INT, b STRING, c INT, CONSTRAINT k PRIMARY KEY (b, a) NOT ENFORCED) {_WITH}",
    f"CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT CONSTRAINT x NOT NULL) {_WITH}",
    f"CREATE TABLE t (a INT CONSTRAINT x PRIMARY KEY NOT ENFORCED) {_WITH}",
]
# Over the first table.
QUERIES = [
    "SELECT * FROM t",
    "SELECT id, ts, pt, name || 'x' FROM t",
    """SELECT window_start, window_end, window_time, COUNT(*) AS c FROM
    TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, window_time""",
    "SELECT id, SUM(id) OVER (ORDER BY ts) FROM t",
    "SELECT ts FROM t UNION ALL SELECT ts FROM t",
    "SELECT * FROM t LIMIT 3",
]
_PLAIN = """
    UPPER(s) | s || 'a' | CONCAT(s, 'b') | CONCAT_WS(',', s, s) | COALESCE(s, 'x') | IFNULL(s, 'x') | NULLIF(s, 'x')
    IF(i > 1, 'a', 'b') | CASE WHEN i > 1 THEN 'a' ELSE 'b' END | CASE i WHEN 1 THEN 'a' END | TO_TIMESTAMP(s)
    TO_TIMESTAMP_LTZ(b, 3) | TO_DATE(s) | DATE_FORMAT(t, 'yyyy') | CAST(i AS STRING) | CAST(i AS VARCHAR(10))
    CAST(i AS CHAR(3)) | CAST(i AS BIGINT) | CAST(s AS INT) | CAST(s AS INTEGER) | CAST(s AS DECIMAL(10, 2))
    CAST(s AS DECIMAL) | CAST(s AS DOUBLE) | CAST(s AS FLOAT) | CAST(s AS BOOLEAN) | CAST(s AS BYTES)
    CAST(s AS VARBINARY(3)) | CAST(s AS DATE) | CAST(s AS TIME) | CAST(s AS TIMESTAMP(3)) | CAST(s AS TIMESTAMP)
    CAST(s AS TIMESTAMP_LTZ(3)) | TRY_CAST(s AS INT) | CAST(NULL AS ARRAY<INT>) | CAST(NULL AS MAP<STRING, INT>)
    CAST(ROW(1, 'a') AS ROW<a INT, b STRING>) | CAST(s AS TINYINT) | CAST(s AS SMALLINT) | i + 1 | i - 1 * 2
    (i + 1) * 2 | -i | i * -1 | i % 2 | i / 2 | MOD(i, 2) | ROUND(d, 2) | TRUNCATE(d, 1) | FLOOR(d) | CEIL(d)
    FLOOR(t TO DAY) | CEIL(t TO HOUR) | EXTRACT(YEAR FROM t) | YEAR(t) | HOUR(t) | DAYOFWEEK(t) | DAYOFYEAR(t)
    DAYOFMONTH(t) | WEEK(t) | QUARTER(t) | MONTH(t) | MINUTE(t) | SECOND(t) | EXTRACT(EPOCH FROM t)
    TIMESTAMPADD(DAY, 1, t) | TIMESTAMPDIFF(DAY, t, t) | t + INTERVAL '1' DAY | t - INTERVAL '1' MONTH
    INTERVAL '10' SECOND | CURRENT_TIMESTAMP | CURRENT_DATE | LOCALTIMESTAMP | LOCALTIME | NOW() | UNIX_TIMESTAMP()
    FROM_UNIXTIME(b) | SUBSTRING(s, 1) | SUBSTRING(s FROM 2 FOR 3) | SUBSTR(s, 1, 2) | TRIM(s)
    TRIM(LEADING 'a' FROM s) | TRIM(TRAILING FROM s) | LTRIM(s) | BTRIM(s) | POSITION('a' IN s) | INSTR(s, 'a')
    LOCATE('a', s) | OVERLAY(s PLACING 'x' FROM 1 FOR 2) | OVERLAY(s PLACING 'x' FROM 1) | REPLACE(s, 'a', 'b')
    REGEXP_REPLACE(s, 'a', 'b') | REGEXP_COUNT(s, 'a') | REGEXP_INSTR(s, 'a') | SPLIT_INDEX(s, ',', 1) | SPLIT(s, ',')
    STR_TO_MAP(s) | CHAR_LENGTH(s) | LPAD(s, 3, 'a') | INITCAP(s) | LEFT(s, 1) | MD5(s) | SHA2(s, 256) | UUID() | RAND()
    PI() | HEX(s) | UNHEX(s) | URL_ENCODE(s) | PARSE_URL(s, 'HOST') | TRANSLATE(s, 'a', 'b') | ELT(1, s)
    STARTSWITH(s, 'a') | PRINTF('%s', s) | s LIKE 'a%' | s NOT LIKE 'a' | s LIKE 'a' ESCAPE 'b' | s SIMILAR TO 'a'
    s IS NULL | s IS NOT NULL | i > 1 AND i < 3 OR i = 5 | NOT (i > 1) | i BETWEEN 1 AND 2 | i NOT BETWEEN 1 AND 2
    i IN (1, 2) | i NOT IN (1, 2) | (i > 1) IS TRUE | (i > 1) IS NOT FALSE | (i > 1) IS UNKNOWN | i IS DISTINCT FROM 1
    s IS NOT DISTINCT FROM 'a' | ARRAY[1, 2] | ARRAY[1, 2][1] | MAP['a', 1] | MAP['a', 1]['a'] | ROW(1, 'a') | r.a
    CARDINALITY(ARRAY[1]) | ELEMENT(ARRAY[1]) | ARRAY_CONTAINS(ARRAY[1], 1) | ARRAY_DISTINCT(ARRAY[1])
    ARRAY_JOIN(ARRAY['a'], ',') | MAP_KEYS(MAP['a', 1]) | MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[1]) | JSON_VALUE(s, '$.a')
    JSON_VALUE(s, '$.a' RETURNING INT DEFAULT 1 ON EMPTY) | JSON_VALUE(s, '$.a' ERROR ON ERROR)
    JSON_QUERY(s, '$.a') | JSON_QUERY(s, '$.a' WITH WRAPPER) | JSON_QUERY(s, '$.a' WITH CONDITIONAL WRAPPER)
    JSON_QUERY(s, '$.a' EMPTY ARRAY ON EMPTY) | JSON_EXISTS(s, '$.a') | JSON_EXISTS(s, '$.a' TRUE ON ERROR)
    JSON_OBJECT('a' VALUE 1) | JSON_OBJECT(KEY 'a' VALUE 1 ABSENT ON NULL) | JSON_OBJECT() | JSON_ARRAY(1, 2)
    JSON_ARRAY() | JSON_STRING(s) | JSON_QUOTE(s) | s IS JSON | s IS JSON OBJECT | s IS NOT JSON | GREATEST(1, 2)
    LEAST(1, 2) | TYPEOF(i) | DATE '2020-01-01' | TIME '10:00:00' | TIMESTAMP '2020-01-01 00:00:00' | X'41' | 'it''s'
    1.50 | 1e3 | 1.5e-7 | TRUE | NULL | PROCTIME() | LOG(2, d) | IS_DIGIT(s) | DECODE(CAST(s AS BYTES), 'UTF-8') | `s`
    CURRENT_DATABASE() | i <> 1 | i != 1 | TO_BASE64(s)
"""
EXPRESSIONS = [each.strip() for line in _PLAIN.strip().splitlines() for each in line.split(" | ")]


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set_local_timezone("UTC")
    recorded: dict[str, Any] = {
        "expressions": [shown_expression(environment, each) for each in EXPRESSIONS],
        "tables": [shown_table(environment, each) for each in TABLES],
    }
    environment.execute_sql(TABLES[0])
    recorded["queries"] = [{"query": each, "schemas": schemas(environment.sql_query(each))} for each in QUERIES]
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    return 0


def shown_expression(environment: Any, expression: str) -> dict[str, Any]:
    """How a computed column is described and made again, if it may be one."""
    columns = "s STRING, i INT, b BIGINT, d DOUBLE, t TIMESTAMP(3), r ROW<a INT>"
    try:
        environment.execute_sql(f"CREATE TABLE t ({columns}, c AS {expression}) {_WITH}")
    except Exception:
        return {"expression": expression}
    described = rows(environment, "DESCRIBE t")[-1]
    created = next(each for each in rows(environment, "SHOW CREATE TABLE t")[0][0].splitlines() if "`c` AS" in each)
    environment.execute_sql("DROP TABLE t")
    return {"expression": expression, "described": described, "created": created.strip()}


def shown_table(environment: Any, statement: str) -> dict[str, Any]:
    """How a table is shown."""
    try:
        environment.execute_sql(statement)
    except Exception:
        return {"statement": statement}
    text = {
        "statement": statement,
        "schemas": schemas(environment.from_path("t")),
        "described": rows(environment, "DESCRIBE t"),
        "created": rows(environment, "SHOW CREATE TABLE t"),
    }
    environment.execute_sql("DROP TABLE t")
    return text


def schemas(table: Any) -> list[str]:
    return [str(table.get_resolved_schema()), str(table.get_schema())]


def rows(environment: Any, statement: str) -> list[list[Any]]:
    with environment.execute_sql(statement).collect() as result:
        return [list(each) for each in result]


if __name__ == "__main__":
    sys.exit(main())

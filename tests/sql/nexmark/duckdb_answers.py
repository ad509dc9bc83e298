"""Nexmark's queries as DuckDB asks them of a whole file: what the rows of a stream must come to in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

__all__ = ["ANSWERS", "Answers"]

_COLUMNS = {
    "kind": "INT",
    "date_time": "TIMESTAMP",
    **{f"n{index}": "BIGINT" for index in range(1, 6)},
    "ends": "TIMESTAMP",
    **{f"s{index}": "VARCHAR" for index in range(1, 6)},
    "extra": "VARCHAR",
}
_VIEWS = (
    """SELECT n1 AS id, s1 AS name, s2 AS email, s3 AS credit_card, s4 AS city, s5 AS state, date_time, extra
       FROM events WHERE kind = 0""",
    """SELECT n1 AS id, s1 AS item, s2 AS description, n2 AS first_bid, n3 AS reserve, date_time, ends AS expires,
              n4 AS seller, n5 AS category, extra FROM events WHERE kind = 1""",
    """SELECT n1 AS auction, n2 AS bidder, n3 AS price, s1 AS channel, s2 AS url, date_time, extra
       FROM events WHERE kind = 2""",
)
_DAY = "strftime(date_time, '%Y-%m-%d')"
_TEN = "time_bucket(INTERVAL 10 SECOND, date_time)"
_IN_TIME = "b.auction = a.id AND b.date_time >= a.date_time AND b.date_time <= a.expires"
_RANGES = ("price < 10000", "price BETWEEN 10000 AND 999999", "price >= 1000000")
_AUCTION = "a.id, a.item, a.description, a.first_bid, a.reserve, a.date_time, a.expires, a.seller, a.category, a.extra"


def _counts(argument: str) -> str:
    return ", ".join(f"COUNT({argument}) FILTER ({each})" for each in ("true", *_RANGES))


_DISTINCT = ", ".join(map(_counts, ("*", "DISTINCT bidder", "DISTINCT auction")))
_HOT = """
    SELECT auction, COUNT(*) AS num, start FROM (
        SELECT auction, time_bucket(INTERVAL 2 SECOND, date_time) - to_seconds(2 * unnest(range(5))) AS start FROM bid)
    GROUP BY auction, start
"""
_CHANNEL_ID = "nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')"

ANSWERS = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bid",
    "q1": "SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)), date_time, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """SELECT name, city, state, a.id FROM auction a, person p
             WHERE p.id = a.seller AND category = 10 AND state IN ('OR', 'ID', 'CA')""",
    "q4": f"""WITH winners AS (SELECT a.id, category, MAX(price) AS best FROM auction a JOIN bid b ON {_IN_TIME}
                               GROUP BY ALL)
              SELECT category, CAST(SUM(best) // COUNT(*) AS BIGINT) FROM winners GROUP BY category""",
    "q5": f"""WITH counted AS ({_HOT})
              SELECT auction, num FROM counted QUALIFY num = MAX(num) OVER (PARTITION BY start)""",
    "q6": f"""WITH winners AS (
                  SELECT seller, price, b.date_time AS moment FROM auction a JOIN bid b ON {_IN_TIME}
                  QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY price DESC) = 1)
              SELECT seller, CAST(SUM(price) OVER w // COUNT(*) OVER w AS BIGINT) FROM winners
              WINDOW w AS (PARTITION BY seller ORDER BY moment ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)""",
    # A bid at the end of a window is looked at with that window's price too.
    "q7": f"""WITH tops AS (SELECT {_TEN} AS start, MAX(price) AS best FROM bid GROUP BY start)
              SELECT auction, bidder, price, date_time, extra FROM bid, tops
              WHERE price = best AND date_time >= start AND date_time <= start + INTERVAL 10 SECOND""",
    "q8": f"""SELECT DISTINCT p.id, name, p.start FROM (SELECT *, {_TEN} AS start FROM person) p
              JOIN (SELECT *, {_TEN} AS start FROM auction) a ON p.id = seller AND p.start = a.start""",
    "q9": f"""SELECT {_AUCTION}, auction, bidder, price, b.date_time, b.extra FROM auction a JOIN bid b ON {_IN_TIME}
              QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY price DESC, b.date_time) = 1""",
    "q10": f"SELECT auction, bidder, price, date_time, extra, {_DAY}, strftime(date_time, '%H:%M') FROM bid",
    "q11": """WITH flagged AS (
                  SELECT bidder, date_time,
                         coalesce(date_time > INTERVAL 10 SECOND + LAG(date_time) OVER w, false) AS new
                  FROM bid WINDOW w AS (PARTITION BY bidder ORDER BY date_time)),
              numbered AS (
                  SELECT *, COUNT(*) FILTER (new) OVER (PARTITION BY bidder ORDER BY date_time) AS number FROM flagged)
              SELECT bidder, COUNT(*), MIN(date_time), MAX(date_time) + INTERVAL 10 SECOND FROM numbered
              GROUP BY bidder, number""",
    # By the clock, which stands still in tests.
    "q12": "SELECT bidder, COUNT(*) FROM bid GROUP BY bidder",
    "q13": """SELECT auction, bidder, price, date_time, CAST(auction % 10000 AS VARCHAR) FROM bid""",
    "q14": """SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS euros,
                     CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'dayTime'
                          WHEN hour(date_time) IN (7, 19) THEN 'otherTime' ELSE 'nightTime' END,
                     date_time, extra, length(extra) - length(replace(extra, 'c', ''))
              FROM bid WHERE euros > 1000000 AND euros < 50000000""",
    "q15": f"SELECT {_DAY}, {_DISTINCT} FROM bid GROUP BY 1",
    "q16": f"SELECT channel, {_DAY}, MAX(strftime(date_time, '%H:%M')), {_DISTINCT} FROM bid GROUP BY 1, 2",
    "q17": f"""SELECT auction, {_DAY}, {_counts("*")}, MIN(price), MAX(price), CAST(SUM(price) // COUNT(*) AS BIGINT),
                      CAST(SUM(price) AS BIGINT) FROM bid GROUP BY 1, 2""",
    "q18": """SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) = 1""",
    "q19": """SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid
              QUALIFY place <= 10""",
    "q20": f"SELECT b.*, {_AUCTION} FROM bid b, auction a WHERE a.id = auction AND category = 10",
    "q21": f"""SELECT auction, bidder, price, channel, found FROM (
                   SELECT *, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'
                                  WHEN 'baidu' THEN '3' ELSE {_CHANNEL_ID} END AS found FROM bid)
               WHERE found IS NOT NULL""",
    "q22": """SELECT auction, bidder, price, channel, parts[4], parts[5], parts[6]
              FROM (SELECT *, string_split(url, '/') AS parts FROM bid)""",
    "q23": """SELECT auction, bidder, price, b.date_time, name, city, a.id, item
              FROM bid b, person p, auction a WHERE bidder = p.id AND seller = p.id""",
}


class Answers:
    """The answers over a folder of files."""

    def __init__(self, folder: Path) -> None:
        self._connection = duckdb.connect()
        read = f"read_csv('{folder}/*.csv', header = false, columns = {_COLUMNS}, quote = '')"
        self._connection.execute(f"CREATE TABLE events AS SELECT * FROM {read}")
        for name, text in zip(("person", "auction", "bid"), _VIEWS):
            self._connection.execute(f"CREATE VIEW {name} AS {text}")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query comes to."""
        return self._connection.execute(ANSWERS[query]).fetchall()

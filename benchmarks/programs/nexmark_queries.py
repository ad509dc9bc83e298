"""Nexmark's tables and queries, in Flink's SQL: for the benchmark, which runs them on both engines, and for tests.

Events are those of `benchmarks/auction_events.py`. As there, bidders are people; Nexmark's own generator moves them.
"""

# The events of all three kinds, in files of one format.
EVENTS = """
    CREATE TABLE events (
        kind INT, date_time TIMESTAMP(3), n1 BIGINT, n2 BIGINT, n3 BIGINT, n4 BIGINT, n5 BIGINT, ends TIMESTAMP(3),
        s1 STRING, s2 STRING, s3 STRING, s4 STRING, s5 STRING, extra STRING,
        WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
# Pairs of a number and a text, which q13 looks up.
SIDE_INPUT = """
    CREATE TABLE side_input (`key` BIGINT, `value` STRING)
    WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
VIEWS = {
    "person": """
        CREATE TEMPORARY VIEW person AS
        SELECT n1 AS id, s1 AS name, s2 AS email, s3 AS credit_card, s4 AS city, s5 AS state, date_time, extra
        FROM events WHERE kind = 0
    """,
    "auction": """
        CREATE TEMPORARY VIEW auction AS
        SELECT n1 AS id, s1 AS item, s2 AS description, n2 AS first_bid, n3 AS reserve, date_time, ends AS expires,
               n4 AS seller, n5 AS category, extra
        FROM events WHERE kind = 1
    """,
    "bid": """
        CREATE TEMPORARY VIEW bid AS
        SELECT n1 AS auction, n2 AS bidder, n3 AS price, s1 AS channel, s2 AS url, date_time, extra
        FROM events WHERE kind = 2
    """,
}

PLAIN_BID = "auction BIGINT, bidder BIGINT, price BIGINT, date_time TIMESTAMP(3), extra STRING"
WHOLE_BID = (
    "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP(3), extra STRING"
)
WHOLE_AUCTION = (
    "id BIGINT, item STRING, description STRING, first_bid BIGINT, reserve BIGINT, opened TIMESTAMP(3), "
    "expires TIMESTAMP(3), seller BIGINT, category BIGINT, auction_extra STRING"
)
RANKS = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}


def counts(argument):
    """A count for each range of prices."""
    return ", ".join(f"COUNT({argument}) FILTER (WHERE {condition})" for condition in RANKS.values())


BIGINTS = ", ".join(f"c{index} BIGINT" for index in range(12))
DISTINCT_COUNTS = ", ".join(
    f"COUNT({argument}), {counts(argument)}" for argument in ("*", "DISTINCT bidder", "DISTINCT auction")
)
CHANNEL_ID = "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"
DAY = "DATE_FORMAT(date_time, 'yyyy-MM-dd')"
TEN_SECONDS = "DESCRIPTOR(date_time), INTERVAL '10' SECOND"
AUCTION_COLUMNS = (
    "a.id, a.item, a.description, a.first_bid, a.reserve, a.date_time AS opened, a.expires, a.seller, a.category, "
    "a.extra AS auction_extra"
)
# Bids while their auction was open.
IN_TIME = "a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires"
HOT_COUNTS = """
    SELECT auction, COUNT(*) AS num, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
"""
HIGHEST_PRICES = f"""
    SELECT MAX(price) AS highest, window_start, window_end
    FROM TABLE(TUMBLE(TABLE bid, {TEN_SECONDS})) GROUP BY window_start, window_end
"""

# Sinks that are not a blackhole.
SINKS = {
    "q10": """PARTITIONED BY (dt, hm) WITH (
        'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv',
        'sink.rolling-policy.rollover-interval' = '1 min', 'sink.partition-commit.trigger' = 'partition-time',
        'sink.partition-commit.delay' = '1 min', 'sink.partition-commit.policy.kind' = 'success-file',
        'partition.time-extractor.timestamp-pattern' = '$dt $hm:00'
    )""",
}

# Name -> the columns of the sink, and the query.
AVERAGES = "auction BIGINT, bidder BIGINT, starts TIMESTAMP(3), ends TIMESTAMP(3), average BIGINT"
AVERAGE = "FIRST(A.date_time) AS starts, LAST(A.date_time) AS ends, AVG(A.price) AS average"


def _pattern(measures, skip, pattern, define, within=""):
    return f"""SELECT * FROM bid MATCH_RECOGNIZE (
               PARTITION BY auction, bidder ORDER BY date_time
               MEASURES {measures}
               ONE ROW PER MATCH AFTER MATCH SKIP {skip}
               PATTERN ({pattern}) {within}
               DEFINE {define})"""


QUERIES = {
    "q0": (PLAIN_BID, "SELECT auction, bidder, price, date_time, extra FROM bid"),
    "q1": (
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), date_time TIMESTAMP(3), extra STRING",
        "SELECT auction, bidder, 0.908 * price, date_time, extra FROM bid",
    ),
    "q2": ("auction BIGINT, price BIGINT", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q3": (
        "name STRING, city STRING, state STRING, id BIGINT",
        """SELECT p.name, p.city, p.state, a.id FROM auction AS a JOIN person AS p ON a.seller = p.id
           WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID' OR p.state = 'CA')""",
    ),
    "q4": (
        "category BIGINT, average BIGINT",
        f"""SELECT category, AVG(final_price)
            FROM (SELECT a.category, MAX(b.price) AS final_price FROM auction AS a, bid AS b
                  WHERE {IN_TIME} GROUP BY a.id, a.category)
            GROUP BY category""",
    ),
    "q5": (
        "auction BIGINT, num BIGINT",
        f"""SELECT counted.auction, counted.num FROM ({HOT_COUNTS}) AS counted
            JOIN (SELECT MAX(num) AS most, window_start, window_end FROM ({HOT_COUNTS})
                  GROUP BY window_start, window_end) AS hottest
            ON counted.window_start = hottest.window_start AND counted.window_end = hottest.window_end
               AND counted.num >= hottest.most""",
    ),
    "q6": (
        "seller BIGINT, average BIGINT",
        f"""SELECT seller, AVG(final_price) OVER (
                PARTITION BY seller ORDER BY bid_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
            FROM (SELECT a.seller, b.price AS final_price, b.date_time AS bid_time,
                         ROW_NUMBER() OVER (PARTITION BY a.id, a.seller ORDER BY b.price DESC) AS place
                  FROM auction AS a, bid AS b WHERE {IN_TIME})
            WHERE place <= 1""",
    ),
    "q7": (
        PLAIN_BID,
        f"""SELECT b.auction, b.bidder, b.price, b.date_time, b.extra FROM bid AS b JOIN ({HIGHEST_PRICES}) AS w
            ON b.price = w.highest AND b.date_time BETWEEN w.window_end - INTERVAL '10' SECOND AND w.window_end""",
    ),
    "q8": (
        "id BIGINT, name STRING, starttime TIMESTAMP(3)",
        f"""SELECT p.id, p.name, p.window_start
            FROM (SELECT id, name, window_start, window_end FROM TABLE(TUMBLE(TABLE person, {TEN_SECONDS}))
                  GROUP BY id, name, window_start, window_end) AS p
            JOIN (SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE auction, {TEN_SECONDS}))
                  GROUP BY seller, window_start, window_end) AS a
            ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end""",
    ),
    "q9": (
        f"{WHOLE_AUCTION}, auction BIGINT, bidder BIGINT, price BIGINT, bid_time TIMESTAMP(3), bid_extra STRING",
        f"""SELECT id, item, description, first_bid, reserve, opened, expires, seller, category, auction_extra,
                   auction, bidder, price, bid_time, bid_extra
            FROM (SELECT {AUCTION_COLUMNS}, b.auction, b.bidder, b.price, b.date_time AS bid_time,
                         b.extra AS bid_extra,
                         ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time ASC) AS place
                  FROM auction AS a, bid AS b WHERE {IN_TIME})
            WHERE place <= 1""",
    ),
    "q10": (
        f"{PLAIN_BID}, dt STRING, hm STRING",
        f"SELECT auction, bidder, price, date_time, extra, {DAY}, DATE_FORMAT(date_time, 'HH:mm') FROM bid",
    ),
    "q11": (
        "bidder BIGINT, bids BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        """SELECT bidder, COUNT(*), SESSION_START(date_time, INTERVAL '10' SECOND),
                  SESSION_END(date_time, INTERVAL '10' SECOND)
           FROM bid GROUP BY bidder, SESSION(date_time, INTERVAL '10' SECOND)""",
    ),
    "q12": (
        "bidder BIGINT, bids BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        """SELECT bidder, COUNT(*), window_start, window_end
           FROM TABLE(TUMBLE(
               (SELECT *, PROCTIME() AS p_time FROM bid), DESCRIPTOR(p_time), INTERVAL '10' SECOND))
           GROUP BY bidder, window_start, window_end""",
    ),
    "q13": (
        "auction BIGINT, bidder BIGINT, price BIGINT, date_time TIMESTAMP(3), `value` STRING",
        """SELECT b.auction, b.bidder, b.price, b.date_time, s.`value`
           FROM (SELECT *, PROCTIME() AS p_time FROM bid) AS b
           JOIN side_input FOR SYSTEM_TIME AS OF b.p_time AS s ON MOD(b.auction, 10000) = s.`key`""",
    ),
    "q14": (
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), part STRING, date_time TIMESTAMP(3), extra STRING, c INT",
        """SELECT auction, bidder, 0.908 * price,
                CASE WHEN HOUR(date_time) >= 8 AND HOUR(date_time) <= 18 THEN 'dayTime'
                     WHEN HOUR(date_time) <= 6 OR HOUR(date_time) >= 20 THEN 'nightTime' ELSE 'otherTime' END,
                date_time, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', ''))
           FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    ),
    "q15": (f"`day` STRING, {BIGINTS}", f"SELECT {DAY}, {DISTINCT_COUNTS} FROM bid GROUP BY {DAY}"),
    "q16": (
        f"channel STRING, `day` STRING, `minute` STRING, {BIGINTS}",
        f"""SELECT channel, {DAY}, MAX(DATE_FORMAT(date_time, 'HH:mm')), {DISTINCT_COUNTS}
            FROM bid GROUP BY channel, {DAY}""",
    ),
    "q17": (
        "auction BIGINT, `day` STRING, total BIGINT, rank1 BIGINT, rank2 BIGINT, rank3 BIGINT, "
        "lowest BIGINT, highest BIGINT, average BIGINT, summed BIGINT",
        f"""SELECT auction, {DAY}, COUNT(*), {counts("*")}, MIN(price), MAX(price), AVG(price), SUM(price)
            FROM bid GROUP BY auction, {DAY}""",
    ),
    "q18": (
        WHOLE_BID,
        """SELECT auction, bidder, price, channel, url, date_time, extra
           FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place FROM bid)
           WHERE place <= 1""",
    ),
    "q19": (
        f"{WHOLE_BID}, place BIGINT",
        """SELECT auction, bidder, price, channel, url, date_time, extra, place
           FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid)
           WHERE place <= 10""",
    ),
    "q20": (
        f"{WHOLE_BID}, {WHOLE_AUCTION}",
        f"""SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, b.extra, {AUCTION_COLUMNS}
            FROM bid AS b JOIN auction AS a ON b.auction = a.id WHERE a.category = 10""",
    ),
    "q21": (
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, channel_id STRING",
        f"""SELECT auction, bidder, price, channel,
                 CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'
                      WHEN 'baidu' THEN '3' ELSE {CHANNEL_ID} END
            FROM bid
            WHERE {CHANNEL_ID} IS NOT NULL OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    ),
    "q22": (
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, dir1 STRING, dir2 STRING, dir3 STRING",
        """SELECT auction, bidder, price, channel,
                SPLIT_INDEX(url, '/', 3), SPLIT_INDEX(url, '/', 4), SPLIT_INDEX(url, '/', 5) FROM bid""",
    ),
    "q23": (
        "auction BIGINT, bidder BIGINT, price BIGINT, date_time TIMESTAMP(3), name STRING, city STRING, sold BIGINT, "
        "item STRING",
        """SELECT b.auction, b.bidder, b.price, b.date_time, p.name, p.city, a.id, a.item
           FROM bid AS b JOIN person AS p ON p.id = b.bidder JOIN auction AS a ON a.seller = b.bidder""",
    ),
    # Nexmark's queries of patterns: its cep q0 to q3.
    "cep0": (
        "auction BIGINT, bidder BIGINT, starts TIMESTAMP(3), bottom TIMESTAMP(3), ends TIMESTAMP(3)",
        _pattern(
            "FIRST_BID.date_time AS starts, LAST(DOWN.date_time) AS bottom, LAST(UP.date_time) AS ends",
            "TO LAST UP",
            "FIRST_BID DOWN+ UP",
            """DOWN AS (LAST(DOWN.price, 1) IS NULL AND DOWN.price < FIRST_BID.price)
                    OR DOWN.price < LAST(DOWN.price, 1),
               UP AS UP.price > LAST(DOWN.price, 1)""",
        ),
    ),
    "cep1": (AVERAGES, _pattern(AVERAGE, "PAST LAST ROW", "A+ B", "A AS AVG(A.price) < 10000")),
    "cep2": (AVERAGES, _pattern(AVERAGE, "TO NEXT ROW", "A+ B", "A AS AVG(A.price) < 10000")),
    "cep3": (
        "auction BIGINT, bidder BIGINT, dropped TIMESTAMP(3), difference BIGINT",
        _pattern(
            "C.date_time AS dropped, A.price - C.price AS difference",
            "PAST LAST ROW",
            "A B* C",
            "B AS B.price > A.price - 50, C AS C.price < A.price - 50",
            "WITHIN INTERVAL '5' SECOND",
        ),
    ),
    # The windows of q5 and q7 alone.
    "q5_windows": (
        "auction BIGINT, num BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        HOT_COUNTS,
    ),
    "q7_windows": ("highest BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)", HIGHEST_PRICES),
}

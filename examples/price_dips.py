"""The V of a share price in SQL: it falls, then rises."""

from funke.table import EnvironmentSettings, TableEnvironment

PRICES = """
    CREATE TEMPORARY VIEW ticker AS SELECT * FROM (VALUES
        ('ACME', 17, TIMESTAMP '2024-01-01 10:00:01'), ('ACME', 15, TIMESTAMP '2024-01-01 10:00:02'),
        ('ACME', 12, TIMESTAMP '2024-01-01 10:00:03'), ('ACME', 20, TIMESTAMP '2024-01-01 10:00:04'),
        ('ACME', 19, TIMESTAMP '2024-01-01 10:00:05'), ('ACME', 21, TIMESTAMP '2024-01-01 10:00:06'),
        ('FUNK', 5, TIMESTAMP '2024-01-01 10:00:01'), ('FUNK', 6, TIMESTAMP '2024-01-01 10:00:02')
    ) AS t (symbol, price, rowtime)
"""
DIPS = """
    SELECT symbol, start_price, bottom_price, end_price FROM ticker MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY rowtime
        MEASURES BEGINS.price AS start_price, LAST(DOWN.price) AS bottom_price, UP.price AS end_price
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST UP
        PATTERN (BEGINS DOWN+ UP)
        DEFINE
            DOWN AS DOWN.price < LAST(DOWN.price, 1)
                OR (LAST(DOWN.price, 1) IS NULL AND DOWN.price < BEGINS.price),
            UP AS UP.price > LAST(DOWN.price)
    )
"""


def main():
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql(PRICES)
    with t_env.execute_sql(DIPS).collect() as rows:
        for symbol, start, bottom, end in rows:
            print(f"{symbol} fell from {start} to {bottom}, then rose to {end}")


if __name__ == "__main__":
    main()

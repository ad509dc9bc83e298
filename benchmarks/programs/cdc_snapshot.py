"""How fast the rows of a table are read that changes are to follow, and how fast a client copies them.

python -m funke run cdc_snapshot.py snapshot PORT DATABASE USER PASSWORD TABLE WARM_UP_TABLE     (Funke)
python cdc_snapshot.py bare PORT DATABASE USER PASSWORD TABLE                                    (the client alone)

Prints `SECONDS x`: of the second run, if there is a warm-up.
"""

import sys
import time

COLUMNS = "id BIGINT, name STRING, price DOUBLE, amount INT, paid BOOLEAN, `at` TIMESTAMP(6)"
NAMES = "id, name, price, amount, paid, `at`"


def bare(port, database, user, password, table):
    import psycopg

    began, size = time.perf_counter(), 0
    connection = psycopg.connect(host="127.0.0.1", port=port, dbname=database, user=user, password=password)
    with connection, connection.cursor().copy(f"COPY {table} TO STDOUT") as rows:
        while data := rows.read():
            size += len(data)
    assert size
    return time.perf_counter() - began


def snapshot(port, database, user, password, table):
    from pyflink.table import EnvironmentSettings, TableEnvironment

    began = time.perf_counter()
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "2").set("execution.checkpointing.interval", "3 s")
    login = f"'username' = '{user}', 'password' = '" + password.replace("'", "''") + "'"
    tables.execute_sql(
        f"""CREATE TABLE source ({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'postgres-cdc',
        'hostname' = '127.0.0.1', 'port' = '{port}', {login}, 'database-name' = '{database}', 'schema-name' = 'public',
        'table-name' = '{table}', 'slot.name' = 'bench', 'scan.startup.mode' = 'snapshot')"""
    )
    tables.execute_sql(f"CREATE TABLE target ({COLUMNS}) WITH ('connector' = 'blackhole')")
    tables.execute_sql(f"INSERT INTO target SELECT {NAMES} FROM source").wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    job, port, database, user, password, table, *warm_ups = sys.argv[1:]
    run, where = {"bare": bare, "snapshot": snapshot}[job], (port, database, user, password)
    for warm_up in warm_ups:
        run(*where, warm_up)
    print("SECONDS", run(*where, table))

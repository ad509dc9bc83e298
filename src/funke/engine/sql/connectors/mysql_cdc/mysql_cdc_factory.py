"""The connector mysql-cdc: from its options to a source."""

from __future__ import annotations

import random
import re
from zoneinfo import ZoneInfo

from funke.engine.connectors.jdbc.jdbc_url import mysql_parameters
from funke.engine.connectors.jdbc.mysql_database import MySqlDatabase
from funke.engine.connectors.mysql_cdc.gtids import GtidSet
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings
from funke.engine.connectors.mysql_cdc.source import MySqlCdcSource
from funke.engine.errors import SourceError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.change_tables import (
    APPEND_ONLY,
    CHUNK,
    CHUNK_KEY,
    HEARTBEAT,
    HOST,
    NO_EFFECT,
    PASSWORD,
    SKIPPED,
    TIMEOUT,
    ChangeTableFactory,
    connection_of,
    rejected,
)
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.types.logical.row_type import RowField

__all__ = ["MySqlCdcFactory"]

_PORT = TableOption("port", "Integer", "3306", "Its port.")
_USER = TableOption(
    "username",
    description="Who connects; needs SELECT, REPLICATION SLAVE and REPLICATION CLIENT, on MySQL also LOCK TABLES.",
)
_DATABASE = TableOption("database-name", description="A pattern that whole names of databases match.")
_TABLE = TableOption(
    "table-name", description="A pattern that whole names of tables match; several may have the columns."
)
_SERVER_ID = TableOption(
    "server-id",
    description="The reader's number at the server, which must be unique; the first one of a range "
    "such as '5400-5408'. By default a random one of 5400 to 6400.",
)
_ZONE = TableOption(
    "server-time-zone",
    default="UTC",
    description="The zone of TIMESTAMP columns that are declared as TIMESTAMP, and of DATETIME columns that are "
    "declared as TIMESTAMP_LTZ.",
)
_START = TableOption(
    "scan.startup.mode",
    "Enum",
    "initial",
    "Reads the tables and then the log; the log from its first file, from now on, from a position or from a time on; "
    "or the tables alone.",
    ("initial", "earliest-offset", "latest-offset", "specific-offset", "timestamp", "snapshot"),
)
_FILE = TableOption(
    "scan.startup.specific-offset.file", description="The file of the log that 'specific-offset' means."
)
_POS = TableOption("scan.startup.specific-offset.pos", "Long", None, "The offset in this file.")
_GTIDS = TableOption(
    "scan.startup.specific-offset.gtid-set",
    description="Instead of both: reads all transactions of the log except those of this set, as '0-1-100' or "
    "'uuid:1-100'.",
)
_REJECTED = (
    rejected("scan.newly-added-table.enabled", "which tables are read is settled when the job starts"),
    rejected(
        "scan.parse.online.schema.changes.enabled", "tables that tools for changing schemas make are not followed"
    ),
    rejected("use.legacy.json.format", "JSON is the text that the server shows"),
    rejected("scan.startup.specific-offset.skip-events", "reading begins with a whole transaction", "Long", "0"),
    rejected("scan.startup.specific-offset.skip-rows", "reading begins with a whole transaction", "Long", "0"),
)
_STREAMED = TableOption("debezium.min.row.count.to.stream.result", "Integer", "1000", "Has no effect here.")
_TIME = TableOption("scan.startup.timestamp-millis", "Long", None, "The time that 'timestamp' means.")
# Parameters of the Java driver: sslMode, useSSL and the others that its URLs may have here.
_PROPERTIES = "jdbc.properties"
_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*\d+\s*)?")


class MySqlCdcFactory(ChangeTableFactory):
    identifier = "mysql-cdc"
    purpose = (
        "Tables of MySQL and MariaDB with all changes: the present rows, then the binary log. "
        "Needs `binlog_format = ROW` and the driver PyMySQL (`funke[mysql]`). Options `jdbc.properties.…` are "
        "parameters as in the URLs of the connector jdbc: `jdbc.properties.sslMode`."
    )
    free_prefixes = (f"{_PROPERTIES}.",)
    required_options = (HOST, _USER, PASSWORD, _DATABASE, _TABLE)
    optional_options = (
        _PORT,
        _SERVER_ID,
        _ZONE,
        _START,
        _FILE,
        _POS,
        _GTIDS,
        _TIME,
        CHUNK,
        CHUNK_KEY,
        HEARTBEAT,
        TIMEOUT,
        SKIPPED,
        APPEND_ONLY,
        _STREAMED,
        *NO_EFFECT,
        *_REJECTED,
    )

    source_type = MySqlCdcSource
    patterns = (_DATABASE, _TABLE)
    defaults_only = _REJECTED

    def create_settings(self, values: OptionValues, fields: tuple[RowField, ...]) -> MySqlCdcSettings:
        parameters = mysql_parameters(values.behind(_PROPERTIES).strings.items())
        return MySqlCdcSettings(
            MySqlDatabase({**connection_of(values, _USER), "port": values[_PORT], **parameters}),
            values[_DATABASE],
            values[_TABLE],
            fields,
            _server_id(values[_SERVER_ID]),
            _zone(values[_ZONE]),
            start_mode=values[_START],
            start_position=_position(values),
            start_time_ms=_time_ms(values),
            start_gtids=_gtids(values),
        )


def _server_id(text: str | None) -> int:
    if text is None:
        # The range of Flink CDC. Of two readers with one id the server disconnects the one that came first.
        return random.randint(5400, 6400)
    match = _RANGE.fullmatch(text)
    if match is None or not 0 < int(match[1]) < 1 << 32:
        raise ValidationException(f"The server id '{text}' is not a valid numeric, like '5400' or '5400-5408'.")
    return int(match[1])


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        if not re.fullmatch(r"[+-]\d\d:\d\d", name):
            raise ValidationException(f"'{_ZONE.key}' = '{name}' is not a time zone like 'Europe/Berlin'.") from None
    return name


def _position(values: OptionValues) -> LogPosition | None:
    if values[_START] != "specific-offset" or values[_GTIDS] is not None:
        return None
    if values[_FILE] is None or values[_POS] is None:
        raise ValidationException(f"'specific-offset' needs '{_FILE.key}' and '{_POS.key}', or '{_GTIDS.key}'.")
    try:
        return LogPosition.of(values[_FILE], values[_POS])
    except SourceError as error:
        raise ValidationException(str(error)) from None


def _gtids(values: OptionValues) -> GtidSet | None:
    if values[_START] != "specific-offset" or values[_GTIDS] is None:
        return None
    try:
        return GtidSet.from_text(values[_GTIDS])
    except SourceError as error:
        raise ValidationException(str(error)) from None


def _time_ms(values: OptionValues) -> int:
    if values[_START] != "timestamp":
        return 0
    if values[_TIME] is None:
        raise ValidationException(f"'timestamp' needs '{_TIME.key}'.")
    return int(values[_TIME])

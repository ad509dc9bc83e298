"""The options of tables for watermarks."""

from __future__ import annotations

from funke.engine.sql.connectors.table_option import TableOption

__all__ = ["ALIGNMENT", "EMIT_GAP", "EMIT_STRATEGY", "IDLE_TIMEOUT", "WATERMARK_OPTIONS"]

EMIT_STRATEGY = TableOption(
    "scan.watermark.emit.strategy",
    "Enum",
    "on-periodic",
    "When watermarks are sent: at the auto-watermark interval, or behind rows.",
    ("on-event", "on-periodic"),
)
EMIT_GAP = TableOption(
    "scan.watermark.emit.on-event.gap", "Integer", "1", "Behind every so many rows a watermark is sent with on-event."
)
IDLE_TIMEOUT = TableOption(
    "scan.watermark.idle-timeout",
    "Duration",
    None,
    "A subtask without rows for so long does not hold back event time; 'table.exec.source.idle-timeout' by default.",
)
ALIGNMENT = (
    TableOption("scan.watermark.alignment.group", description="Rejected: watermarks of tables are not aligned."),
    TableOption("scan.watermark.alignment.max-drift", "Duration", None, "Rejected, too."),
    TableOption("scan.watermark.alignment.update-interval", "Duration", "1 s", "Rejected, too."),
)

WATERMARK_OPTIONS = (EMIT_STRATEGY, EMIT_GAP, IDLE_TIMEOUT, *ALIGNMENT)

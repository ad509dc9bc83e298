# compare: ordered
# parallelism: 1
"""Rows, row kinds, instants, durations and configurations outside any job."""

from __future__ import annotations

import pickle

from pyflink.common import Configuration, Duration, Instant, Row, RowKind, Time, Types
from pyflink.common.job_status import JobStatus


def tell_rows() -> None:
    row = Row(1, "hi", None)
    print(repr(row), str(row), len(row), list(row), row[0], row[-1], row[0:2])
    named = Row(name="Alice", age=11)
    print(named, named.name, named["age"], "name" in named, "x" in named, named.as_dict())
    person = Row("name", "age")
    print(person, person("Bob", 3), person("Bob", 3) == Row(name="Bob", age=3), Row(1) == Row(1), Row(1) != (1,))
    named["age"] = 12
    print(named, hash(Row(1, 2)) == hash((1, 2)), named.get_fields_by_names(["age", "name"]))
    nested = Row(key=1, value=Row(name="a"))
    print(nested.as_dict(True), nested)
    changed = Row.of_kind(RowKind.DELETE, 1)
    print(changed, changed.get_row_kind(), changed == Row(1), [str(kind) for kind in RowKind])
    row.set_field_names(["a", "b", "c"])
    print(row, row.a, pickle.loads(pickle.dumps(row)) == row, pickle.loads(pickle.dumps(changed)).get_row_kind())


def tell_times() -> None:
    instant = Instant.of_epoch_milli(1500)
    print(instant, instant.to_epoch_milli(), instant.seconds, instant.nanos, instant == Instant(1, 500_000_000))
    print(
        [unit(2).to_milliseconds() for unit in (Time.milliseconds, Time.seconds, Time.minutes, Time.hours, Time.days)]
    )
    print(Duration.of_seconds(90) == Duration.of_millis(90_000), Duration.of_days(1) == Duration.of_hours(24))


def tell_configuration() -> None:
    configuration = Configuration()
    configuration.set_string("text", "a").set_integer("number", 7).set_boolean("flag", True).set_float("float", 1.5)
    print(configuration.get_string("text", ""), configuration.get_integer("number", 0), sorted(configuration.key_set()))
    print(
        configuration.get_boolean("flag", False), configuration.get_float("float", 0.0), sorted(configuration.to_dict())
    )
    print(configuration.get_string("missing", "default"), configuration.contains_key("text"))
    print(configuration.remove_config("text"), configuration.contains_key("text"))


def main() -> None:
    tell_rows()
    tell_times()
    tell_configuration()
    row_type = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    print(row_type.get_field_names(), row_type.get_field_types(), row_type.get_field_index("b"))
    print([status.name for status in JobStatus if status.is_globally_terminal_state()])


if __name__ == "__main__":
    main()

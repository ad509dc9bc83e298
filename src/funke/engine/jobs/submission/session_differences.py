"""A Spark session that was there before a job keeps its settings: reports those that differ from the job's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from funke.engine.config.secret_keys import masked
from funke.engine.config.settings import Settings
from funke.engine.jobs.notices import notice

__all__ = ["warn_of_other_session"]

_FILES = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")


def warn_of_other_session(
    settings: Settings, of_session: Mapping[str, str], of_starter: Mapping[str, str] | None = None
) -> None:
    """Writes a line about every Spark setting that differs from the job's.

    `of_starter` is what the job asked for that has started the session, if one did: this job may not want all of it.
    """
    own = {key: value for key, value in settings.to_text_dict().items() if _concerns_session(key)}
    further = {key: value for key, value in (of_starter or {}).items() if _concerns_session(key) and key not in own}
    differing = [*_differences(own, of_session), *_not_wanted(further)]
    if differing:
        notice(f"warning: Spark's session was there before the job and keeps its settings: {'; '.join(differing)}")


def _concerns_session(key: str) -> bool:
    # Settings of Hadoop's clients are handed on by ourselves.
    return key.startswith("spark.") and not key.startswith("spark.hadoop.")


def _differences(own: Mapping[str, str], of_session: Mapping[str, str]) -> Iterator[str]:
    masked_own, masked_session = masked(own), masked(of_session)
    for key, value in masked_own.items():
        if key not in of_session:
            yield f"{key} is not set, the job asks for '{value}'"
        elif not _holds(key, of_session[key], own[key]):
            yield f"{key} is '{masked_session[key]}', the job asks for '{value}'"


def _not_wanted(further: Mapping[str, str]) -> Iterator[str]:
    for key, value in masked(further).items():
        # Every job has its own name, and the application that of its first one.
        if key != "spark.app.name":
            yield f"{key} is '{value}' for another job"


def _holds(key: str, session_value: str, own_value: str) -> bool:
    if key.endswith("JavaOptions"):
        # Spark adds its own.
        return set(own_value.split()) <= set(session_value.split())
    if key in _FILES:
        return set(map(_path_of, own_value.split(","))) <= set(map(_path_of, session_value.split(",")))
    return session_value.strip() == own_value.strip() or {session_value.lower(), own_value.lower()} in (
        {"true"},
        {"false"},
    )


def _path_of(file: str) -> str:
    """Spark makes URIs of paths."""
    scheme, colon, rest = file.strip().partition(":")
    if colon and scheme != "file":
        return file.strip()
    return os.path.abspath("/" + rest.lstrip("/") if colon else scheme)

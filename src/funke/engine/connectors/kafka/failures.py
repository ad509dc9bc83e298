"""What the Kafka client reports, as sentences: which server, topic or group, what is wrong, what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from funke.engine.connectors.kafka.client_properties import ClientProperties

__all__ = ["client_logger", "explain", "is_passing"]


def client_logger() -> logging.Logger:
    """Where the client's own lines go, instead of the standard error stream."""
    return logging.getLogger("funke.kafka.client")


def explain(error: Any, properties: ClientProperties, about: str = "") -> str:
    """One sentence about a client error, given as an exception or as its content."""
    cause = error.args[0] if isinstance(error, Exception) and error.args else error
    servers = properties.get("bootstrap.servers", "")
    name = cause.name() if hasattr(cause, "name") else type(error).__name__
    said = cause.str() if hasattr(cause, "str") else str(cause)
    sentence = _SENTENCES.get(name)
    if sentence is not None:
        return sentence(about or "the topic", servers or "", properties)
    return (
        f"Kafka at '{servers}' says about {about}: {said} ({name})"
        if about
        else f"Kafka at '{servers}': {said} ({name})"
    )


def is_passing(error: Any) -> bool:
    """Whether the client itself tries again: a broker is away, or a partition gets a new leader."""
    return error.name() in _PASSING or (error.retriable() and not error.fatal())


_PASSING = {
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_RESOLVE",
    "_TIMED_OUT",
    "_WAIT_COORD",
    "_DESTROY",
    "NOT_LEADER_FOR_PARTITION",
    "LEADER_NOT_AVAILABLE",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR",
    "REQUEST_TIMED_OUT",
    "NETWORK_EXCEPTION",
    "_MAX_POLL_EXCEEDED",
}


def _unreachable(about: str, servers: str, properties: ClientProperties) -> str:
    return f"Kafka cannot be reached at '{servers}'; check 'bootstrap.servers', 'security.protocol' and that it runs"


def _not_authenticated(about: str, servers: str, properties: ClientProperties) -> str:
    mechanism = properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "SASL"
    return f"Kafka at '{servers}' rejects the user name or password ({mechanism})"


def _unknown(about: str, servers: str, properties: ClientProperties) -> str:
    return f"Kafka at '{servers}' does not have {about}"


def _forbidden(what: str) -> Callable[[str, str, ClientProperties], str]:
    def sentence(about: str, servers: str, properties: ClientProperties) -> str:
        named = about if about.startswith(what) else f"{what} of the job"
        return f"Kafka at '{servers}' does not permit the user to use {named}"

    return sentence


def _gone(about: str, servers: str, properties: ClientProperties) -> str:
    return (
        f"the position in {about} does not exist (any more): its records were deleted, or nothing was committed; "
        "choose another starting offset, or set 'auto.offset.reset' to 'earliest' or 'latest'"
    )


def _not_taken(about: str, servers: str, properties: ClientProperties) -> str:
    return (
        f"Kafka at '{servers}' has not taken a record for {about} in time ('delivery.timeout.ms'): it does not exist, "
        "or its leader is away"
    )


def _timeout_too_long(about: str, servers: str, properties: ClientProperties) -> str:
    return (
        f"Kafka at '{servers}' does not allow transactions of {properties.get('transaction.timeout.ms', '?')} ms; set "
        "'transaction.timeout.ms' of the sink to at most the broker's 'transaction.max.timeout.ms'"
    )


_SENTENCES: dict[str, Callable[[str, str, ClientProperties], str]] = {
    "_TRANSPORT": _unreachable,
    "_ALL_BROKERS_DOWN": _unreachable,
    "_TIMED_OUT": _unreachable,
    "_RESOLVE": _unreachable,
    "_SSL": lambda about, servers, properties: f"no secure connection (TLS) to Kafka at '{servers}' could be made",
    "_AUTHENTICATION": _not_authenticated,
    "SASL_AUTHENTICATION_FAILED": _not_authenticated,
    "UNKNOWN_TOPIC_OR_PART": _unknown,
    "_UNKNOWN_TOPIC": _unknown,
    "_UNKNOWN_PARTITION": _unknown,
    "TOPIC_AUTHORIZATION_FAILED": _forbidden(""),
    "GROUP_AUTHORIZATION_FAILED": _forbidden("the group"),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _forbidden("the transactional id"),
    "CLUSTER_AUTHORIZATION_FAILED": _forbidden("the cluster for the writers"),
    "_AUTO_OFFSET_RESET": _gone,
    "OFFSET_OUT_OF_RANGE": _gone,
    "_MSG_TIMED_OUT": _not_taken,
    "INVALID_TRANSACTION_TIMEOUT": _timeout_too_long,
}

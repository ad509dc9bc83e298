"""Client properties: Java's names, as programs write them, and what Kafka's C client calls the same things."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from funke.engine.config.secret_keys import masked
from funke.engine.errors import ConfigurationError

__all__ = ["ClientProperties", "is_true"]

Native = dict[str, str]

# The same under another name.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "default.api.timeout.ms": "socket.timeout.ms",
}
# They concern the Java client's own objects; partitions are handed out by the job and not by the group.
_WITHOUT_MEANING = (
    "key.deserializer",
    "value.deserializer",
    "key.serializer",
    "value.serializer",
    "interceptor.classes",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "partition.assignment.strategy",
    "group.protocol",
    "group.remote.assignor",
    "group.instance.id",
    "internal.leave.group.on.close",
    "throw.on.fetch.stable.offset.unsupported",
    "exclude.internal.topics",
    "security.providers",
    "auto.include.jmx.reporter",
    "enable.metrics.push",
    "max.block.ms",
    "partitioner.availability.timeout.ms",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.ignore.keys",
    "ssl.protocol",
    "ssl.provider",
    "ssl.enabled.protocols",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.secure.random.implementation",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.buffer.seconds",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
)
# What the builders and options of Flink's connector read themselves.
OWN = (
    "partition.discovery.interval.ms",
    "flink.partition-discovery.interval-millis",
    "commit.offsets.on.checkpoint",
    "client.id.prefix",
    "register.consumer.metrics",
    "register.producer.metrics",
    "max.poll.records",
)
# Programs often give one set of properties to both.
_OF_CONSUMERS = ("group.id", "auto.offset.reset", "enable.auto.commit", "isolation.level", "auto.commit.interval.ms")
_JAAS_OPTION = re.compile(r'([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^\s;]+))')
_logger = logging.getLogger("funke.kafka")


def is_true(value: Any) -> bool:
    """Whether a property says yes."""
    return str(value).strip().lower() == "true"


@dataclass(frozen=True)
class ClientProperties:
    """The properties of a client as a program gives them; its text form shows no secrets."""

    settings: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(properties: Mapping[str, Any]) -> ClientProperties:
        """Takes what a program has given, whatever the types of its values."""
        return ClientProperties({str(key): _to_text(value) for key, value in properties.items()})

    def with_(self, **more: str) -> ClientProperties:
        """With further properties, `group_id` for `group.id`, in place of those of the same name."""
        return ClientProperties({**self.settings, **{key.replace("_", "."): value for key, value in more.items()}})

    def get(self, key: str, otherwise: str | None = None) -> str | None:
        """What the program has given for a key."""
        return self.settings.get(key, otherwise)

    def __repr__(self) -> str:
        return f"ClientProperties({masked(self.settings)})"

    def consumer(self, **own: Any) -> dict[str, Any]:
        """The settings of a consumer of the C client."""
        return {"isolation.level": "read_uncommitted", **self._native(), **own}

    def producer(self, **own: Any) -> dict[str, Any]:
        """The settings of a producer, which picks the same partition for a key as Java's."""
        native = {key: value for key, value in self._native().items() if key not in _OF_CONSUMERS}
        return {"partitioner": "murmur2_random", **native, **own}

    def admin(self, **own: Any) -> dict[str, Any]:
        """The settings of what asks for topics and offsets: how to get there."""
        reaching = (
            "bootstrap.servers",
            "security.",
            "sasl.",
            "ssl.",
            "enable.ssl",
            "client.id",
            "client.dns",
            "socket.",
        )
        return (
            {key: value for key, value in self._native().items() if key.startswith(reaching)} | {"log_level": 4} | own
        )

    def _native(self) -> Native:
        native: Native = {}
        for key, value in self.settings.items():
            if key in OWN or key in _WITHOUT_MEANING:
                continue
            translate = _TRANSLATED.get(key)
            native |= translate(value, self.settings) if translate else {_RENAMED.get(key, key): value}
        return native

    def checked(self, create: Callable[[dict[str, Any]], Any], settings: str) -> ClientProperties:
        """Drops properties that the C client does not know, with a warning; a value that it rejects is an error."""
        from confluent_kafka import KafkaException

        kept = self
        while True:
            native = getattr(kept, settings)(**{"log_level": 0})
            try:
                create(native)
                return kept
            except KafkaException as error:
                unknown = re.search(r'No such configuration property: "([^"]+)"', str(error))
                if unknown is None:
                    raise ConfigurationError(f"a property of the Kafka client is wrong: {_reason(error)}") from None
                name = unknown.group(1)
                names = {key for key in kept.settings if _RENAMED.get(key, key) == name}
                _logger.warning("the property '%s' is unknown to the Kafka client and has no effect", name)
                kept = ClientProperties({key: value for key, value in kept.settings.items() if key not in names})


def _reason(error: Exception) -> str:
    cause = error.args[0]
    return str(cause.str() if hasattr(cause, "str") else cause)


def _to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _jaas(text: str, properties: Mapping[str, str]) -> Native:
    """Name and password out of a line for Java's login modules."""
    module = text.split(maxsplit=1)[0] if text.split() else ""
    raw_options = {key: next(filter(None, values), "") for key, *values in _JAAS_OPTION.findall(text)}
    options = {key: re.sub(r"\\(.)", r"\1", value) for key, value in raw_options.items()}
    if module.endswith(("PlainLoginModule", "ScramLoginModule")):
        return {"sasl.username": options.get("username", ""), "sasl.password": options.get("password", "")}
    if module.endswith("OAuthBearerLoginModule"):
        named = {
            "clientId": "sasl.oauthbearer.client.id",
            "clientSecret": "sasl.oauthbearer.client.secret",
            "scope": "sasl.oauthbearer.scope",
        }
        return {"sasl.oauthbearer.method": "oidc"} | {
            native: options[name] for name, native in named.items() if name in options
        }
    if module.endswith("Krb5LoginModule"):
        named = {"keyTab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"}
        return {native: options[name] for name, native in named.items() if name in options}
    raise ConfigurationError(
        f"'sasl.jaas.config' names the login module '{module}', which is Java code; "
        "PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule and Krb5LoginModule are understood"
    )


def _store(kind: str) -> Callable[[str, Mapping[str, str]], Native]:
    """Key and trust stores: PEM files, and PKCS12 for keys; Java's own JKS is read by Java alone."""

    def translate(path: str, properties: Mapping[str, str]) -> Native:
        form = properties.get(f"ssl.{kind}.type", "").upper() or _form_of(path)
        if form == "PEM" and kind == "truststore":
            return {"ssl.ca.location": path}
        if form == "PEM":
            return {"ssl.certificate.location": path, "ssl.key.location": path}
        if form == "PKCS12" and kind == "keystore":
            return {"ssl.keystore.location": path, "ssl.keystore.password": properties.get("ssl.keystore.password", "")}
        raise ConfigurationError(
            f"'ssl.{kind}.location' is a {form} store, which only Java can read; convert it to PEM "
            f"(keytool -exportcert -rfc for certificates) and set 'ssl.{kind}.type' to 'PEM'"
        )

    return translate


def _form_of(path: str) -> str:
    lower = path.lower()
    if lower.endswith((".pem", ".crt", ".cer")):
        return "PEM"
    return "PKCS12" if lower.endswith((".p12", ".pfx", ".pkcs12")) else "JKS"


def _identification(value: str, properties: Mapping[str, str]) -> Native:
    return {"ssl.endpoint.identification.algorithm": value.lower() or "none"}


def _partitioner(value: str, properties: Mapping[str, str]) -> Native:
    if value.endswith(("DefaultPartitioner", "UniformStickyPartitioner")):
        return {}
    if value.endswith("RoundRobinPartitioner"):
        return {"partitioner": "random"}
    raise ConfigurationError(f"'partitioner.class' names the Java class {value}; choose partitions in Python instead")


def _rejected(value: str, properties: Mapping[str, str]) -> Native:
    raise ConfigurationError(f"a callback handler of the Kafka client is Java code, which does not run here: {value}")


def _dropped(value: str, properties: Mapping[str, str]) -> Native:
    return {}


_TRANSLATED: dict[str, Callable[[str, Mapping[str, str]], Native]] = {
    "sasl.jaas.config": _jaas,
    "ssl.truststore.location": _store("truststore"),
    "ssl.keystore.location": _store("keystore"),
    # Read along with the location.
    "ssl.truststore.type": _dropped,
    "ssl.truststore.password": _dropped,
    "ssl.keystore.type": _dropped,
    "ssl.keystore.password": _dropped,
    "ssl.endpoint.identification.algorithm": _identification,
    "partitioner.class": _partitioner,
    "buffer.memory": lambda value, properties: {"queue.buffering.max.kbytes": str(max(1, int(value) // 1024))},
    "isolation.level": lambda value, properties: {"isolation.level": value.lower()},
    "compression.type": lambda value, properties: {"compression.type": value.lower()},
    "sasl.login.callback.handler.class": _rejected,
    "sasl.client.callback.handler.class": _rejected,
}

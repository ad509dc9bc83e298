"""Java's property names become those of the C client; secrets do not show."""

from __future__ import annotations

import pytest

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.errors import ConfigurationError

LOGIN = "org.apache.kafka.common.security"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"fetch.max.wait.ms": "7"}, {"fetch.wait.max.ms": "7"}),
        ({"buffer.memory": "2048"}, {"queue.buffering.max.kbytes": "2"}),
        ({"key.deserializer": "x", "value.deserializer": "y", "max.poll.records": "5"}, {}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        (
            {"sasl.jaas.config": f'{LOGIN}.scram.ScramLoginModule required username="u" password="a \\" b";'},
            {"sasl.username": "u", "sasl.password": 'a " b'},
        ),
        (
            {"sasl.jaas.config": f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required clientId='i' clientSecret='s';"},
            {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
            },
        ),
        (
            {"ssl.truststore.location": "/ca.pem", "ssl.truststore.type": "PEM", "ssl.truststore.password": "p"},
            {"ssl.ca.location": "/ca.pem"},
        ),
        (
            {"ssl.keystore.location": "/key.p12", "ssl.keystore.password": "p", "ssl.key.password": "q"},
            {"ssl.keystore.location": "/key.p12", "ssl.keystore.password": "p", "ssl.key.password": "q"},
        ),
    ],
)
def test_names_are_translated(arguments: dict[str, str], expected: dict[str, str]) -> None:
    assert ClientProperties.of(arguments)._native() == expected


def test_defaults_are_those_of_the_java_client() -> None:
    properties = ClientProperties.of({"bootstrap.servers": "host", "group.id": "g", "enable.idempotence": True})
    assert properties.consumer()["isolation.level"] == "read_uncommitted"
    producer = properties.producer()
    assert producer == {"bootstrap.servers": "host", "enable.idempotence": "true", "partitioner": "murmur2_random"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"sasl.jaas.config": "com.acme.Login required;"}, "login module 'com.acme.Login', which is Java code"),
        ({"ssl.truststore.location": "/a.jks"}, "JKS store, which only Java can read"),
        ({"sasl.client.callback.handler.class": "a.B"}, "callback handler .* is Java code"),
        ({"partitioner.class": "a.B"}, "Java class a.B"),
    ],
)
def test_what_only_java_can_do_is_rejected(arguments: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ClientProperties.of(arguments).consumer()


def test_secrets_do_not_show() -> None:
    login = f'{LOGIN}.plain.PlainLoginModule required username="u" password="secret-1";'
    more = {"ssl.key.password": "secret-2", "ssl.keystore.key": "secret-3", "sasl.password": "secret-4"}
    properties = ClientProperties.of({"sasl.jaas.config": login, **more, "group.id": "g"})
    assert "secret-" not in repr(properties) and "'g'" in repr(properties)

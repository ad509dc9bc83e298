"""The options of the service: where it listens, whom it lets in, what it keeps, and whom it tells metrics."""

from __future__ import annotations

from funke.engine.config.config_option import (
    boolean_option,
    duration_option,
    integer_option,
    memory_option,
    string_option,
    without_effect,
)

REST_ADDRESS = without_effect(
    string_option("rest.address", None, "Where clients find the service."),
    "clients on this machine find the service by its folder; rest.bind-address says where it listens",
)
REST_BIND_ADDRESS = string_option(
    "rest.bind-address", "127.0.0.1", "Where the service listens; anything but this machine needs TLS."
)
REST_PORT = integer_option(
    "rest.port", 8081, "Port of the service. If a program sets it, the program serves pages about its own jobs."
)
REST_BIND_PORT = string_option(
    "rest.bind-port", None, "A port, a range (8081-8090) or several of them; the first free."
)
REST_TOKEN = string_option(
    "funke.rest.token",
    None,
    "The token of callers (Authorization: Bearer …); when not set, the token in the file rest-token of FUNKE_HOME.",
)
REST_INSECURE = boolean_option(
    "funke.rest.insecure",
    False,
    "Whether callers need no token (unless one is set), and other machines no TLS: all who reach the port command "
    "your jobs and reads their state.",
)
REST_SSL_ENABLED = boolean_option("security.ssl.rest.enabled", False, "Whether the service speaks TLS.")
REST_SSL_KEYSTORE = string_option(
    "security.ssl.rest.keystore", None, "File with its key and certificate: PKCS12 or PEM."
)
REST_SSL_KEYSTORE_PASSWORD = string_option("security.ssl.rest.keystore-password", None, "Its password.")
REST_SSL_KEY_PASSWORD = string_option("security.ssl.rest.key-password", None, "The password of the key in it.")
MAX_CONTENT_LENGTH = integer_option(
    "rest.server.max-content-length", 104_857_600, "Bytes of the longest program that is taken."
)
WEB_SUBMIT = boolean_option("web.submit.enable", False, "Whether programs may be sent over REST and run.")
WEB_CANCEL = boolean_option("web.cancel.enable", True, "Whether the dashboard offers to cancel jobs.")
WEB_REFRESH = integer_option("web.refresh-interval", 3_000, "How often the dashboard asks, in milliseconds.")
FLAMEGRAPH_ENABLED = boolean_option(
    "rest.flamegraph.enabled",
    True,
    "Whether flame graphs are made; samples are taken only while a user looks, so the default is on, unlike in Flink.",
)
FLAMEGRAPH_CLEANUP = duration_option(
    "rest.flamegraph.cleanup-interval", 10 * 60_000, "How long a flame graph is kept after the last request."
)
FLAMEGRAPH_REFRESH = duration_option(
    "rest.flamegraph.refresh-interval", 60_000, "How old a flame graph may be before samples are taken again."
)
FLAMEGRAPH_SAMPLES = integer_option("rest.flamegraph.num-samples", 100, "How many samples make a flame graph.")
FLAMEGRAPH_DELAY = duration_option("rest.flamegraph.delay-between-samples", 50, "The time between two samples.")
FLAMEGRAPH_DEPTH = integer_option("rest.flamegraph.stack-depth", 100, "How many functions deep stacks are shown.")
WEB_UPLOAD_FOLDER = string_option("web.upload.dir", None, "Where programs that were sent are kept.")
MOST_ENDED_JOBS = integer_option("jobstore.max-capacity", 100, "How many ended jobs are remembered.")
RESCALE_HISTORY = integer_option(
    "web.adaptive-scheduler.rescale-history.size",
    10,
    "How many rescalings of a job are remembered; each was requested by a user, so the default is not 0 as in Flink.",
)
LOG_MAX_SIZE = memory_option(
    "funke.log.max-size", 100 << 20, "How long a log file of the service grows before it is rotated; 0 for ever."
)
LOG_FILES = integer_option("env.log.max", 10, "How many rotated log files are kept beside the current one.")
SLOT_REQUEST_TIMEOUT = duration_option(
    "slot.request.timeout",
    5 * 60_000,
    "How long a job waits for slots that other jobs of the service have, and for a place on a Spark cluster.",
)
SLOT_POOL = string_option("funke.slot-pool", None, "Folder of the slots that jobs share; the service sets it.")
WARM_DRIVER = boolean_option(
    "funke.service.warm-driver",
    True,
    "Whether the service keeps a driver ready for the next program (some hundred megabytes); on embedded Spark only.",
)
GATEWAY_IDLE_TIMEOUT = duration_option(
    "sql-gateway.session.idle-timeout",
    10 * 60_000,
    "How long a session of the SQL gateway may go without a request; 0 is for ever.",
)
GATEWAY_CHECK_INTERVAL = duration_option(
    "sql-gateway.session.check-interval", 60_000, "How often the SQL gateway looks for idle sessions."
)
GATEWAY_MOST_SESSIONS = integer_option(
    "sql-gateway.session.max-num",
    100,
    "How many sessions the SQL gateway has at once; in Flink the limit is a million.",
)
METRICS_REPORTERS = string_option(
    "metrics.reporters",
    None,
    "Names of reporters that are used, with commas between; all that are set up when not set.",
)

"""The options of Flink that are known here, with Flink's keys and defaults; some of them have no effect."""

from __future__ import annotations

from funke.engine.config.config_option import (
    boolean_option,
    choice_option,
    duration_option,
    float_option,
    integer_option,
    list_option,
    map_option,
    memory_option,
    string_option,
    without_effect,
)

_NO_JAVA = "records are Python objects, which Java serializers do not handle"
_FLINK_1 = "Flink 1.x used it for batch programs; Spark schedules the stages here"

_SECOND_MS = 1000
_MINUTE_MS = 60 * _SECOND_MS
_HOUR_MS = 60 * _MINUTE_MS

PARALLELISM = integer_option("parallelism.default", None, "Subtasks per operator; one per core when not set.")
MAX_PARALLELISM = integer_option("pipeline.max-parallelism", -1, "Number of key groups; -1 derives it.")
RUNTIME_MODE = choice_option(
    "execution.runtime-mode", "STREAMING", ("STREAMING", "BATCH", "AUTOMATIC"), "How results of bounded inputs appear."
)
TIME_CHARACTERISTIC = choice_option(
    "pipeline.time-characteristic",
    "EventTime",
    ("ProcessingTime", "IngestionTime", "EventTime"),
    "The time characteristic of programs of Flink 1.x.",
)
JOB_NAME = string_option("pipeline.name", None, "Name of the job.")
GLOBAL_JOB_PARAMETERS = map_option("pipeline.global-job-parameters", "Parameters that every function can read.")
OBJECT_REUSE = without_effect(
    boolean_option("pipeline.object-reuse", False, "Whether records are passed on without copies."),
    "records are passed on without copies in any case, except those that a function still changes",
)
AUTO_GENERATE_UIDS = boolean_option("pipeline.auto-generate-uids", True, "Whether operators get a uid by themselves.")
AUTO_WATERMARK_INTERVAL = duration_option("pipeline.auto-watermark-interval", 200, "Pause between periodic watermarks.")
OPERATOR_CHAINING = boolean_option(
    "pipeline.operator-chaining.enabled", True, "Whether operators are fused.", "pipeline.operator-chaining"
)
CHAIN_DIFFERENT_MAX_PARALLELISM = boolean_option(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    True,
    "Whether operators with different numbers of key groups may be fused.",
)
BUFFER_TIMEOUT_ENABLED = boolean_option("execution.buffer-timeout.enabled", True, "Whether records wait for others.")
BUFFER_TIMEOUT = duration_option(
    "execution.buffer-timeout.interval", 100, "How long a record may wait for others.", "execution.buffer-timeout"
)
JARS = list_option("pipeline.jars", "Jars to send with the job.")
CLASSPATHS = list_option("pipeline.classpaths", "Jars that every worker can reach.")
CACHED_FILES = list_option("pipeline.cached-files", "Files that every worker gets a copy of.")
CLOSURE_CLEANER_LEVEL = without_effect(
    choice_option(
        "pipeline.closure-cleaner-level", "RECURSIVE", ("NONE", "TOP_LEVEL", "RECURSIVE"), "How closures are cleaned."
    ),
    "functions are pickled as they are",
)
GENERIC_TYPES = without_effect(boolean_option("pipeline.generic-types", True, "Whether Kryo is allowed."), _NO_JAVA)
FORCE_KRYO = without_effect(boolean_option("pipeline.force-kryo", False, "Whether Kryo is used."), _NO_JAVA)
FORCE_AVRO = without_effect(boolean_option("pipeline.force-avro", False, "Whether Avro is used."), _NO_JAVA)
AUTO_TYPE_REGISTRATION = without_effect(
    boolean_option("pipeline.auto-type-registration", True, "Whether classes are registered."), _NO_JAVA
)
DEFAULT_KRYO_SERIALIZERS = without_effect(
    map_option("pipeline.default-kryo-serializers", "Serializers by class."), _NO_JAVA
)
REGISTERED_KRYO_SERIALIZERS = without_effect(
    map_option("pipeline.registered-kryo-serializers", "Serializers by class."), _NO_JAVA
)
REGISTERED_KRYO_TYPES = without_effect(list_option("pipeline.registered-kryo-types", "Classes."), _NO_JAVA)
REGISTERED_POJO_TYPES = without_effect(list_option("pipeline.registered-pojo-types", "Classes."), _NO_JAVA)
EXECUTION_MODE = without_effect(string_option("execution.mode", "PIPELINED", "How data was exchanged."), _FLINK_1)
INPUT_DEPENDENCY_CONSTRAINT = without_effect(
    choice_option("pipeline.default-input-dependency-constraint", "ANY", ("ANY", "ALL"), "When a task started."),
    _FLINK_1,
)
LATENCY_INTERVAL = without_effect(
    duration_option("metrics.latency.interval", 0, "Pause between latency marks; 0 turns them off."),
    "there are no latency marks; benchmarks measure the latency of records",
)
TASK_CANCELLATION_INTERVAL = without_effect(
    duration_option(
        "task.cancellation.interval", 30_000, "Pause between cancel attempts.", "task.cancellation-interval"
    ),
    "functions are not interrupted; the slot of one that does not end is ended",
)
TASK_CANCELLATION_TIMEOUT = without_effect(
    duration_option("task.cancellation.timeout", 180_000, "When a stuck cancel is fatal."),
    "the slot of a function that does not end is ended",
)
TASK_SLOTS = integer_option("taskmanager.numberOfTaskSlots", 1, "Slots per worker, which share its managed memory.")
MAX_SLOTS = integer_option(
    "slotmanager.number-of-slots.max", None, "Most slots of a job; when not set, 128 on embedded Spark, else no limit."
)
IS_ATTACHED = without_effect(
    boolean_option("execution.attached", True, "Whether the program waits for the job."),
    "execute() waits for the job and execute_async() does not",
)
HEARTBEAT_INTERVAL = duration_option("heartbeat.interval", 10 * _SECOND_MS, "How often slots say that they are there.")
HEARTBEAT_TIMEOUT = duration_option(
    "heartbeat.timeout", 50 * _SECOND_MS, "A slot that is silent for this time is killed, and the attempt fails."
)

SLOT_PORTS = string_option(
    "taskmanager.rpc.port",
    "0",
    "Ports of slots on a cluster: one, a range (50100-50200) or several of them; every slot takes a free one. 0: any.",
)
DRIVER_PORTS = string_option(
    "high-availability.jobmanager.port",
    "0",
    "Ports at which the driver of a streaming job waits for its slots on a cluster, written like those of slots.",
    "recovery.jobmanager.port",
)

PYTHON_FILES = list_option("python.files", "Python files and packages to send with the job.")
PYTHON_ARCHIVES = list_option("python.archives", "Archives to unpack in the working directory of workers.")
PYTHON_REQUIREMENTS = string_option("python.requirements", None, "Requirements file to install for workers.")
PYTHON_EXECUTABLE = string_option("python.executable", None, "Interpreter of workers.")
PYTHON_CLIENT_EXECUTABLE = without_effect(
    string_option("python.client.executable", None, "Interpreter of the program."),
    "the program runs in the interpreter that was started",
)
PYTHON_EXECUTION_MODE = without_effect(
    choice_option("python.execution-mode", "process", ("process", "thread"), "Where functions run."),
    "functions run in the process of their slot",
)
# PyFlink holds results back until a bundle is complete; by default that are 1 000 records, or those of a second.
SMALL_BUNDLE = 100
PYTHON_BUNDLE_SIZE = integer_option(
    "python.fn-execution.bundle.size",
    1000,
    "The most rows that a pandas function gets at once; with 100 or less a slow record does not delay earlier results.",
)
PYTHON_BUNDLE_TIME_MS = without_effect(
    integer_option("python.fn-execution.bundle.time", 1000, "How long records wait for each other."),
    "records wait for each other as long as execution.buffer-timeout.interval says",
)
PYTHON_LOG_LEVEL = string_option(
    "python.logging.default.level", "INFO", "The lowest level of functions' log lines that reach the driver."
)
LOG_FORMAT = choice_option(
    "funke.log.format", "text", ("text", "json"), "How the service and drivers write log lines: text, or JSON lines."
)
SHOW_RECORDS = boolean_option(
    "funke.exceptions.show-records",
    False,
    "Whether a failure tells the record at which a function failed, on the dashboard and in job records.",
)
MASKED_COLUMNS = list_option(
    "funke.exceptions.masked-columns",
    "Columns whose values are hidden there, beside those with names like password; records without names of columns "
    "are then hidden as a whole.",
)
PYTHON_LOG_LEVELS = map_option("python.logging.level.overrides", "The same for named loggers and those below them.")
PYTHON_OPERATOR_CHAINING = boolean_option(
    "python.operator-chaining.enabled",
    True,
    "Whether chained functions get results without conversion to the declared type.",
)

CHECKPOINTING_INTERVAL = duration_option("execution.checkpointing.interval", None, "Pause between checkpoints.")
CHECKPOINTING_INTERVAL_DURING_BACKLOG = duration_option(
    "execution.checkpointing.interval-during-backlog",
    None,
    "Pause between checkpoints while old data is read; 0: none.",
)
CHECKPOINTING_MODE = choice_option(
    "execution.checkpointing.mode",
    "EXACTLY_ONCE",
    ("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "Guarantee of checkpoints. With AT_LEAST_ONCE a barrier holds up no channel: records may be processed twice after "
    "a failure, and barriers do not overtake.",
)
CHECKPOINTING_TIMEOUT = duration_option("execution.checkpointing.timeout", 10 * _MINUTE_MS, "When one is given up.")
CHECKPOINTING_MIN_PAUSE = duration_option("execution.checkpointing.min-pause", 0, "Pause after a checkpoint.")
MAX_CONCURRENT_CHECKPOINTS = integer_option(
    "execution.checkpointing.max-concurrent-checkpoints", 1, "Checkpoints under way at the same time."
)
TOLERABLE_FAILED_CHECKPOINTS = integer_option(
    "execution.checkpointing.tolerable-failed-checkpoints", 0, "Failed checkpoints before the job fails."
)
COMMITTER_RETRIES = integer_option(
    "sink.committer.retries", 10, "How often a commit of a sink is tried again before the attempt fails."
)
EXTERNALIZED_CHECKPOINT_RETENTION = choice_option(
    "execution.checkpointing.externalized-checkpoint-retention",
    "NO_EXTERNALIZED_CHECKPOINTS",
    ("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"),
    "Whether checkpoints are kept when the job ends.",
)
UNALIGNED_CHECKPOINTS = boolean_option(
    "execution.checkpointing.unaligned.enabled",
    False,
    "Whether barriers overtake records, which become part of the checkpoint; only one is in progress then. Savepoints "
    "are aligned in any case.",
    "execution.checkpointing.unaligned",
)
FORCE_UNALIGNED_CHECKPOINTS = without_effect(
    boolean_option("execution.checkpointing.unaligned.forced", False, "Whether they do so in iterations too."),
    "they do so in any job",
)
ALIGNED_CHECKPOINT_TIMEOUT = duration_option(
    "execution.checkpointing.aligned-checkpoint-timeout",
    0,
    "How long barriers wait in line before they overtake: then the checkpoint is begun again.",
    "execution.checkpointing.alignment-timeout",
)
CHECKPOINTS_AFTER_TASKS_FINISH = without_effect(
    boolean_option(
        "execution.checkpointing.checkpoints-after-tasks-finish",
        True,
        "Whether checkpoints go on when a part has ended.",
        "execution.checkpointing.checkpoints-after-tasks-finish.enabled",
    ),
    "checkpoints go on as long as the job does",
)
CHECKPOINT_STORAGE = string_option(
    "execution.checkpointing.storage", None, "Where checkpoints are kept.", "state.checkpoint-storage"
)
CHECKPOINTS_DIRECTORY = string_option(
    "execution.checkpointing.dir",
    None,
    "Folder of checkpoints.",
    "state.checkpoints.dir",
    "state.backend.fs.checkpointdir",
)
SAVEPOINT_DIRECTORY = string_option(
    "execution.checkpointing.savepoint-dir",
    None,
    "Folder of savepoints.",
    "state.savepoints.dir",
    "savepoints.state.backend.fs.dir",
)
RETAINED_CHECKPOINTS = integer_option(
    "execution.checkpointing.num-retained", 1, "Completed checkpoints to keep.", "state.checkpoints.num-retained"
)
INCREMENTAL_CHECKPOINTS = boolean_option(
    "execution.checkpointing.incremental", False, "Whether only changes are written.", "state.backend.incremental"
)
SNAPSHOT_COMPRESSION = boolean_option(
    "execution.checkpointing.snapshot-compression",
    False,
    "Whether snapshots are compressed.",
    "execution.checkpointing.snapshot-compression.enabled",
)
INLINE_THRESHOLD = memory_option(
    "execution.checkpointing.data-inline-threshold",
    20 << 10,
    "The largest state of a subtask that is stored in the metadata of a checkpoint; at most 1 MB.",
    "state.storage.fs.memory-threshold",
    "state.backend.fs.memory-threshold",
)
WRITE_BUFFER_SIZE = memory_option(
    "execution.checkpointing.write-buffer-size",
    None,
    "How much state is gathered before it is written to a file; 1 MB when not set.",
    "state.storage.fs.write-buffer-size",
    "state.backend.fs.write-buffer-size",
)
LOCAL_RECOVERY = boolean_option(
    "execution.state-recovery.from-local",
    False,
    "Whether slots keep local copies of files that they write to other file systems, and restore from them.",
    "execution.checkpointing.local-backup.enabled",
    "state.backend.local-recovery",
)
LOCAL_BACKUP_FOLDERS = list_option(
    "execution.checkpointing.local-backup.dirs",
    "Folders on workers for such copies; the system's temporary folder when not set.",
    "taskmanager.state.local.root-dirs",
)
STATE_RECOVERY_PATH = string_option(
    "execution.state-recovery.path", None, "Savepoint or checkpoint to start from.", "execution.savepoint.path"
)
STATE_CLAIM_MODE = choice_option(
    "execution.state-recovery.claim-mode",
    "NO_CLAIM",
    ("NO_CLAIM", "CLAIM", "LEGACY"),
    "Whether the job owns what it starts from, and removes it when it has a newer checkpoint.",
    "execution.savepoint-restore-mode",
)
IGNORE_UNCLAIMED_STATE = boolean_option(
    "execution.state-recovery.ignore-unclaimed-state",
    False,
    "Whether state without an operator is skipped.",
    "execution.savepoint.ignore-unclaimed-state",
)

STATE_BACKEND = string_option("state.backend.type", "hashmap", "Where state is kept.", "state.backend")
STATE_LATENCY = boolean_option(
    "state.latency-track.keyed-state-enabled",
    False,
    "Whether it is measured how long functions wait for keyed state.",
    "state.backend.latency-track.keyed-state-enabled",
)
STATE_LATENCY_SAMPLE = integer_option(
    "state.latency-track.sample-interval",
    100,
    "Every so-manieth access of each kind is measured.",
    "state.backend.latency-track.sample-interval",
)
STATE_LATENCY_HISTORY = integer_option(
    "state.latency-track.history-size",
    128,
    "How many of them the metrics are made of.",
    "state.backend.latency-track.history-size",
)
STATE_CHANGELOG = without_effect(
    boolean_option(
        "state.changelog.enabled", False, "Whether changes of state are logged.", "state.backend.changelog.enabled"
    ),
    "checkpoints are written beside the work in any case",
)
ASYNCHRONOUS_SNAPSHOTS = boolean_option(
    "state.backend.async", True, "Whether processing goes on while state is written; rocksdb always does."
)
MAX_STATE_SIZE = memory_option(
    "funke.checkpointing.max-state-size",
    None,
    "The largest state of one operator's subtask in the storage 'jobmanager'; 5 MB.",
)
FAILOVER_STRATEGY = choice_option(
    "jobmanager.execution.failover-strategy",
    "region",
    ("region", "full"),
    "What a failure restarts: the unconnected part of the job that has failed, or all of it.",
)
RESTART_STRATEGY = string_option("restart-strategy.type", None, "What happens after a failure.", "restart-strategy")
FIXED_DELAY_ATTEMPTS = integer_option("restart-strategy.fixed-delay.attempts", 1, "Restarts before the job fails.")
FIXED_DELAY = duration_option("restart-strategy.fixed-delay.delay", _SECOND_MS, "Pause before a restart.")
FAILURE_RATE_MAX_FAILURES = integer_option(
    "restart-strategy.failure-rate.max-failures-per-interval", 1, "Failures in the interval before the job fails."
)
FAILURE_RATE_INTERVAL = duration_option(
    "restart-strategy.failure-rate.failure-rate-interval", _MINUTE_MS, "The interval failures are counted in."
)
FAILURE_RATE_DELAY = duration_option("restart-strategy.failure-rate.delay", _SECOND_MS, "Pause before a restart.")
EXPONENTIAL_INITIAL_BACKOFF = duration_option(
    "restart-strategy.exponential-delay.initial-backoff", _SECOND_MS, "First pause before a restart."
)
EXPONENTIAL_MAX_BACKOFF = duration_option(
    "restart-strategy.exponential-delay.max-backoff", _MINUTE_MS, "Longest pause before a restart."
)
EXPONENTIAL_MULTIPLIER = float_option(
    "restart-strategy.exponential-delay.backoff-multiplier", 1.5, "By how much the pause grows."
)
EXPONENTIAL_RESET_THRESHOLD = duration_option(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    _HOUR_MS,
    "The time without failures after which the delay is reset.",
)
EXPONENTIAL_JITTER = float_option("restart-strategy.exponential-delay.jitter-factor", 0.1, "Random part of the pause.")
EXPONENTIAL_ATTEMPTS = integer_option(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff", 2**31 - 1, "Restarts before the job fails."
)

HIGH_AVAILABILITY = string_option(
    "high-availability.type", None, "Whether jobs outlive their driver: NONE, or anything else.", "high-availability"
)
HIGH_AVAILABILITY_STORAGE = string_option(
    "high-availability.storageDir",
    None,
    "Folder of job records: of this machine, shared by several, in S3 or in HDFS.",
    "high-availability.zookeeper.storageDir",
)
HIGH_AVAILABILITY_CLUSTER = string_option(
    "high-availability.cluster-id",
    None,
    "Separates the job records of clusters.",
    "high-availability.zookeeper.path.namespace",
)
FUNKE_HOME = string_option("funke.home", None, "Folder of job records, unless high-availability.storageDir is set.")
ON_DAMAGE = ("refuse", "repeat", "restart")
RECOVERY_ON_DAMAGE = choice_option(
    "funke.recovery.on-damage",
    "refuse",
    ON_DAMAGE,
    "If a job's newest checkpoint or record is damaged or gone: wait until a user decides; go back to "
    "an older checkpoint and repeat output committed since; or the same, and begin from nothing if there is none.",
)
LEASE_TIMEOUT = duration_option("funke.lease-timeout", None, "When a silent driver counts as gone.")
SEGMENT_SIZE = memory_option("taskmanager.memory.segment-size", 32 << 10, "Size of a buffer on its way to a subtask.")
BUFFERS_PER_CHANNEL = integer_option(
    "taskmanager.network.memory.buffers-per-channel", 2, "Buffers that every channel has for itself."
)
FLOATING_BUFFERS = integer_option(
    "taskmanager.network.memory.floating-buffers-per-gate", 8, "Buffers for those channels of a subtask with a backlog."
)
SSL_ENABLED = boolean_option(
    "security.ssl.internal.enabled",
    False,
    "Whether TCP connections between slots, and with the driver and Spark's tasks, are secured by TLS.",
    "security.ssl.enabled",
)
SSL_KEYSTORE = string_option(
    "security.ssl.internal.keystore",
    None,
    "File with the key and the certificate that every process shows: PKCS12 or PEM.",
    "security.ssl.keystore",
)
SSL_KEYSTORE_PASSWORD = string_option(
    "security.ssl.internal.keystore-password", None, "Its password.", "security.ssl.keystore-password"
)
SSL_KEY_PASSWORD = string_option(
    "security.ssl.internal.key-password", None, "The password of the key in it.", "security.ssl.key-password"
)
SSL_TRUSTSTORE = string_option(
    "security.ssl.internal.truststore",
    None,
    "File with the certificates that are trusted: PKCS12 or PEM.",
    "security.ssl.truststore",
)
SSL_TRUSTSTORE_PASSWORD = string_option(
    "security.ssl.internal.truststore-password", None, "Its password.", "security.ssl.truststore-password"
)
SSL_FINGERPRINT = string_option(
    "security.ssl.internal.cert.fingerprint",
    None,
    "SHA-1 of the certificates that may be shown, with commas between; any that is trusted when not set.",
)
SSL_PROTOCOL = string_option("security.ssl.protocol", "TLSv1.2", "TLSv1.2, TLSv1.3, or both with a comma between.")
SSL_ALGORITHMS = string_option(
    "security.ssl.algorithms", None, "Java's names of cipher suites, with commas; OpenSSL's choice when not set."
)
DEBLOAT_ENABLED = boolean_option(
    "taskmanager.network.memory.buffer-debloat.enabled",
    False,
    "Whether block sizes follow the rate of their receiver.",
)
DEBLOAT_TARGET = duration_option(
    "taskmanager.network.memory.buffer-debloat.target",
    _SECOND_MS,
    "How long it should take to consume the data in flight to a subtask.",
)
DEBLOAT_PERIOD = duration_option(
    "taskmanager.network.memory.buffer-debloat.period", 200, "How often a subtask looks at its rate, at most."
)
DEBLOAT_SAMPLES = integer_option(
    "taskmanager.network.memory.buffer-debloat.samples", 20, "Looks at its rate that are averaged."
)
DEBLOAT_THRESHOLD = integer_option(
    "taskmanager.network.memory.buffer-debloat.threshold-percentages", 25, "Smaller changes of the size are ignored."
)
STARTING_SEGMENT_SIZE = memory_option(
    "taskmanager.memory.starting-segment-size", 1 << 10, "Size of the first blocks that are fitted to their receiver."
)
MIN_SEGMENT_SIZE = memory_option(
    "taskmanager.memory.min-segment-size", 256, "Least size of blocks that are fitted to their receiver."
)
BACKPRESSURE_REFRESH = integer_option(
    "web.backpressure.refresh-interval",
    None,
    "How long a backpressure status is shown before it is looked at again, in milliseconds; always when not set.",
    "jobmanager.web.backpressure.refresh-interval",
)
BACKPRESSURE_SAMPLES = integer_option(
    "web.backpressure.num-samples",
    100,
    "Times the delay between samples: how long busy and backpressured time is measured over.",
    "jobmanager.web.backpressure.num-samples",
)
BACKPRESSURE_DELAY = integer_option(
    "web.backpressure.delay-between-samples",
    50,
    "Times the number of samples: how long busy and backpressured time is measured over, in milliseconds.",
    "jobmanager.web.backpressure.delay-between-samples",
)
EXCHANGE = string_option(
    "funke.exchange",
    "auto",
    "How blocks travel: 'pipelined' (from slot to slot), 'blocking' (in epochs, through Spark's shuffle) or 'auto'.",
)
BATCH_PLAN = string_option(
    "funke.table.batch-plan",
    "auto",
    "The engine of batch queries: 'spark' (all of it), 'slots', or 'auto': Spark up to the last exchange.",
)
FAULT = string_option("funke.fault", None, "A planned fault, for tests: see engine.runtime.fault_points.")

"""The options of Flink that mean something here, with Flink's keys and defaults."""

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
)

_SECOND_MS = 1000
_MINUTE_MS = 60 * _SECOND_MS
_HOUR_MS = 60 * _MINUTE_MS

PARALLELISM = integer_option("parallelism.default", None, "Subtasks per operator; one per core when not set.")
MAX_PARALLELISM = integer_option("pipeline.max-parallelism", -1, "Number of key groups; -1 derives it.")
RUNTIME_MODE = choice_option(
    "execution.runtime-mode", "STREAMING", ("STREAMING", "BATCH", "AUTOMATIC"), "How results of bounded inputs appear."
)
JOB_NAME = string_option("pipeline.name", None, "Name of the job.")
GLOBAL_JOB_PARAMETERS = map_option("pipeline.global-job-parameters", "Parameters that every function can read.")
OBJECT_REUSE = boolean_option("pipeline.object-reuse", False, "Whether records are passed on without copies.")
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
CLOSURE_CLEANER_LEVEL = choice_option(
    "pipeline.closure-cleaner-level", "RECURSIVE", ("NONE", "TOP_LEVEL", "RECURSIVE"), "Without effect in Python."
)
GENERIC_TYPES = boolean_option("pipeline.generic-types", True, "Without effect in Python.")
FORCE_KRYO = boolean_option("pipeline.force-kryo", False, "Without effect in Python.")
FORCE_AVRO = boolean_option("pipeline.force-avro", False, "Without effect in Python.")
AUTO_TYPE_REGISTRATION = boolean_option("pipeline.auto-type-registration", True, "Without effect in Python.")
DEFAULT_KRYO_SERIALIZERS = map_option("pipeline.default-kryo-serializers", "Without effect in Python.")
REGISTERED_KRYO_SERIALIZERS = map_option("pipeline.registered-kryo-serializers", "Without effect in Python.")
REGISTERED_KRYO_TYPES = list_option("pipeline.registered-kryo-types", "Without effect in Python.")
REGISTERED_POJO_TYPES = list_option("pipeline.registered-pojo-types", "Without effect in Python.")
EXECUTION_MODE = string_option("execution.mode", "PIPELINED", "How Flink 1.x exchanged data in batch programs.")
INPUT_DEPENDENCY_CONSTRAINT = choice_option(
    "pipeline.default-input-dependency-constraint", "ANY", ("ANY", "ALL"), "When Flink 1.x started a task."
)
LATENCY_INTERVAL = duration_option("metrics.latency.interval", 0, "Pause between latency marks; 0 turns them off.")
TASK_CANCELLATION_INTERVAL_MS = integer_option("task.cancellation.interval", 30_000, "Pause between cancel attempts.")
TASK_CANCELLATION_TIMEOUT_MS = integer_option("task.cancellation.timeout", 180_000, "When a stuck cancel is fatal.")
TASK_SLOTS = integer_option("taskmanager.numberOfTaskSlots", 1, "Slots per worker.")

PYTHON_FILES = list_option("python.files", "Python files and packages to send with the job.")
PYTHON_ARCHIVES = list_option("python.archives", "Archives to unpack in the working directory of workers.")
PYTHON_REQUIREMENTS = string_option("python.requirements", None, "Requirements file to install for workers.")
PYTHON_EXECUTABLE = string_option("python.executable", None, "Interpreter of workers.")
PYTHON_CLIENT_EXECUTABLE = string_option("python.client.executable", None, "Interpreter of the program.")
PYTHON_EXECUTION_MODE = choice_option(
    "python.execution-mode", "process", ("process", "thread"), "Without effect: slots are processes."
)
PYTHON_BUNDLE_SIZE = integer_option(
    "python.fn-execution.bundle.size", 1000, "If set to 100 or less, a slow record does not hold back those before it."
)
PYTHON_BUNDLE_TIME_MS = integer_option("python.fn-execution.bundle.time", 1000, "Without effect.")
PYTHON_LOG_LEVEL = string_option(
    "python.logging.default.level", "INFO", "From which level on log lines of functions reach the driver."
)
PYTHON_LOG_LEVELS = map_option("python.logging.level.overrides", "The same for named loggers and those below them.")
PYTHON_OPERATOR_CHAINING = boolean_option("python.operator-chaining.enabled", True, "Whether functions are fused.")

CHECKPOINTING_INTERVAL = duration_option("execution.checkpointing.interval", None, "Pause between checkpoints.")
CHECKPOINTING_INTERVAL_DURING_BACKLOG = duration_option(
    "execution.checkpointing.interval-during-backlog",
    None,
    "Pause between checkpoints while old data is read; 0: none.",
)
CHECKPOINTING_MODE = choice_option(
    "execution.checkpointing.mode", "EXACTLY_ONCE", ("EXACTLY_ONCE", "AT_LEAST_ONCE"), "Guarantee of checkpoints."
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
    "What becomes of checkpoints when the job ends.",
)
UNALIGNED_CHECKPOINTS = boolean_option(
    "execution.checkpointing.unaligned.enabled", False, "Without effect.", "execution.checkpointing.unaligned"
)
FORCE_UNALIGNED_CHECKPOINTS = boolean_option("execution.checkpointing.unaligned.forced", False, "Without effect.")
ALIGNED_CHECKPOINT_TIMEOUT = duration_option(
    "execution.checkpointing.aligned-checkpoint-timeout",
    0,
    "Without effect: epochs are aligned.",
    "execution.checkpointing.alignment-timeout",
)
CHECKPOINTS_AFTER_TASKS_FINISH = boolean_option(
    "execution.checkpointing.checkpoints-after-tasks-finish",
    True,
    "Whether checkpoints go on when a part has ended.",
    "execution.checkpointing.checkpoints-after-tasks-finish.enabled",
)
CHECKPOINT_STORAGE = string_option(
    "execution.checkpointing.storage", None, "Where checkpoints are kept.", "state.checkpoint-storage"
)
CHECKPOINTS_DIRECTORY = string_option(
    "execution.checkpointing.dir", None, "Folder of checkpoints.", "state.checkpoints.dir"
)
SAVEPOINT_DIRECTORY = string_option(
    "execution.checkpointing.savepoint-dir", None, "Folder of savepoints.", "state.savepoints.dir"
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
    "Up to which size the state of a subtask is kept in the metadata of a checkpoint; at most 1 MB.",
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
    "Whether slots keep copies of what they write to other file systems, and restore from them.",
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
STATE_CHANGELOG = boolean_option("state.changelog.enabled", False, "Without effect.", "state.backend.changelog.enabled")
ASYNCHRONOUS_SNAPSHOTS = boolean_option(
    "state.backend.async", True, "Whether processing goes on while state is written; rocksdb always does."
)
MAX_STATE_SIZE = memory_option(
    "funke.checkpointing.max-state-size", None, "What the storage 'jobmanager' takes of one operator's subtask; 5 MB."
)
MANAGED_MEMORY_SIZE = memory_option(
    "taskmanager.memory.managed.size", None, "Memory of a worker's slots for RocksDB; 96 MB per slot when not set."
)
MANAGED_MEMORY_FRACTION = float_option(
    "taskmanager.memory.managed.fraction", 0.4, "The part of a worker's memory that is managed, if that is known."
)
WORKER_MEMORY_SIZE = memory_option(
    "taskmanager.memory.flink.size", None, "Memory of a worker.", "taskmanager.memory.process.size"
)

FAILOVER_STRATEGY = choice_option(
    "jobmanager.execution.failover-strategy",
    "region",
    ("region", "full"),
    "What a failure restarts; either way all of the job, which is one region.",
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
    "restart-strategy.exponential-delay.reset-backoff-threshold", _HOUR_MS, "Good time after which it starts again."
)
EXPONENTIAL_JITTER = float_option("restart-strategy.exponential-delay.jitter-factor", 0.1, "Random part of the pause.")
EXPONENTIAL_ATTEMPTS = integer_option(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff", 2**31 - 1, "Restarts before the job fails."
)

HIGH_AVAILABILITY = string_option(
    "high-availability.type", None, "Whether jobs outlive their driver: NONE, or anything else.", "high-availability"
)
HIGH_AVAILABILITY_STORAGE = string_option("high-availability.storageDir", None, "Folder of job records.")
HIGH_AVAILABILITY_CLUSTER = string_option("high-availability.cluster-id", None, "Keeps job records of clusters apart.")
FUNKE_HOME = string_option("funke.home", None, "Folder of job records, unless high-availability.storageDir is set.")
LEASE_TIMEOUT = duration_option("funke.lease-timeout", None, "When a silent driver counts as gone.")
FAULT = string_option("funke.fault", None, "A planned fault, for tests: see engine.runtime.fault_points.")

"""Flink's keys that no option here reads: why setting one changes nothing, by what the key begins with.

They are accepted, because a configuration is mostly written for more than one job and more than one system. A user who
sets one gets a warning.
"""

from __future__ import annotations

__all__ = ["UNKNOWN", "reason_without_effect"]

_SPARK_RUNS_IT = "Spark runs the job, and its own settings (spark.…) hold"
_SPARK_SECURES_IT = "Spark's own settings secure it: spark.authenticate, spark.ssl.…, spark.kerberos.…"
_OWN_ENVIRONMENT = "start the program with the environment that it needs"
_RECORDS = "job records stand in a folder (high-availability.storageDir), under a lease"
_NO_SUCH_SETTING = "the service has no such setting"
_NO_QUERIES = "there is no queryable state"
UNKNOWN = "Funke has no such option"
_ONE_SWITCH = "security.ssl.internal.enabled decides about all connections"
_OWN_LIMIT = "a caller has ten seconds for its handshake"
_NO_FAREWELL = "connections are closed without a farewell"
_NO_SESSIONS = "every connection has a session of its own"
_SEEN_IN_FILE = "the file itself shows whether it is PKCS12 or PEM"

# The longest beginning that fits decides. Where a program may well have keys of its own ("client.", "env.") only
# Flink's are listed.
_REASONS = {
    "akka.": _SPARK_RUNS_IT,
    "akka.ssl.enabled": _ONE_SWITCH,
    "application-result-store.": _SPARK_RUNS_IT,
    "blob.": _SPARK_RUNS_IT,
    "classloader.": "there are no Java classes of Flink to load",
    "cleanup-strategy.": "what a job leaves is removed when it ends, or with its record",
    "client.heartbeat.": "the program and its jobs run in one process",
    "client.retry-period": "the program and its jobs run in one process",
    "client.timeout": "the program and its jobs run in one process",
    "cluster.": _SPARK_RUNS_IT,
    "compiler.": "it concerns Flink's DataSet API",
    "completed-application-store.": _NO_SUCH_SETTING,
    "dstl.": "checkpoints are written beside the work in any case",
    "env.hadoop.": _OWN_ENVIRONMENT,
    "env.hbase.": _OWN_ENVIRONMENT,
    "env.java.": _OWN_ENVIRONMENT,
    "env.log.": _OWN_ENVIRONMENT,
    "env.pid.": _OWN_ENVIRONMENT,
    "env.ssh.": _OWN_ENVIRONMENT,
    "env.stdout-err.": _OWN_ENVIRONMENT,
    "env.yarn.": _OWN_ENVIRONMENT,
    "events.reporters": "there are no events",
    "execution.": UNKNOWN,
    "execution.batch.": "Spark runs the stages of a batch job, each with the parallelism of its operators",
    "execution.checkpointing.unaligned.": "each slot keeps what barriers overtake in one file, for the same channels",
    "external-resource": "Spark hands out resources: spark.task.resource.…",
    "flink.yarn.": "Spark runs on YARN by settings of its own: spark.master and spark.yarn.…",
    "fs.allowed-fallback-filesystems": "pyarrow and Hadoop's clients of Spark reach file systems",
    "fs.default-scheme": "paths without a scheme are local",
    "fs.output.": "writers choose names of their own",
    "fs.overwrite-files": "writers choose names of their own",
    "heartbeat.": UNKNOWN,
    "high-availability.": _RECORDS,
    "historyserver.": _NO_SUCH_SETTING,
    "io.tmp.dirs": "temporary files go where TMPDIR says",
    "jmx.": _SPARK_RUNS_IT,
    "job-event.": "a job goes on from its last checkpoint",
    "job-result-store.": "a job's record tells how it ended",
    "job-manager.": _SPARK_RUNS_IT,
    "jobmanager.": _SPARK_RUNS_IT,
    "jobstore.": _NO_SUCH_SETTING,
    "kubernetes.": "Spark runs on Kubernetes by settings of its own: spark.master and spark.kubernetes.…",
    "library-cache-manager.": _SPARK_RUNS_IT,
    "local.number-taskmanager": _SPARK_RUNS_IT,
    "materialized-table.": "there are no materialized tables",
    "mesos.": _SPARK_RUNS_IT,
    "metrics.": "only the service (/metrics) and the reporters for Prometheus, StatsD and logs publish metrics",
    "minicluster.": _SPARK_RUNS_IT,
    "parallelism.": UNKNOWN,
    "pekko.": _SPARK_RUNS_IT,
    "pekko.ssl.enabled": _ONE_SWITCH,
    "pipeline.": UNKNOWN,
    "pipeline.cep.": "partial matches stand in the state backend, with no cache in front of it",
    "plugin.classloader.": "there are no plugins",
    "process.jobmanager.": "temporary files go where TMPDIR says",
    "process.taskmanager.": "temporary files go where TMPDIR says",
    "process.working-dir": "temporary files go where TMPDIR says",
    "python.": "functions run in the process of their slot, with nothing between them and their state",
    "query.client.": _NO_QUERIES,
    "query.proxy.": _NO_QUERIES,
    "query.server.": _NO_QUERIES,
    "queryable-state.": _NO_QUERIES,
    "recovery.job": _RECORDS,
    "recovery.mode": _RECORDS,
    "recovery.zookeeper.": _RECORDS,
    "resourcemanager.": _SPARK_RUNS_IT,
    "rest.": _NO_SUCH_SETTING,
    "restart-strategy.": UNKNOWN,
    "savepoints.": UNKNOWN,
    "scheduler-mode": _SPARK_RUNS_IT,
    "security.context.": _SPARK_SECURES_IT,
    "security.delegation.": _SPARK_SECURES_IT,
    "security.kerberos.": _SPARK_SECURES_IT,
    "security.keytab": _SPARK_SECURES_IT,
    "security.module.": _SPARK_SECURES_IT,
    "security.principal": _SPARK_SECURES_IT,
    "security.ssl.": UNKNOWN,
    "security.ssl.close-notify-flush-timeout": _NO_FAREWELL,
    "security.ssl.handshake-timeout": _OWN_LIMIT,
    "security.ssl.internal.close-notify-flush-timeout": _NO_FAREWELL,
    "security.ssl.internal.handshake-timeout": _OWN_LIMIT,
    "security.ssl.internal.keystore-type": _SEEN_IN_FILE,
    "security.ssl.internal.session-": _NO_SESSIONS,
    "security.ssl.internal.truststore-type": _SEEN_IN_FILE,
    "security.ssl.provider": "OpenSSL is used in any case, through Python's ssl",
    "security.ssl.reload": "new connections use files that have been renewed in any case",
    "security.ssl.rest.": _NO_SUCH_SETTING,
    "security.ssl.session-": _NO_SESSIONS,
    "security.ssl.verify-hostname": "a job's processes know each other by certificates, not by the names of hosts",
    "shuffle-service-factory": "streams go from slot to slot, and batch jobs through Spark's shuffle",
    "slot.": "a job has as many slots as it needs",
    "slotmanager.": "a job has as many slots as it needs",
    "slow-task-detector.": _SPARK_RUNS_IT,
    "source.reader.": "a source is read by its subtask itself, without a queue",
    "sql-client.": "the shell (funke sql) has no such option",
    "sql-gateway.": "the service's SQL gateway has no such option",
    "state.": UNKNOWN,
    "state.backend.forst.": "there is no backend ForSt; use rocksdb",
    "state.backend.rocksdb.": "it is not handed to RocksDB; docs/state.md lists what is",
    "state.changelog.": "checkpoints are written beside the work in any case",
    "table.": "queries here have no such option",
    "task.cancellation": UNKNOWN,
    "taskmanager.": _SPARK_RUNS_IT,
    "taskmanager.data.": "slots choose their ports, or use Unix sockets",
    "taskmanager.data.ssl.enabled": _ONE_SWITCH,
    "taskmanager.memory.": "slots are processes that take the memory they need; Spark's own settings limit Spark",
    "taskmanager.memory.network.": "channels have buffers of their own (….network.memory.buffers-per-channel)",
    "taskmanager.network.": "connections of slots have no such option",
    "timerservice.": UNKNOWN,
    "traces.": "there are no traces",
    "user.artifacts.": "python.files and pipeline.jars name what is sent with the job",
    "web.": _NO_SUCH_SETTING,
    "yarn.": "Spark runs on YARN by settings of its own: spark.master and spark.yarn.…",
    "zookeeper.": "there is no ZooKeeper",
}


def reason_without_effect(key: str) -> str:
    """Why a key that no option reads changes nothing; empty when Flink does not have it.

    >>> reason_without_effect("web.tmpdir"), reason_without_effect("my.own.key")
    ('the service has no such setting', '')
    """
    fitting = (beginning for beginning in _REASONS if key.startswith(beginning))
    return _REASONS.get(max(fitting, key=len, default=""), "")

"""Kubernetes without a cluster: manifests by the API's own model, and executor pods as Spark would ask for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from py4j.java_collections import JavaMap
from py4j.protocol import Py4JError

from funke.engine.runtime.spark.spark_session import spark_options

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "deploy" / "kubernetes"
DRIVER = "funke-driver.streaming.svc"

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", ["funke.yaml", "spark-executors.yaml"])
def test_manifests_fit_the_schema_of_the_api(spark: Any, name: str) -> None:
    kubernetes = spark._jvm.io.fabric8.kubernetes.client.utils.KubernetesSerialization()
    for document in yaml.safe_load_all((MANIFESTS / name).read_text(encoding="utf-8")):
        # A value of another type than the API's is rejected here.
        require_known(kubernetes.unmarshal(yaml.safe_dump(document)), document, document["kind"])


def require_known(value: Any, document: Any, path: str) -> None:
    """Fails if a document has a field that the API does not know."""
    if isinstance(document, list):
        for number, (item, part) in enumerate(zip(value, document, strict=True)):
            require_known(item, part, f"{path}[{number}]")
    elif isinstance(document, dict) and not isinstance(value, JavaMap):
        try:
            for key, part in document.items():
                getter = f"get{key[0].upper()}{key[1:]}"
                require_known(getattr(value, getter)(), part, f"{path}.{key}")
        except Py4JError as error:
            raise AssertionError(f"{path}: {error}") from error
        assert not dict(value.getAdditionalProperties()), path


def test_a_field_that_the_api_does_not_know_is_found(spark: Any) -> None:
    kubernetes = spark._jvm.io.fabric8.kubernetes.client.utils.KubernetesSerialization()
    document = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"selctor": {"a": "b"}}}
    with pytest.raises(AssertionError, match=r"Service\.spec"):
        require_known(kubernetes.unmarshal(yaml.safe_dump(document)), document, "Service")
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": ["a"]}}
    with pytest.raises(Exception, match="deserialize"):
        kubernetes.unmarshal(yaml.safe_dump(wrong))


@pytest.fixture(scope="module")
def executor_pod(spark: Any) -> Any:
    """The pod that Spark would ask for, by the options of the documentation."""
    options = spark_options(
        {
            "spark.master": "k8s://https://kubernetes.default.svc",
            "spark.kubernetes.namespace": "streaming",
            "spark.kubernetes.container.image": "registry.example.com/funke:latest",
            "spark.driver.host": DRIVER,
            "spark.driver.bindAddress": "0.0.0.0",
            "spark.driver.port": "7078",
            # Else executors call the address at which the driver listens: all of them.
            "spark.kubernetes.executor.useDriverPodIP": "false",
            "spark.executor.cores": "2",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": "-Dfirst=1 -Dsecond=2",
            "spark.app.id": "spark-application-1",
        }
    )
    spark_package = spark._jvm.org.apache.spark
    conf = spark_package.SparkConf(False)
    for key, value in options.items():
        conf.set(key, value)
    profile = scala_object(spark, "org.apache.spark.resource.ResourceProfile").getOrCreateDefaultProfile(conf)
    nothing = spark._jvm.scala.Option.empty()
    settings = scala_object(spark, "org.apache.spark.deploy.k8s.KubernetesConf")
    executor = settings.createExecutorConf(conf, "1", "spark-application-1", nothing, 0)
    defaults = [getattr(spark_package.SecurityManager, f"$lessinit$greater$default${number}")() for number in (2, 3)]
    security = spark_package.SecurityManager(conf, *defaults)
    client = spark._jvm.io.fabric8.kubernetes.client.KubernetesClientBuilder().build()
    builder = spark_package.scheduler.cluster.k8s.KubernetesExecutorBuilder()
    return builder.buildFromFeatures(executor, security, client, profile).pod()


def scala_object(spark: Any, name: str) -> Any:
    return getattr(getattr(spark._jvm, f"{name}$"), "MODULE$")


def variables_of(pod: Any) -> dict[str, str]:
    """What the container finds in its environment; fields of the pod by their paths."""
    variables = {}
    for variable in pod.container().getEnv():
        source = variable.getValueFrom()
        variables[variable.getName()] = variable.getValue() if source is None else source.getFieldRef().getFieldPath()
    return variables


def test_an_executor_calls_the_driver_and_has_the_address_of_its_pod(executor_pod: Any) -> None:
    container, variables = executor_pod.container(), variables_of(executor_pod)
    assert container.getImage() == "registry.example.com/funke:latest" and list(container.getArgs()) == ["executor"]
    assert variables["SPARK_DRIVER_URL"] == f"spark://CoarseGrainedScheduler@{DRIVER}:7078"
    assert variables["SPARK_EXECUTOR_POD_IP"] == "status.podIP"
    page = (ROOT / "docs" / "deployment.md").read_text()
    assert "-Dspark.kubernetes.executor.useDriverPodIP=false" in page
    assert "deploy/kubernetes/executor /usr/local/bin/executor" in (ROOT / "deploy" / "Containerfile").read_text()


def test_the_command_of_the_image_starts_such_an_executor(executor_pod: Any, tmp_path: Path) -> None:
    variables = variables_of(executor_pod)
    # Here the driver is one that does not exist, and the pod is this machine.
    variables |= {
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@127.0.0.1:1",
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, MANIFESTS / "executor"],
        env={**os.environ, **{key: value or "" for key, value in variables.items()}},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "Failed to connect to /127.0.0.1:1" in done.stdout + done.stderr

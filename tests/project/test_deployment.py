"""What is there to deploy the service fits the service: paths, ports and settings that exist, files that parse."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from funke.engine.config.all_options import all_options
from funke.ops.rest.openapi import openapi_document
from funke.ops.rest.routes import ROUTES

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def service() -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in documents("funke.yaml")}


def test_probes_ask_what_the_service_answers(service: dict[str, dict[str, Any]]) -> None:
    pod = service["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    described = openapi_document(ROUTES)["paths"]
    (port,) = container["ports"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert "get" in described[asked["path"]] and asked["port"] == port["name"]
    (exposed,) = service["Service"]["spec"]["ports"]
    assert exposed["targetPort"] == port["name"] and exposed["port"] == port["containerPort"]
    assert "http://127.0.0.1:8081/healthz" in (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def test_settings_are_known(service: dict[str, dict[str, Any]]) -> None:
    settings = yaml.safe_load(service["ConfigMap"]["data"]["config.yaml"])
    options = {option.key: option for option in all_options() if not option.no_effect}
    for key, value in settings.items():
        options[key].read(value)
    port = service["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"]
    assert settings["rest.port"] == port


def test_everything_that_is_mounted_is_there(service: dict[str, dict[str, Any]]) -> None:
    spec = service["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    for container in (*pod["initContainers"], *pod["containers"]):
        assert {each["name"] for each in container["volumeMounts"]} <= volumes.keys()
    assert (
        volumes["state"]["persistentVolumeClaim"]["claimName"] == service["PersistentVolumeClaim"]["metadata"]["name"]
    )
    assert volumes["settings"]["configMap"]["name"] == service["ConfigMap"]["metadata"]["name"]
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    for secret in ("tls", "token"):
        assert f" {volumes[secret]['secret']['secretName']} " in page, "the page says how to make it"


def test_executors_have_an_account_and_a_name_to_call() -> None:
    documents_by_kind = {each["kind"]: each for each in documents("spark-executors.yaml")}
    account, binding = documents_by_kind["ServiceAccount"]["metadata"]["name"], documents_by_kind["RoleBinding"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account}]
    assert binding["roleRef"]["name"] == documents_by_kind["Role"]["metadata"]["name"]
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert f"spark.driver.host={documents_by_kind['Service']['metadata']['name']}." in page
    assert f"authenticate.serviceAccountName={account}" in page


def test_what_was_not_tried_says_so() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    # The tests have run these.
    tried = {"Health", "Spark standalone", "YARN"}
    assert all(re.search(r"\(not (run|built) here\)$", each) for each in headings if each not in tried)


def test_the_unit_of_systemd(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd")
    text = (DEPLOY / "systemd" / "funke.service").read_text(encoding="utf-8")
    assert "/opt/funke/bin/python -m funke.ops.service.serve" in text
    unit = tmp_path / "funke.service"
    # Programs that a unit names must be there.
    unit.write_text(text.replace("/opt/funke/bin/python", sys.executable))
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in done.stderr.splitlines() if "funke.service" in line]
    assert not said and done.returncode == 0, done.stderr

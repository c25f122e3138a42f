"""The files of deploy/ for containers, without Docker: right YAML, right settings, files that are there."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.settings import VARIABLES, load_settings

CHECKOUT = Path(__file__).resolve().parents[2]
DEPLOY = CHECKOUT / "deploy"
KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


def filled(value: str, given: dict[str, str]) -> str:
    """Put variables into a text as Compose does: `${NAME:?message}` and `${NAME:-default}`."""
    return re.sub(r"\$\{(\w+):([?-])([^}]*)\}", lambda at: given.get(at[1], at[3] if at[2] == "-" else ""), value)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def gateways(compose: dict[str, Any]) -> dict[str, Any]:
    return {name: service for name, service in compose["services"].items() if name.startswith("gateway-")}


def test_three_gateways_start_with_settings_that_are_right(gateways: dict[str, Any]):
    given = {"POSTGRES_PASSWORD": "pw1", "NATS_PASSWORD": "pw2", "PARLEY_MASTER_KEY": KEY}
    assert len(gateways) == 3
    for name, service in gateways.items():
        environment = {key: filled(value, given) for key, value in service["environment"].items()}
        assert environment.keys() <= VARIABLES.keys()
        settings = load_settings(environment)
        assert settings.postgres_url == "postgresql://parley:pw1@postgres:5432/parley"
        assert settings.nats_url == "nats://parley:pw2@nats:4222"
        assert settings.node == name
        assert settings.master_key is not None


def test_the_gateways_take_operators_plan_and_engine_from_the_environment(gateways: dict[str, Any]):
    needed = {"POSTGRES_PASSWORD": "pw1", "NATS_PASSWORD": "pw2", "PARLEY_MASTER_KEY": KEY}
    given = {
        "INTERNAL_SECRET": "a-long-internal-secret",
        "PARLEY_OPERATORS": "lovelace,hopper",
        "PARLEY_DEFAULT_PLAN": "scale",
        "PARLEY_CHAT_ENGINE": "openai",
        "PARLEY_OPENAI_BASE_URL": "http://192.0.2.1:11434/v1",
        "PARLEY_OPENAI_API_KEY": "sk-1",
        "PARLEY_OPENAI_MODEL": "llama3.2",
    }
    for service in gateways.values():
        environment = {key: filled(value, needed | given) for key, value in service["environment"].items()}
        assert {key: environment[key] for key in given} == given
        unset = load_settings({key: filled(value, needed) for key, value in service["environment"].items()})
        assert (unset.operators, unset.default_plan, unset.chat_engine) == ((), "free", "recall")


def test_no_secret_has_a_default(compose: dict[str, Any]):
    text = (DEPLOY / "compose.yaml").read_text()
    for name in ("POSTGRES_PASSWORD", "NATS_PASSWORD", "PARLEY_MASTER_KEY"):
        assert set(re.findall(rf"\$\{{{name}(:.)", text)) == {":?"}


def test_what_a_service_needs_is_there_and_checked(compose: dict[str, Any]):
    services, volumes = compose["services"], compose["volumes"]
    for name, service in services.items():
        assert ":" in service["image"] or "build" in service, f"{name} has an image of any version"
        for needed in service.get("depends_on", []):
            assert needed in services
            if isinstance(service["depends_on"], dict):
                assert "healthcheck" in services[needed]
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).is_file() if source.startswith(".") else source in volumes
        if "healthcheck" not in service:
            assert "HEALTHCHECK" in (DEPLOY / service["build"]["dockerfile"].removeprefix("deploy/")).read_text()


def test_the_gateways_trust_the_proxys_network_and_no_other(compose: dict[str, Any], gateways: dict[str, Any]):
    (network,) = compose["networks"]["default"]["ipam"]["config"]
    assert {service["environment"]["PARLEY_TRUSTED_PROXIES"] for service in gateways.values()} == {network["subnet"]}
    assert "del-header Forwarded" in (DEPLOY / "haproxy.cfg").read_text()


def test_the_proxy_asks_every_gateway_for_its_health(gateways: dict[str, Any]):
    text = (DEPLOY / "haproxy.cfg").read_text()
    assert dict(re.findall(r"^    server (\S+) (\S+)$", text, re.MULTILINE)) == {
        name: f"{name}:8000" for name in gateways
    }
    assert "http-check send meth GET uri /api/health" in text
    assert re.findall(r"^    retry-on (.+)$", text, re.MULTILINE) == ["conn-failure"], "a command may not be sent twice"


def test_the_proxy_knows_every_gateway_by_the_name_of_its_node(gateways: dict[str, Any]):
    text = (DEPLOY / "haproxy.cfg").read_text()
    learned = re.findall(r"sc-set-gpt0\(0\) int\((\d)\) if { res\.hdr\(x-parley-node\) (\S+) }", text)
    used = re.findall(r"use-server (\S+) if { sc0_get_gpt0\(homes\) (\d) }", text)
    names = {service["environment"]["PARLEY_NODE_NAME"] for service in gateways.values()}
    assert {name for _, name in learned} == names
    assert [(name, number) for number, name in learned] == used
    assert len(dict(learned)) == len(names)


def test_the_image_has_every_part_of_the_gateway_and_is_run_by_nobody_special():
    text = (DEPLOY / "Containerfile").read_text()
    copied = {name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE) for name in line.split()}
    packages = {path.parent.name for path in CHECKOUT.glob("*/__init__.py")} - {"deploy", "bench", "tests", "clients"}
    assert copied >= packages | {"server.py", "console"}
    assert all((CHECKOUT / name).exists() for name in copied)
    assert "USER 10001:10001" in text
    assert "--require-hashes" in text

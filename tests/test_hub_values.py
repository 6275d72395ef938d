"""hub/values.yaml: what it says of nodes follows from what it sets, and its keys are the chart's."""

import math
import re

import yaml
from notebook_runs import ROOT

TEXT = (ROOT / "hub" / "values.yaml").read_text(encoding="utf-8")
VALUES = yaml.safe_load(TEXT)
COMMENT = " ".join(line.lstrip("# ") for line in TEXT.split("\n") if line.startswith("#"))
UNITS = {"Mi": 2**20, "Gi": 2**30, "M": 2**20, "G": 2**30}  # KubeSpawner counts M and G in powers of two
# What the chart's schema knows, as far as it is used here: a set names keys, a dict goes on, None allows anything
CHART = {
    "hub": {"config": None, "concurrentSpawnLimit": int, "activeServerLimit": int, "resources": {"requests": {"cpu": None, "memory": str}}},
    "proxy": {
        "https": {"enabled": bool, "hosts": list, "letsencrypt": {"contactEmail": str}},
        "chp": {"resources": {"requests": {"cpu": None, "memory": str}}},
    },
    "singleuser": {
        "image": {"name": str, "tag": str},
        "memory": {"guarantee": str, "limit": str},
        "cpu": {"guarantee": float, "limit": int},
        "startTimeout": int,
        "defaultUrl": str,
        "extraEnv": None,
        "storage": {"capacity": str},
    },
    "scheduling": {
        "userScheduler": {"enabled": bool},
        "podPriority": {"enabled": bool},
        "userPlaceholder": {"enabled": bool, "replicas": int},
        "userPods": {"nodeAffinity": {"matchNodePurpose": str}},
    },
    "prePuller": {"hook": {"enabled": bool}, "continuous": {"enabled": bool}},
    "cull": {"enabled": bool, "timeout": int, "every": int, "maxAge": int},
}


def unknown(values, known, path=""):
    """Keys that the chart would refuse, and values of another type than it wants."""
    if known is None:
        return []
    if isinstance(known, type):
        return [] if isinstance(values, known) else [f"{path} is {values!r}"]
    return [problem for key, value in values.items()
            for problem in (unknown(value, known[key], f"{path}.{key}") if key in known else [f"{path}.{key}"])]  # fmt: skip


def size(text):
    """ "1Gi" -> bytes"""
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()
    return float(number) * UNITS[unit]


def numbers(pattern):
    """The numbers that stand in the comment where the pattern has (N)."""
    found = re.search(pattern.replace("(N)", r"([\d.]+)"), COMMENT)
    assert found, f"the comment no longer says: {pattern}"
    return [float(number) for number in found.groups()]


def per_node():
    memory, cores = numbers(r"A node has (N) GiB and (N) cores")
    system_memory, system_cores = numbers(r"of which (N) GiB and (N) core")
    singleuser = VALUES["singleuser"]
    by_memory = (memory - system_memory) * 2**30 / size(singleuser["memory"]["guarantee"])
    return int(min(by_memory, (cores - system_cores) / singleuser["cpu"]["guarantee"])), cores - system_cores


def test_every_key_is_one_of_the_charts():
    assert unknown(VALUES, CHART) == []
    assert unknown({"hub": {"concurentSpawnLimit": 1}, "cull": {"every": "600"}}, CHART) == [".hub.concurentSpawnLimit", ".cull.every is '600'"]


def test_a_node_holds_as_many_as_it_is_said_to():
    learners, _ = per_node()
    assert numbers(r"cores\) = (N) learners, fewer than Kubernetes' (N) pods") == [learners, 110] and learners < 110
    assert VALUES["scheduling"]["userPlaceholder"]["replicas"] == learners, "one node's worth of room"


def test_the_table_of_nodes_is_right():
    learners, _ = per_node()
    table = re.findall(r"^# +(\d+) +(\d+)$", TEXT, re.M)
    assert [int(n) for n, _ in table] == [100, 300, 500, 1000]
    for at_once, nodes in table:
        assert int(nodes) == math.ceil((int(at_once) + VALUES["scheduling"]["userPlaceholder"]["replicas"]) / learners), at_once


def test_memory_is_enough_for_what_was_measured():
    server, kernel = numbers(r"a server takes (N) GB and a kernel (N) GB")
    most = numbers(r"; (N) GB is the most that any notebook may take")[0]
    guarantee, limit = (size(VALUES["singleuser"]["memory"][key]) / 1e9 for key in ("guarantee", "limit"))
    assert server + kernel < guarantee and server + most < limit and server + 3 * kernel < limit


def test_a_node_where_all_press_run_all_takes_as_long_as_is_said():
    learners, cores = per_node()
    n, seconds, on, wall, alone = numbers(r"takes (N) x (N) CPU s / (N) cores = (N) s in place of (N)")
    assert (n, on, alone) == (learners, cores, seconds) and wall == round(n * seconds / on)


def test_nobody_gets_in_by_default_and_the_whole_class_may():
    assert VALUES["hub"]["config"]["JupyterHub"]["authenticator_class"] not in ("dummy", "null", "shared-password")
    assert VALUES["hub"]["activeServerLimit"] > 1000
    assert VALUES["prePuller"]["hook"]["enabled"] and VALUES["prePuller"]["continuous"]["enabled"] and VALUES["cull"]["enabled"]

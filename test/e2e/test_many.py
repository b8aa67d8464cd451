# SPDX-License-Identifier: Apache-2.0
"""Hundreds of pods at once: all come up, are listed, go away, and nothing of them is left."""

import collections
import os
import pathlib
import sys

from muster_test import Cases, equal
from pods import PODS, SLEEP, container, is_ready, node, pod, wait_until

COUNT = 300
LIMIT_S = 120
cases = Cases()
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def job(name, count=COUNT):
    spec = pod("x", container("main"))["spec"] | {"restartPolicy": "Never"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"parallelism": count, "completions": count, "template": {"spec": spec}}}


def items(one):
    return one.api.ok("GET", PODS)["items"]


def descriptors(one):
    """Of the server, those of our own requests not counted."""
    folder, found = pathlib.Path(f"/proc/{one.server.popen.pid}/fd"), []
    for entry in folder.iterdir():
        try:
            found.append(os.readlink(entry))
        except OSError:
            pass
    return sorted(kind.split(":")[0] if kind.startswith("socket:") else kind for kind in found)


def groups(uids):
    """Control groups that are named after one of these pods."""
    found = []
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        found += [f"{folder}/{name}" for name in names if any(uid in name for uid in uids)]
    return found


def processes(one):
    """Pids of all that the server's spawner has started and that still live."""
    pids = [one.server.popen.pid]
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except OSError:
            continue
        pids += [int(word) for word in text.split()]
    return [pid for pid in pids if command(pid) == SLEEP]


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


@cases
def many_pods_come_and_go(one):
    one.api.ok("POST", JOBS, job("first", 64))  # whatever is opened once is open now
    wait_until(lambda: one.api.ok("GET", f"{JOBS}/first")["status"].get("ready") == 64,
               "the first pods are ready", LIMIT_S)
    one.api.ok("DELETE", f"{JOBS}/first?propagationPolicy=Background")
    wait_until(lambda: not items(one), "none of the first pods is left", LIMIT_S)
    before = descriptors(one)
    one.api.ok("POST", JOBS, job("many"))
    wait_until(lambda: one.api.ok("GET", f"{JOBS}/many")["status"].get("ready") == COUNT,
               "all pods are ready", LIMIT_S)
    listed = items(one)
    equal(len(listed), COUNT, "pods")
    equal(sum(is_ready(thing) for thing in listed), COUNT, "ready pods")
    uids = {thing["metadata"]["uid"] for thing in listed}
    equal(len(processes(one)), COUNT, "processes")
    logs = one.server.data / "node/logs"
    equal(len(list(logs.iterdir())), COUNT, "folders of logs")
    one.api.ok("DELETE", f"{JOBS}/many?propagationPolicy=Background")
    wait_until(lambda: not items(one), "no pod is left", LIMIT_S)
    equal(processes(one), [], "processes")
    wait_until(lambda: not list(logs.iterdir()), "no log is left")
    wait_until(lambda: not groups(uids), "no control group is left")
    left = list((one.server.data / "node/pods").iterdir())
    equal(left, [], "folders of pods")
    wait_until(lambda: not collections.Counter(descriptors(one)) - collections.Counter(before),
               f"no descriptors but {before}")


if __name__ == "__main__":
    sys.exit(cases.main(node))

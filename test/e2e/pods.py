# SPDX-License-Identifier: Apache-2.0
"""Pods of real processes, and how to wait for what becomes of them."""

import contextlib
import pathlib
import time

from muster_test import LIMIT_S, Server, fail

PODS = "/api/v1/namespaces/default/pods"
SLEEP = ["sleep", "1000"]


def container(name, command=None, **more):
    """A command in one text is for the shell."""
    if isinstance(command, str):
        command = ["sh", "-c", command]
    return {"name": name, "command": command or SLEEP, **more}


def pod(name, *containers, annotations=None, inits=(), grace=5, **spec):
    body = {"containers": list(containers), "terminationGracePeriodSeconds": grace, **spec}
    if inits:
        body["initContainers"] = list(inits)
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations or {}}, "spec": body}


def exec_probe(command, **more):
    return {"exec": {"command": ["sh", "-c", command]}, "periodSeconds": 1, **more}


def statuses(thing):
    """All container statuses by name, init containers too."""
    status = thing.get("status", {})
    every = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
    return {one["name"]: one for one in every}


def state_of(thing, name):
    return statuses(thing).get(name, {}).get("lifecycle", {}).get("state")


def is_ready(thing):
    return any(c["type"] == "Ready" and c["status"] == "True"
               for c in thing.get("status", {}).get("conditions", []))


def moves(thing, name):
    return [move["state"] for move in statuses(thing)[name]["lifecycle"]["moves"]]


def moved_at(thing, name, state):
    """When the container came into the state, as comparable text."""
    return [m["at"] for m in statuses(thing)[name]["lifecycle"]["moves"] if m["state"] == state][-1]


def wait_until(condition, what, limit=LIMIT_S):
    """For what no watch can tell (files, processes): looks often, bounded."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    fail(f"not within {limit} s: {what}")


class Node:
    """A server that runs pods."""

    def __init__(self, folder, *options, cwd=None):
        self.server = Server(folder, *options, node=True, cwd=cwd).start()
        self.api = self.server.local()
        self.folder = pathlib.Path(folder)
        self.number = 0

    def scratch(self, name):
        """The path of a file that only this case uses."""
        self.number += 1
        return self.folder / f"{self.number}-{name}"

    def create(self, thing):
        return self.api.ok("POST", PODS, thing)

    def wait(self, name, wanted):
        """The pod as it is when wanted(pod) first holds."""
        with self.api.watch(PODS, fieldSelector=f"metadata.name={name}") as events:
            return events.until(lambda e: e["type"] != "DELETED" and wanted(e["object"]))[-1][
                "object"]

    def run(self, thing, wanted=is_ready):
        self.create(thing)
        return self.wait(thing["metadata"]["name"], wanted)

    def delete(self, name, grace=None):
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        self.api.ok("DELETE", f"{PODS}/{name}{query}")
        self.api.wait_gone(PODS, name)

    def configure(self, **throttling):
        """Throttle settings of this node from now on; none: the defaults."""
        path = "/apis/muster.dev/v1alpha1/nodeconfigs"
        self.api.call("DELETE", f"{path}/default")
        if throttling:
            self.api.ok("POST", path, {"apiVersion": "muster.dev/v1alpha1", "kind": "NodeConfig",
                                       "metadata": {"name": "default"},
                                       "spec": {"throttling": throttling}})

    def log(self, thing, name, generation=1):
        meta = thing["metadata"]
        folder = self.server.data / "node/logs" / f"{meta['namespace']}_{meta['name']}_{meta['uid']}"
        path = folder / name / f"{generation}.log"
        return path.read_text() if path.exists() else ""

    def stop(self):
        self.api.close()
        self.server.stop()

    def restart(self):
        """kill -9 and a new server on the same folder."""
        self.api.close()
        self.server.kill()
        self.server.start()
        self.api = self.server.local()


@contextlib.contextmanager
def node(folder, *options, cwd=None):
    one = Node(folder, *options, cwd=cwd)
    try:
        yield one
        one.stop()
    finally:
        one.server.end()


def alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the latter: it went while it was read
        return False
    return text.rsplit(")", 1)[1].split()[0] != "Z"


def check_order(thing, pairs):
    """Each pair (a, b): b began to start after a was ready."""
    for first, then in pairs:
        if moved_at(thing, then, "starting") < moved_at(thing, first, "ready"):
            fail(f"{then} started before {first} was ready")



# SPDX-License-Identifier: Apache-2.0
"""Agents in pods of the embedded node: the document's two manifests, a third with the agent as the
worker's parent, and the document's table of exit codes."""

import os
import pathlib
import signal
import sys

from agents import EPOCH, jobsets
from muster_test import SOURCE, Cases, contains, equal, fail
from pods import PODS, node, wait_until

cases = Cases()
SETS = jobsets("default")
RESTART, FATAL, REPLACE = 64, 42, 43  # X, Y and Z of the document

# The member with index 0 does `action` once; then all wait for the end. In a manifest $$ is one
# dollar.
WORKER = """test -s "$MUSTER_HOSTS_FILE" || exit 42
echo "$JOB_COMPLETION_INDEX $POD_NAME $$$$" >> {log}
if [ "$JOB_COMPLETION_INDEX" = 0 ] && mkdir {once} 2>/dev/null; then {action}; fi
while ! [ -e {go} ]; do sleep 0.05; done"""


def rule(action, operator, *codes):
    return {"action": action, "exitCodes": {"operator": operator, "values": list(codes)}}


def field(name, path):
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def manifest(name, script):
    """The document's second manifest: agent beside the worker, with a failure policy."""
    agent = {"name": "agent", "command": ["muster-agent"], "restartPolicy": "Always",
             "restartPolicyRules": [rule("RestartPod", "In", RESTART),
                                    rule("Terminate", "NotIn", RESTART)],
             "startupProbe": {"httpGet": {"path": "/barrier-is-lifted", "port": 8080},
                              "failureThreshold": 600, "periodSeconds": 1},
             "env": [field("NAMESPACE", "metadata.namespace"), field("POD_NAME", "metadata.name"),
                     field("JOBSET_NAME", "metadata.annotations['jobset.sigs.k8s.io/jobset-name']"),
                     {"name": "RESTART_POD_IN_PLACE_EXIT_CODE", "value": str(RESTART)}]}
    worker = {"name": "worker", "command": ["sh", "-c", script], "restartPolicy": "Never",
              "env": [field("POD_NAME", "metadata.name")],
              "restartPolicyRules": [rule("Terminate", "In", FATAL, REPLACE),
                                     rule("RestartPod", "NotIn", 0, FATAL, REPLACE)]}
    job = {"completions": 2, "parallelism": 2, "backoffLimit": 2147483647,
           "podReplacementPolicy": "Failed",
           "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {
               "containerName": "worker", "operator": "In", "values": [FATAL]}}]},
           "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5,
                                 "initContainers": [agent], "containers": [worker]}}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
            "spec": {"failurePolicy": {"maxRestarts": 5, "restartStrategy": "InPlaceRestart",
                                       "rules": [{"name": "fatal", "action": "FailJobSet",
                                                  "onJobFailureReasons": ["PodFailurePolicy"]}]},
                     "replicatedJobs": [{"name": "w", "template": {"spec": job}}]}}


class Run:
    """One JobSet of this manifest whose first member does something."""

    def __init__(self, one, name, action):
        self.node, self.name = one, name
        self.log, self.go = one.scratch("log"), one.scratch("go")
        self.log.touch()
        script = WORKER.format(log=self.log, go=self.go, once=one.scratch("once"), action=action)
        one.api.ok("POST", SETS, manifest(name, script))

    def starts(self):
        """Each start of a worker: (index, pod, pid)."""
        return [tuple(line.split()) for line in self.log.read_text().splitlines()]

    def wait_starts(self, count):
        wait_until(lambda: len(self.starts()) >= count, f"{count} starts of {self.name}")
        return self.starts()

    def pods_by_name(self):
        mine = {"labelSelector": f"jobset.sigs.k8s.io/jobset-name={self.name}"}
        return {p["metadata"]["name"]: p for p in self.node.api.get(
            PODS + "?labelSelector=" + mine["labelSelector"].replace("=", "%3D"))["items"]}

    def verdict(self):
        return self.node.api.wait_for(SETS, lambda s: s["metadata"]["name"] == self.name and
                                      s["status"].get("terminalState"))["status"]

    def finish(self, epochs):
        """Lets all end; it must be a success, after so many epochs."""
        self.go.touch()
        status = self.verdict()
        equal(status["terminalState"], "Completed", "verdict")
        equal((status["syncedEpoch"], status["deprecatedEpoch"]), (epochs, epochs - 1), "epochs")
        equal(status.get("restartsCountTowardsMax", 0), epochs - 1, "restarts charged")
        self.node.api.ok("DELETE", f"{SETS}/{self.name}?propagationPolicy=Foreground")
        self.node.api.wait_gone(SETS, self.name)


@cases
def worker_ends_with_0_and_its_member_has_succeeded(one):
    run = Run(one, "zero", "exit 0")
    pod = [p for i, p, _ in run.wait_starts(2) if i == "0"][0]
    one.wait(pod, lambda p: p["status"].get("phase") == "Succeeded")
    equal(len(run.starts()), 2, "starts")
    run.finish(1)


def in_place(one, name, action):
    run = Run(one, name, action)
    first = run.wait_starts(2)
    starts = run.wait_starts(4)
    equal(sorted({pod for _, pod, _ in starts}), sorted({pod for _, pod, _ in first}), "pods")
    equal(sorted(i for i, _, _ in starts), ["0", "0", "1", "1"], "members that started")
    for pod in run.pods_by_name().values():
        equal(pod["metadata"]["annotations"][EPOCH], "2", "epoch")
    run.finish(2)


@cases
def worker_ends_with_another_code_and_all_restart_in_place(one):
    in_place(one, "other", "exit 5")


@cases
def worker_dies_of_a_signal_and_all_restart_in_place(one):
    in_place(one, "signal", "kill -KILL $$$$")


@cases
def worker_ends_with_Y_and_the_jobset_fails(one):
    run = Run(one, "fatal", f"exit {FATAL}")
    status = run.verdict()
    equal(status["terminalState"], "Failed", "verdict")
    failed = [c for c in status["conditions"] if c["type"] == "Failed" and c["status"] == "True"]
    equal(failed[0]["reason"], "FailJobSetFailurePolicyAction", "reason")
    # The other one may be ended before it could say that it has begun.
    equal(len(run.starts()) <= 2, True, "nobody was started again")


def replaced(one, name, action, blow=None):
    run = Run(one, name, action)
    first = run.wait_starts(2)
    if blow:
        blow(run)
    starts = run.wait_starts(4)
    pods = [[pod for i, pod, _ in starts if i == index] for index in ("0", "1")]
    equal(len(set(pods[0])), 2, f"pods of the member that was replaced {starts}")
    equal(len(set(pods[1])), 1, "pods of the other one, which restarts in place")
    equal(len(first) <= len(starts), True, "starts")
    run.finish(2)


@cases
def worker_ends_with_Z_and_its_pod_is_replaced(one):
    replaced(one, "replace", f"exit {REPLACE}")


@cases
def agent_ends_with_something_else_than_X_and_its_pod_is_replaced(one):
    def blow(run):
        name = [pod for i, pod, _ in run.starts() if i == "0"][0]
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                env = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"muster-agent") and b"POD_NAME=" + name.encode() in env:
                os.kill(int(folder.name), signal.SIGKILL)
                return
        fail("no agent found")

    replaced(one, "agent", "true", blow)


# ---- the manifests as they are ----

def apply_example(one, file):
    text = (SOURCE / "examples" / file).read_text()
    done = one.api.call("POST", SETS, text, {"Content-Type": "application/yaml"})
    if done.status != 201:
        fail(done.text)
    return done.json()["metadata"]["name"]


def kill_a_worker(one, name):
    """The one of the first member, when all eight are there."""
    def all_started():
        status = one.api.get(f"{SETS}/{name}")["status"]
        return status.get("syncedEpoch") == 1 and find_sleeps(one)

    pids = wait_until(lambda: all_started(), "workers")
    os.kill(pids[0], signal.SIGKILL)


def find_sleeps(one):
    """Shells of workers of this node that are at work, when there are eight."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            env = (folder / "environ").read_bytes()
        except OSError:
            continue
        here = os.path.realpath(one.server.data).encode()  # stands in MUSTER_HOSTS_FILE
        if words[:2] == [b"sh", b"-c"] and b"works" in words[2] and here in env:
            found.append(int(folder.name))
    return found if len(found) == 8 else None


def example(one, file):
    name = apply_example(one, file)
    kill_a_worker(one, name)
    status = one.api.wait_for(SETS, lambda s: s["metadata"]["name"] == name and
                              s["status"].get("terminalState"))["status"]
    equal(status["terminalState"], "Completed", "verdict")
    equal((status["syncedEpoch"], status["restartsCountTowardsMax"]), (2, 1), "epoch and budget")
    one.api.ok("DELETE", f"{SETS}/{name}?propagationPolicy=Foreground")
    one.api.wait_gone(SETS, name)


@cases
def the_example_with_a_sidecar_survives_the_death_of_a_worker(one):
    example(one, "jobset-in-place-sidecar.yaml")


@cases
def the_example_with_a_failure_policy_survives_the_death_of_a_worker(one):
    example(one, "jobset-in-place-failure-policy.yaml")


@cases
def the_example_with_a_parent_survives_the_death_of_a_worker(one):
    example(one, "jobset-in-place-parent.yaml")


if __name__ == "__main__":
    sys.exit(cases.main(node))

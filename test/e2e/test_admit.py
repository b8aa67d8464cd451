# SPDX-License-Identifier: Apache-2.0
"""Gangs of real processes in a queue: two that together are more than the machine bears, one that
does not recover, one that never gets ready, a JobSet, and a server that is killed in between."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

from muster_test import SOURCE, Cases, equal, fail, kubectl_path, muster_path
from pods import alive, node, wait_until

cases = Cases()
JOBS = "/apis/batch/v1/namespaces/default/jobs"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = KUEUE + "/namespaces/default/workloads"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
PODS = "/api/v1/namespaces/default/pods"


def config(world, **ready):
    path = pathlib.Path(world["folder"]) / f"config-{world['number']}.json"
    path.write_text(json.dumps({"apiVersion": "muster.dev/v1alpha1", "kind": "Configuration",
                                "waitForPodsReady": ready}))
    return str(path)


@contextlib.contextmanager
def server(world, file, *options, cwd=None):
    """A server of its own for each case."""
    world["number"] += 1
    folder = pathlib.Path(world["folder"]) / str(world["number"])
    with node(folder, "--config", file, *options, cwd=cwd) as n:
        yield n


def kubectl(n, *words):
    done = subprocess.run([kubectl_path(), "--kubeconfig", n.server.kubeconfig, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail(f"kubectl {' '.join(words)}: {done.stdout}")
    return done.stdout


def condition(thing, kind):
    for one in thing.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return f"{one['status']}/{one['reason']}"
    return None


def wait_for(n, name, kind, *values):
    return n.api.wait_for(WORKLOADS, lambda w: w["metadata"]["name"] == name and
                          condition(w, kind) in values)


EXAMPLE = str(SOURCE / "examples" / "two-gangs.yaml")
GANGS = ("red", "blue")
PARTS = sorted(f"{gang}-{part}" for gang in GANGS
               for part in ("shard-0-0", "shard-0-1", "trainer-0-0"))


@contextlib.contextmanager
def two_gangs(world, configuration):
    """The example as it is, on a share of this machine that takes four pods."""
    with server(world, str(SOURCE / "examples" / "two-gangs" / configuration), "--nodes", EXAMPLE,
                cwd=SOURCE) as n:
        kubectl(n, "apply", "-f", EXAMPLE)
        yield n


def until_completed(n):
    for name in GANGS:
        n.api.wait_for(JOBSETS, lambda j: j["metadata"]["name"] == name and
                       condition(j, "Completed") is not None)


QUEUE = [
    (KUEUE + "/resourceflavors", {"kind": "ResourceFlavor", "metadata": {"name": "f"}}),
    (KUEUE + "/clusterqueues",
     {"kind": "ClusterQueue", "metadata": {"name": "q"},
      "spec": {"namespaceSelector": {}, "resourceGroups": [
          {"coveredResources": ["pods"],
           "flavors": [{"name": "f", "resources": [{"name": "pods", "nominalQuota": 2}]}]}]}}),
    (KUEUE + "/namespaces/default/localqueues",
     {"kind": "LocalQueue", "metadata": {"name": "lq"}, "spec": {"clusterQueue": "q"}}),
]


def make_queue(n, **rules):
    for path, thing in QUEUE:
        if thing["kind"] == "ClusterQueue":
            thing = {**thing, "spec": {**thing["spec"], **rules}}
        n.api.ok("POST", path, {"apiVersion": "kueue.x-k8s.io/v1beta2", **thing})


def make_job(n, name, script, ready="false", parallelism=1, labels=None):
    n.api.ok("POST", JOBS, {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq", **(labels or {})}},
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": {"spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [
                {"name": "c", "command": ["sh", "-c", script],
                 "readinessProbe": {"exec": {"command": ["sh", "-c", ready]},
                                    "periodSeconds": 1}}]}}}})


@cases
def two_gangs_are_done_one_after_the_other(world):
    with two_gangs(world, "wait.yaml") as n:
        until_completed(n)
        first, second = sorted((n.api.get(f"{WORKLOADS}/jobset-{name}") for name in GANGS),
                               key=lambda w: at(w, "Admitted"))
        if at(second, "Admitted") < at(first, "PodsReady"):
            fail("the second was let in before the first was ready")
        equal([w["status"].get("schedulingStats") for w in (first, second)], [None, None],
              "evictions")
        for name in GANGS:
            trainer = f"{name}-trainer-0"
            log = kubectl(n, "logs", f"job/{trainer}")
            equal(log, "all three were here: y = 2.00 x + 1.00\n", trainer)


def at(workload, kind):
    return [c["lastTransitionTime"] for c in workload["status"]["conditions"]
            if c["type"] == kind][0]


@cases
def without_waiting_they_wait_for_each_other(world):
    with two_gangs(world, "nowait.yaml") as n:
        for name in GANGS:
            wait_for(n, f"jobset-{name}", "Admitted", "True/Admitted")
            n.api.wait_for(PODS, lambda p: p["metadata"]["name"].startswith(f"{name}-trainer-") and
                           condition(p, "PodScheduled") == "False/Unschedulable")
        # Two shards each, and each needs a trainer as well: nobody will ever make room.
        running = [p["metadata"]["name"].rsplit("-", 1)[0] for p in n.api.get(PODS)["items"]
                   if p["status"]["phase"] == "Running"]
        equal(sorted(running), [part for part in PARTS if "shard" in part], "who runs")


@cases
def a_server_that_is_killed_goes_on(world):
    with two_gangs(world, "wait.yaml") as n:
        first = n.api.wait_for(WORKLOADS, lambda w: condition(w, "Admitted") == "True/Admitted")
        path = f"{WORKLOADS}/{first['metadata']['name']}"
        n.restart()
        until_completed(n)
        now = n.api.get(path)
        equal((at(now, "Admitted"), now["status"].get("schedulingStats")),
              (at(first, "Admitted"), None), "the first")
        # Nobody was made twice: whatever was there when it was killed was found again.
        equal([used_restarts(n, name) for name in GANGS], [0, 0], "restarts")
        made = [p["metadata"]["name"].rsplit("-", 1)[0] for p in n.api.get(PODS)["items"]]
        equal(sorted(part for part in made if "trainer" in part),
              [part for part in PARTS if "trainer" in part], "trainers")


@cases
def a_gang_that_does_not_recover_is_evicted(world):
    with server(world, config(world, enable=True, timeout="50s", recoveryTimeout="1s",
                              requeuingStrategy={"backoffBaseSeconds": 1})) as n:
        make_queue(n)
        once = n.scratch("once")
        # Its first member can be ready; whoever comes in its place cannot.
        make_job(n, "a", f"test -e {once} && exec sleep 1000; : > {once}; echo $$$$ > {once}.pid; "
                         f"exec sleep 1000", ready=f"test -s {once}.pid")
        wait_for(n, "job-a", "PodsReady", "True/Started")
        pid = int((once.parent / (once.name + ".pid")).read_text())
        (once.parent / (once.name + ".pid")).unlink()
        os.kill(pid, 9)
        workload = n.api.wait_for(WORKLOADS, lambda w: "schedulingStats" in w["status"])
        equal(workload["status"]["schedulingStats"]["evictions"],
              [{"reason": "PodsReadyTimeout", "underlyingCause": "WaitForRecovery", "count": 1}])
        equal(workload["status"]["requeueState"]["count"], 1)
        wait_for(n, "job-a", "Requeued", "True/BackoffFinished")
        wait_for(n, "job-a", "Admitted", "True/Admitted")


@cases
def one_that_is_never_ready_is_deactivated_and_comes_back(world):
    with server(world, config(world, enable=True, timeout="1s",
                              requeuingStrategy={"backoffLimitCount": 1,
                                                 "backoffBaseSeconds": 1})) as n:
        make_queue(n)
        make_job(n, "a", "exec sleep 1000")
        workload = wait_for(n, "job-a", "Requeued", "False/DeactivatedDueToRequeuingLimitExceeded")
        equal(condition(workload, "QuotaReserved"), "False/Deactivated")
        equal(workload["status"].get("requeueState"), None)
        n.api.wait_for(WORKLOADS, lambda w: w["spec"]["active"] is False)
        why = subprocess.run([muster_path(), "why", "workload/job-a", "--data", str(n.server.data)],
                             stdout=subprocess.PIPE, text=True).stdout
        if "set spec.active to true" not in why:
            fail(f"why said: {why}")
        kubectl(n, "patch", "workload", "job-a", "--type=merge", "-p", '{"spec":{"active":true}}')
        wait_for(n, "job-a", "Requeued", "True/Reactivated")
        wait_for(n, "job-a", "Admitted", "True/Admitted")
        told(n, f'kueue_evicted_workloads_total{{{Q},{TIMEOUT}}} 1',
             f'kueue_evicted_workloads_once_total{{{Q},{TIMEOUT}}} 1',
             f'kueue_evicted_workloads_total{{{Q},{LIMIT}}} 1',
             f'kueue_workload_eviction_latency_seconds_count{{{Q},reason="PodsReadyTimeout"}} 1',
             f'kueue_workload_eviction_latency_seconds_count{{{Q},reason="Deactivated"}} 1',
             f'kueue_admitted_workloads_total{{{Q}}} 3',
             f'kueue_admission_wait_time_seconds_count{{{Q}}} 3',
             f'kueue_admission_wait_time_seconds_bucket{{{Q},le="+Inf"}} 3',
             f'kueue_admitted_active_workloads{{{Q}}} 1',
             f'kueue_pending_workloads{{{Q},status="active"}} 0',
             f'kueue_pending_workloads{{{Q},status="inadmissible"}} 0',
             f'muster_requeued_workloads_total{{{Q},reason="BackoffFinished"}} 1',
             f'muster_requeued_workloads_total{{{Q},reason="Reactivated"}} 1')
        seen(n, "job-a", "Admitted", "EvictedDueToPodsReadyTimeout", "Requeued",
             "EvictedDueToDeactivatedDueToRequeuingLimitExceeded")


Q = 'cluster_queue="q"'
TIMEOUT = 'reason="PodsReadyTimeout",underlying_cause="WaitForStart"'
LIMIT = 'reason="Deactivated",underlying_cause="RequeuingLimitExceeded"'
TOO_LONG = 'reason="Deactivated",underlying_cause="MaximumExecutionTimeExceeded"'


def told(n, *wanted):
    """Samples of /metrics."""
    def is_there(line):
        return line in n.api.call("GET", "/metrics").text.splitlines()
    for line in wanted:
        wait_until(lambda: is_there(line), line)


def seen(n, name, *reasons):
    def is_there(reason):
        return any(e["reason"] == reason and e["involvedObject"]["name"] == name
                   for e in n.api.get("/api/v1/namespaces/default/events")["items"])
    for reason in reasons:
        wait_until(lambda: is_there(reason), f"event {reason} of {name}")


@cases
def what_is_decided_is_counted(world):
    """One that runs well is preempted, the other is done, the first comes back and may not run any
    longer."""
    with server(world, config(world, enable=True, timeout="50s",
                              requeuingStrategy={"resetAfter": "0s"})) as n:
        make_queue(n, preemption={"withinClusterQueue": "LowerPriority"})
        n.api.ok("POST", KUEUE + "/workloadpriorityclasses",
                 {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
                  "metadata": {"name": "high"}, "value": 100})
        make_job(n, "low", "exec sleep 1000", ready="true", parallelism=2)
        wait_for(n, "job-low", "PodsReady", "True/Started")
        make_job(n, "high", "exec sleep 1", ready="true", parallelism=2,
                 labels={"kueue.x-k8s.io/priority-class": "high"})
        wait_for(n, "job-high", "Finished", "True/Succeeded")
        wait_for(n, "job-low", "Admitted", "True/Admitted")
        kubectl(n, "patch", "workload", "job-low", "--type=merge", "-p",
                '{"spec":{"maximumExecutionTimeSeconds":1}}')
        why = "DeactivatedDueToMaximumExecutionTimeExceeded"
        wait_for(n, "job-low", "Requeued", f"False/{why}")
        told(n, 'kueue_preempted_workloads_total{preempting_cluster_queue="q",'
                'reason="InClusterQueue"} 1',
             f'kueue_evicted_workloads_total{{{Q},reason="Preempted",underlying_cause=""}} 1',
             f'kueue_evicted_workloads_total{{{Q},{TOO_LONG}}} 1',
             f'kueue_pods_ready_to_evicted_time_seconds_count{{{Q},reason="Preempted",'
             'underlying_cause=""} 1',
             f'kueue_finished_workloads_total{{{Q}}} 1', f'kueue_admitted_workloads_total{{{Q}}} 3')
        seen(n, "job-low", "EvictedDueToPreempted", "EvictedDueTo" + why)
        seen(n, "job-high", "Finished")


def make_jobset(n, folder):
    """Two members that write down who they are in each epoch, are ready when there is a file
    `ready`, and end well when there is one called `done`."""
    script = (f"echo $$$$ > {folder}/new.$$$$; "
              f"mv {folder}/new.$$$$ {folder}/pid.$JOB_COMPLETION_INDEX.$MUSTER_EPOCH; "
              f"until test -e {folder}/done; do sleep 0.1; done")
    n.api.ok("POST", JOBSETS, {
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "s", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"failurePolicy": {"maxRestarts": 1, "restartStrategy": "InPlaceRestart"},
                 "replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {
                     "completions": 2, "parallelism": 2, "completionMode": "Indexed",
                     "backoffLimit": 2147483647, "podReplacementPolicy": "Failed",
                     "template": {"spec": {
                         "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 1,
                         "containers": [
                             {"name": "c", "command": ["sh", "-c", script],
                              "readinessProbe": {"exec": {"command": ["test", "-e",
                                                                      f"{folder}/ready"]},
                                                 "periodSeconds": 1, "failureThreshold": 1}}]}}}}}]}})


def members(folder, epoch):
    paths = [folder / f"pid.{index}.{epoch}" for index in (0, 1)]
    wait_until(lambda: all(path.exists() for path in paths), f"members of epoch {epoch}")
    return [int(path.read_text()) for path in paths]


def used_restarts(n, name="s"):
    return n.api.get(f"{JOBSETS}/{name}")["status"].get("restartsCountTowardsMax", 0)


@cases
def a_jobset_restarts_in_place_is_evicted_and_comes_back(world):
    with server(world, config(world, enable=True, timeout="50s", recoveryTimeout="10s",
                              requeuingStrategy={"backoffBaseSeconds": 5})) as n:
        folder = n.folder / "members"
        folder.mkdir()
        ready = folder / "ready"
        ready.touch()
        make_queue(n)
        make_jobset(n, folder)
        wait_for(n, "jobset-s", "PodsReady", "True/Started")
        # A member dies: all start again where they are, and nothing is evicted.
        pods = sorted(p["metadata"]["uid"] for p in n.api.get(PODS)["items"])
        os.kill(members(folder, 1)[0], 9)
        second = members(folder, 2)
        n.api.wait_for(JOBSETS, lambda j: j["status"].get("syncedEpoch") == 2 and
                       condition(j, "RestartingJobSet") == "False/JobsReady")
        # Who is ready again before anybody has been told has never been anything else.
        wait_for(n, "jobset-s", "PodsReady", "True/Started", "True/Recovered")
        equal(sorted(p["metadata"]["uid"] for p in n.api.get(PODS)["items"]), pods, "pods")
        equal(used_restarts(n), 1, "a death is charged")
        # They are not ready for too long: the quota is free when the last has ended.
        ready.unlink()
        wait_for(n, "jobset-s", "QuotaReserved", "False/PendingEvaluation")
        equal([alive(pid) for pid in second], [False, False], "members without quota")
        equal(n.api.get(PODS)["items"], [], "pods")
        n.restart()
        ready.touch()
        third = members(folder, 3)
        wait_for(n, "jobset-s", "PodsReady", "True/Started")
        kubectl(n, "patch", "workload", "jobset-s", "--type=merge", "-p", '{"spec":{"active":false}}')
        wait_for(n, "jobset-s", "QuotaReserved", "False/Deactivated")
        equal([alive(pid) for pid in third], [False, False], "members of one that is switched off")
        kubectl(n, "patch", "workload", "jobset-s", "--type=merge", "-p", '{"spec":{"active":true}}')
        members(folder, 4)
        (folder / "done").touch()
        wait_for(n, "jobset-s", "Finished", "True/Succeeded")
        equal(used_restarts(n), 1, "being evicted is not charged")


@contextlib.contextmanager
def worlds(folder):
    yield {"folder": folder, "number": 0}


if __name__ == "__main__":
    sys.exit(cases.main(worlds))

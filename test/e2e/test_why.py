# SPDX-License-Identifier: Apache-2.0
"""muster why, muster timeline and muster describe on pods of real processes: each thing that can
hold one up is named, with what would help."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree

from muster_test import LIMIT_S, Cases, contains, equal, fail, matches, muster_path
from pods import (PODS, container, exec_probe, is_ready, node, pod, state_of, statuses, wait_until)

cases = Cases()
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def muster(n, *words, code=0):
    """What the program prints; its exit code is checked."""
    done = subprocess.run([muster_path(), *words, "--data", str(n.server.data)], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S)
    if done.returncode != code:
        fail(f"muster {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def why(n, name):
    return muster(n, "why", name)


def waiting(thing, name):
    return statuses(thing).get(name, {}).get("state", {}).get("waiting", {})


def never_ready(name, **more):
    return container(name, readinessProbe=exec_probe("exit 7"), **more)


# ---- why ----

@cases
def the_cap_names_who_is_ahead_and_what_to_raise(n):
    n.configure(maxStarting=1, minRate=0)
    n.run(pod("first", never_ready("slow")), lambda p: state_of(p, "slow") == "starting")
    n.run(pod("second", never_ready("app")),
          lambda p: waiting(p, "app").get("reason") == "StartThrottled")
    answer = why(n, "pod/second")
    matches(answer, r"\Apod/second is not ready: app is pending since \d+m?s: cap 1/1\n")
    matches(answer, r"^    1 container is starting: first/slow since \d+m?s$")
    contains(answer, "    minRate is 0: no start is forced\n",
             "    help: raise maxStarting of NodeConfig default\n")
    matches(muster(n, "get", "pods", "second", "-o", "wide"), r"^second +0/1 +StartThrottled ")
    n.delete("first", grace=0)
    n.delete("second", grace=0)
    n.configure()


@cases
def a_chain_is_followed_to_the_probe_that_fails(n):
    n.create(pod("chain", container("web", dependsOn=["app"]), container("app", dependsOn=["db"]),
                 never_ready("db", startTimeout="100s")))
    n.wait("chain", lambda p: "message" in statuses(p).get("db", {}).get("lifecycle", {}))
    answer = why(n, "pod/chain")
    said = r"its readiness probe says: the command ended with exit code 7"
    matches(answer, r"\Apod/chain is not ready: db is starting since \d+s, " + said +
            "; 2 containers wait for it\n")
    matches(answer, r"^  web waits for app \(ready\), which waits for db \(ready\); db is starting")
    matches(answer, r"^    it has failed if it is not ready in (100|\d\d)s \(startTimeout\)$")
    contains(answer, "help: see what it prints: muster logs chain -c db")
    told = muster(n, "describe", "pod", "chain")
    matches(told, r"^  app +blocked +\d+m?s +false +0 +db \(ready\) +DependencyNotReady: waits for")
    matches(told, r"^      Depends On:  app \(ready\)$")
    matches(muster(n, "get", "pods", "chain"), r"^chain +0/3 +DependencyNotReady ")
    n.delete("chain", grace=0)


@cases
def what_somebody_else_manages_is_told_to_be_his(n):
    spec = {"managedBy": "example.com/other", "completions": 1, "parallelism": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container("a", "true")]}}}
    for path, kind, group, body in (
            ("/apis/batch/v1/namespaces/default/jobs", "Job", "batch/v1", spec),
            ("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets", "JobSet",
             "jobset.x-k8s.io/v1alpha2", {"managedBy": "example.com/other", "replicatedJobs": []})):
        n.api.ok("POST", path, {"apiVersion": group, "kind": kind, "metadata": {"name": "x"}, "spec": body})
        answer = why(n, f"{kind.lower()}/x")
        matches(answer, rf"\A{kind.lower()}/x is left to example.com/other, ")
        contains(answer, "next: what its manager makes of it")
        n.api.ok("DELETE", f"{path}/x")


@cases
def back_off_says_when_and_how_often(n):
    n.create(pod("crash", container("a", "exit 3")))
    n.wait("crash", lambda p: waiting(p, "a").get("reason") == "CrashLoopBackOff" and
           "nextStart" in statuses(p)["a"]["lifecycle"])
    matches(why(n, "pod/crash"), r"\Apod/crash is not ready: a ended with exit code 3, starts again "
            r"in \d+s \(restart \d+\)\n")
    n.delete("crash", grace=0)


@cases
def failed_for_good_is_the_root_of_what_waits(n):
    n.create(pod("hopeless", container("db", "exit 3", readinessProbe=exec_probe("false")),
                 container("app", dependsOn=["db"]), container("other"), restartPolicy="Never"))
    n.wait("hopeless", lambda p: waiting(p, "app").get("reason") == "DependencyFailed" and
           state_of(p, "other") == "ready")
    contains(why(n, "pod/hopeless"),
             "pod/hopeless is not ready: db has failed for good: it ended with exit code 3; "
             "1 container waits for it\n",
             "  app waits for db (ready); db has failed for good: it ended with exit code 3\n")
    n.delete("hopeless", grace=0)


@cases
def a_frozen_node_names_the_setting(n):
    n.configure(maxRate=0)
    n.run(pod("frozen", container("a")),
          lambda p: waiting(p, "a").get("reason") == "StartThrottled")
    contains(why(n, "pod/frozen"), "is pending since", "frozen (maxRate is 0)",
             "until maxRate of NodeConfig default is above 0 or gone")
    n.configure(maxRate=100)
    n.wait("frozen", is_ready)
    matches(why(n, "pod/frozen"), r"\Apod/frozen is well: its container is ready since \d+s\n"
            r"since \d+s; next: it runs until it is deleted\n\Z")
    n.delete("frozen")
    n.configure()


@cases
def a_config_map_that_is_missing(n):
    n.run(pod("poor", container("a", envFrom=[{"configMapRef": {"name": "nowhere"}}])),
          lambda p: waiting(p, "a").get("reason") == "CreateContainerConfigError")
    contains(why(n, "pod/poor"), "pod/poor is held back: CreateContainerConfigError: ",
             "there is no ConfigMap default/nowhere", "help: create what is missing")
    n.delete("poor", grace=0)


@cases
def what_cannot_be_placed(n):
    def is_told(thing):
        return any(c["type"] == "PodScheduled" and "Insufficient" in c.get("message", "")
                   for c in thing.get("status", {}).get("conditions", []))

    n.run(pod("huge", container("a", resources={"requests": {"cpu": "10k"}})), is_told)
    contains(why(n, "pod/huge"), "pod/huge is not placed on a node: 0/1 nodes are available: "
             "1 Insufficient cpu.\n", "help: lower resources.requests")
    n.create(pod("gated", container("a"), schedulingGates=[{"name": "example.com/later"}]))
    contains(why(n, "pod/gated"), "it has scheduling gates: example.com/later")
    equal(muster(n, "timeline", "pod/gated", code=1).splitlines()[0],
          "error: pod/gated: nothing of it has begun to start")
    n.delete("huge", grace=0)
    n.delete("gated", grace=0)


@cases
def what_the_node_refuses(n):
    n.run(pod("image", container("a", image="nginx")),
          lambda p: p["status"].get("phase") == "Failed")
    contains(why(n, "pod/image"), "pod/image has failed: Unsupported: spec.containers[0].image",
             "help: leave the image out")
    n.delete("image", grace=0)


@cases
def being_deleted(n):
    thing = n.run(pod("deaf", container("a", "trap '' TERM; echo up; while :; do sleep 0.1; done"),
                      grace=40))
    wait_until(lambda: "up" in n.log(thing, "a"), "the trap is set")
    n.api.ok("DELETE", f"{PODS}/deaf")
    answer = why(n, "pod/deaf")
    matches(answer, r"\Apod/deaf is being deleted since \d+s; \d\ds of its grace are left\n")
    contains(answer, "  these containers still run: a\n")
    n.delete("deaf", grace=0)


@cases
def a_job_and_its_pods(n):
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"},
           "spec": {"parallelism": 5, "completions": 5, "template": {"spec": {
               "restartPolicy": "Never", "containers": [never_ready("main")]}}}}
    n.configure(maxStarting=1, minRate=0)
    n.api.ok("POST", JOBS, job)
    wait_until(lambda: why(n, "job/job").count("\n  pod/job-") == 3, "its pods have begun")
    answer = json.loads(muster(n, "why", "job", "job", "-o", "json"))
    contains(answer["text"], "job/job is not done: 0 of 5 done, 5 active (0 ready), 0 failed")
    equal(answer["isWell"], False)
    equal(answer["details"][-1]["text"], "and 2 more that are not ready")
    equal(len(answer["details"]), 4)
    n.api.ok("DELETE", f"{JOBS}/job?propagationPolicy=Background")
    n.configure()


@cases
def a_job_that_fails(n):
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "fails"},
           "spec": {"backoffLimit": 3, "template": {"spec": {
               "restartPolicy": "Never", "containers": [container("main", "exit 4")]}}}}
    n.api.ok("POST", JOBS, job)
    wait_until(lambda: "in a row" in why(n, "job/fails"), "the job waits")
    answer = why(n, "job/fails")
    matches(answer, r"\Ajob/fails makes its next pod in \d+s: 1 failed in a row \(backoffLimit 3\)\n")
    matches(answer, r"^  pod/fails-\w+ has failed: main ended with exit code 4$")
    n.api.ok("DELETE", f"{JOBS}/fails?propagationPolicy=Background")


@cases
def what_is_not_there(n):
    contains(muster(n, "why", "pod/nobody", code=1), "not found")
    contains(muster(n, "why", "node/nobody", code=1), "not found")


# ---- timeline ----

def start_study(n):
    needs = {"a": [], "b": ["a"], "c": ["b"], "d": ["b"], "e": ["c", "d"]}
    work = {"a": 0.2, "b": 0.1, "c": 0.1, "d": 1.0, "e": 0.1}
    files = {x: n.scratch(x) for x in needs}
    return n.run(pod("study", *(
        container(f"app-{x}", f"sleep {work[x]}; : > {files[x]}; exec sleep 1000",
                  dependsOn=[f"app-{y}" for y in needs[x]],
                  readinessProbe=exec_probe(f"test -f {files[x]}")) for x in needs)))


@cases
def the_studys_example_as_text_numbers_and_picture(n):
    start_study(n)
    text = muster(n, "timeline", "pod/study", "--width", "90")
    matches(text, r"\Apod/study: ready after [\d.]+s, 5 containers\n\n +0s ")
    matches(text, r"^\* app-a ▒+█+ ")
    matches(text, r"^  app-c ·+░*▒+█+ ")
    matches(text, r"^\* app-e ·+░*▒+█* ")
    matches(text, r"^critical path: app-a \S+ > app-b \S+ > app-d \S+ > app-e \S+$")
    if "\033" in text:
        fail("colours without a terminal")
    for line in text.splitlines():
        if len(line) > 90:
            fail(f"too long: {line}")

    numbers = json.loads(muster(n, "timeline", "pod", "study", "-o", "json"))
    path = numbers["criticalPath"]
    equal([step["container"] for step in path], ["app-a", "app-b", "app-d", "app-e"])
    equal(path[0]["fromMs"], 0)
    equal(path[-1]["toMs"], numbers["readyAfterMs"])
    for before, after in zip(path, path[1:]):
        equal(before["toMs"], after["fromMs"], "the path has no holes")
    starting = sum(s["toMs"] - s["fromMs"] for c in numbers["containers"] for s in c["spans"]
                   if s["state"] == "starting")
    equal(numbers["totalsMs"]["starting"], starting)
    if starting < 1500:
        fail(f"five starts took {starting} ms")

    picture = muster(n, "timeline", "pod/study", "-o", "svg")
    root = xml.etree.ElementTree.fromstring(picture)
    equal(root.tag, "{http://www.w3.org/2000/svg}svg")
    words = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    for name in "abcde":
        if f"app-{name}" not in words:
            fail(f"app-{name} is not in the picture: {words}")
    n.delete("study")


@cases
def a_timeline_while_it_starts(n):
    n.run(pod("half", never_ready("db"), container("app", dependsOn=["db"])),
          lambda p: state_of(p, "app") == "blocked" and state_of(p, "db") == "starting")
    text = muster(n, "timeline", "pod/half")
    contains(text, "pod/half: not ready yet, 2 of 2 are not, after ", "critical path so far: db ")
    if re.search(r"█", text.split("legend")[0]):
        fail(f"nothing is ready:\n{text}")
    n.delete("half", grace=0)


if __name__ == "__main__":
    sys.exit(cases.main(node))

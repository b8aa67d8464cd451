# SPDX-License-Identifier: Apache-2.0
"""The supervisor is killed and comes back: pods go on, nothing is started twice, no exit is lost,
nothing is left behind."""

import contextlib
import datetime
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from muster_test import Cases, Skip, equal, muster_path
from pods import (PODS, Node, alive, container, exec_probe, is_ready, node, pod, state_of, statuses,
                  wait_until)

cases = Cases()
KILLS = int(os.environ.get("MUSTER_TEST_KILLS", "50"))
PODS_PER_KILL = 4


def pids_in(path):
    return [int(word) for word in path.read_text().split()] if path.exists() else []


@cases
def pods_go_on_and_are_adopted_with_their_states(n):
    pids = n.scratch("pids")
    n.run(pod("lives", container("db", f"echo $$$$ >> {pids}; exec sleep 1000",
                                 readinessProbe=exec_probe("true")),
              container("app", f"echo $$$$ >> {pids}; exec sleep 1000", dependsOn=["db"])))
    wait_until(lambda: len(pids_in(pids)) == 2, "both have begun")
    before = pids_in(pids)
    n.restart()
    thing = n.wait("lives", is_ready)
    equal(pids_in(pids), before, "started")
    equal([alive(pid) for pid in before], [True, True], "alive")
    equal({name: s["restartCount"] for name, s in statuses(thing).items()}, {"db": 0, "app": 0})
    n.delete("lives")
    equal([alive(pid) for pid in before], [False, False], "alive after the deletion")


@cases
def an_exit_that_nobody_saw_is_not_lost(n):
    pids, go = n.scratch("pids"), n.scratch("go")
    n.run(pod("ends", container("a", f"echo $$$$ > {pids}; while ! test -f {go}; do sleep 0.02; done;"
                                     "exit 7"), restartPolicy="Never"))
    pid = wait_until(lambda: pids_in(pids), "its pid")[0]
    n.api.close()
    n.server.kill()
    go.write_text("")
    wait_until(lambda: not alive(pid), "it ended")
    n.server.start()
    n.api = n.server.local()
    thing = n.wait("ends", lambda p: p["status"].get("phase") == "Failed")
    equal(statuses(thing)["a"]["state"]["terminated"]["exitCode"], 7)
    n.delete("ends")


@cases
def stopped_and_started_again_is_no_crash(n):
    """However often: pods begin again at once, not after the back-off of those that crash."""
    n.run(pod("stays", container("a", "exec sleep 1000")))
    n.wait("stays", is_ready)
    for times in (1, 2, 3):
        n.api.close()
        n.server.stop()
        n.server.start()
        n.api = n.server.local()
        thing = n.wait("stays", lambda p, times=times: is_ready(p) and statuses(p)["a"]["restartCount"] == times)
        status = statuses(thing)["a"]
        ended, begun = (datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (
            status["lastState"]["terminated"]["finishedAt"], status["state"]["running"]["startedAt"]))
        equal((begun - ended).total_seconds() < 9, True, f"back after stop {times} at once: {ended} {begun}")
    n.delete("stays")


@cases
def a_restart_that_was_due_happens_once(n):
    count, go = n.scratch("count"), n.scratch("go")
    n.run(pod("again", container(
        "a", f"echo x >> {count}; test $(wc -l < {count}) -ge 2 && exec sleep 1000; "
             f"while ! test -f {go}; do sleep 0.02; done; exit 1")))
    n.api.close()
    n.server.kill()
    go.write_text("")
    n.server.start()
    n.api = n.server.local()
    thing = n.wait("again", lambda p: is_ready(p) and statuses(p)["a"]["restartCount"] == 1)
    equal(statuses(thing)["a"]["lastState"]["terminated"]["exitCode"], 1)
    wait_until(lambda: count.read_text().split() == ["x", "x"], "two starts")
    n.delete("again")


SAYS_READY = ("python3 -c 'import os, socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)"
              ".sendto(b\"READY=1\", os.environ[\"NOTIFY_SOCKET\"])'")
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"


def pair(die, go):
    """Two that restart together: the second dies once, and after that is slow to be ready."""
    slow = f"while ! test -f {go}; do sleep 0.02; done;"
    command = (f"test $JOB_COMPLETION_INDEX$MUSTER_EPOCH != 12 || {slow} {SAYS_READY}; "
               f"test $JOB_COMPLETION_INDEX$MUSTER_EPOCH != 11 || "
               f"{{ while ! test -f {die}; do sleep 0.02; done; exit 1; }}; exec sleep 1000")
    template = {"metadata": {"annotations": {"muster.dev/notify": "true"}},
                "spec": {"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 0,
                         "containers": [container("w", command)]}}
    job = {"completions": 2, "parallelism": 2, "backoffLimit": 2147483647,
           "podReplacementPolicy": "Failed", "template": template}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "pair"},
            "spec": {"failurePolicy": {"restartStrategy": "InPlaceRestart", "maxRestarts": 3},
                     "replicatedJobs": [{"name": "w", "template": {"spec": job}}]}}


@cases
def who_said_that_it_is_ready_need_not_say_it_again(n):
    die, go = n.scratch("die"), n.scratch("go")
    n.api.ok("POST", JOBSETS, pair(die, go))

    def ready_ones():
        pods = [p for p in n.api.get(PODS)["items"] if p["metadata"]["name"].startswith("pair-")]
        return sum(map(is_ready, pods))

    def known_ready():
        return 'muster_containers{state="ready"} 1\n' in n.api.call("GET", "/metrics").text

    wait_until(lambda: ready_ones() == 2, "both are ready")
    die.write_text("")
    n.api.wait_for(JOBSETS, lambda s: s.get("status", {}).get("syncedEpoch") == 2)
    wait_until(known_ready, "the first has said it, and nobody wrote it down")
    n.restart()
    go.write_text("")
    wait_until(lambda: ready_ones() == 2, "both are ready again")
    equal(n.api.get(f"{JOBSETS}/pair")["status"]["syncedEpoch"], 2, "nobody was started again")
    n.api.ok("DELETE", f"{JOBSETS}/pair?propagationPolicy=Foreground")
    n.api.wait_gone(JOBSETS, "pair")


@cases
def the_spawner_is_killed_too(n):
    """Its children are ours then; while we are away as well they are ended, and started again."""
    pids = n.scratch("pids")
    n.run(pod("both", container("a", f"echo $$$$ >> {pids}; exec sleep 1000",
                                readinessProbe=exec_probe("true"))))
    first = pids_in(pids)[0]
    spawner = int(open(f"/proc/{first}/stat").read().rsplit(")", 1)[1].split()[1])
    os.kill(spawner, signal.SIGKILL)
    thing = n.run(pod("next", container("a", readinessProbe=exec_probe("true"))))
    equal(alive(first), True, "it lives")
    equal(state_of(thing, "a"), "ready", "a pod after it")
    os.kill(first, signal.SIGKILL)
    n.wait("both", lambda p: is_ready(p) and statuses(p)["a"]["restartCount"] == 1)
    second = pids_in(pids)[-1]
    n.api.close()
    spawner = int(open(f"/proc/{second}/stat").read().rsplit(")", 1)[1].split()[1])
    n.server.kill()
    os.kill(spawner, signal.SIGKILL)
    n.server.start()
    n.api = n.server.local()
    n.wait("both", lambda p: is_ready(p) and statuses(p)["a"]["restartCount"] == 2)
    wait_until(lambda: not alive(second), "the stray is ended")
    n.delete("both")
    n.delete("next")


def pids_of(name, started):
    lines = [line.split() for line in started.read_text().splitlines()]
    return [int(words[1]) for words in lines if len(words) == 2 and words[0] == name]


def is_accounted_for(n, name, starts):
    living = [pid for pid in starts if alive(pid)]
    restarts = statuses(n.api.get(f"{PODS}/{name}"))["a"]["restartCount"]
    return len(living) == 1 and len(starts) == restarts + 1


@cases
def killed_during_starts_everything_is_accounted_for(n):
    """Each start is written down by the process itself."""
    rng, started, made = random.Random(1), n.scratch("started"), []
    for round_ in range(KILLS):
        for i in range(PODS_PER_KILL):
            name = f"k{round_}-{i}"
            n.create(pod(name, container(
                "a", f"echo {name} $$$$ >> {started}; exec sleep 1000",
                readinessProbe=exec_probe("true")), grace=1))
            made.append(name)
        time.sleep(rng.random() * 0.05)  # where the kill falls is left to chance, not the verdict
        n.restart()
    for name in made:
        n.wait(name, is_ready)
    for name in made:  # the last are ready before they have written it down
        wait_until(lambda: is_accounted_for(n, name, pids_of(name, started)),
                   f"one start of {name} for each that it tells of, and one alive")
    lines = [line.split() for line in started.read_text().splitlines()]
    for name in made:
        n.api.ok("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
    for name in made:
        n.api.wait_gone(PODS, name)
    equal([pid for _, pid in lines if alive(int(pid))], [], "left behind")


@cases
def a_server_without_rights_to_control_groups_warns_and_runs(n):
    with contextlib.ExitStack() as stack:
        other = Node(n.folder / "no-groups", "--no-cgroups")
        stack.callback(other.server.end)
        pids = other.scratch("pids")
        other.run(pod("plain", container(
            "a", f"sh -c 'echo $$$$ >> {pids}; exec sleep 1000' & echo $$$$ >> {pids}; wait",
            readinessProbe=exec_probe(f"test $(wc -l < {pids}) -eq 2"))))
        groups = [c for c in other.api.get("/api/v1/nodes")["items"][0]["status"]["conditions"]
                  if c["type"] == "ControlGroups"]
        equal(groups[0]["status"], "False")
        other.delete("plain", grace=0)
        wait_until(lambda: not any(alive(pid) for pid in pids_in(pids)), "all of it is gone")
        other.stop()


@cases
def process_1_of_a_container_reaps_orphans(n):
    if os.getuid() != 0:
        raise Skip("namespaces need root")
    folder = n.folder / "container"
    folder.mkdir()
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    try:
        server = subprocess.Popen(unshare + [muster_path(), "up", "--data", folder],
                                  stdout=subprocess.PIPE, text=True)
    except FileNotFoundError as error:
        raise Skip("no unshare") from error
    with server:
        if not server.stdout.readline().startswith("ready "):
            raise Skip("no namespaces here")
        first = int(pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text())
        inside = ["nsenter", "--target", str(first), "--pid", "--mount", "--root"]
        subprocess.run(inside + ["sh", "-c", "(sh -c 'sleep 0.05 & exit 0' &)"], check=True)

        def zombies():
            listed = subprocess.run(inside + ["sh", "-c", "cat /proc/[0-9]*/stat"],
                                    stdout=subprocess.PIPE, text=True).stdout
            return [line for line in listed.splitlines() if ") Z " in line or "(sleep)" in line]
        wait_until(lambda: not zombies(), "orphans are reaped")
        os.kill(first, signal.SIGTERM)
        equal(server.wait(), 0, "exit code")


if __name__ == "__main__":
    sys.exit(cases.main(node))

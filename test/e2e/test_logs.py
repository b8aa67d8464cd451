# SPDX-License-Identifier: Apache-2.0
"""What containers print: kubectl logs and muster logs on real processes."""

import contextlib
import datetime
import re
import subprocess
import sys

from muster_test import Cases, Kubectl, Process, contains, equal, fail, matches
from pods import PODS, container, is_ready, node, pod, state_of, statuses, wait_until

cases = Cases()
STAMP = r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z) "


def labelled(thing, **labels):
    thing["metadata"]["labels"] = labels
    return thing


def muster(n, *words):
    return [n.server.program, "logs", *map(str, words), "--data", str(n.server.data)]


def muster_says(n, *words, code=0):
    """Both outputs of a run to its end."""
    done = subprocess.run(muster(n, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    equal(done.returncode, code, f"exit code of {words} ({done.stderr})")
    return done.stdout, done.stderr


def wait_logs(n, thing, text, *names, generation=1):
    """Until the containers have printed this: they are ready before that."""
    for name in names:
        wait_until(lambda: n.log(thing, name, generation) == text.format(name),
                   f"{name} prints {text}")


def has_ended(thing, name="c"):
    return "terminated" in statuses(thing).get(name, {}).get("state", {})


def printed(n, name, command, **more):
    """A pod whose only container has printed all it will."""
    return n.run(pod(name, container("c", command), restartPolicy="Never", **more), has_ended)


@cases
def both_streams_are_one_log_in_order(n):
    printed(n, "both", "echo out 1; echo err 1 >&2; echo out 2; printf 'no end' >&2")
    wanted = "out 1\nerr 1\nout 2\nno end"
    equal(n.kubectl("logs", "both"), wanted)
    equal(n.kubectl("logs", "both", "-c", "c"), wanted)
    equal(muster_says(n, "both"), (wanted, ""))
    n.delete("both")


@cases
def the_end_the_recent_and_the_first_bytes(n):
    printed(n, "parts", "i=1; while [ $i -le 50 ]; do echo line $i; i=$((i+1)); done")
    equal(n.kubectl("logs", "parts", "--tail=2"), "line 49\nline 50\n")
    equal(n.kubectl("logs", "parts", "--tail=0"), "")
    equal(n.kubectl("logs", "parts", "--limit-bytes=10"), "line 1\nlin")
    equal(len(n.kubectl("logs", "parts", "--since=1h").splitlines()), 50)
    equal(n.kubectl("logs", "parts", "--since-time=2100-01-01T00:00:00Z"), "")
    equal(muster_says(n, "parts", "--tail", "1")[0], "line 50\n")
    equal(len(muster_says(n, "parts", "--since", "1h")[0].splitlines()), 50)
    n.delete("parts")


@cases
def lines_have_the_time_of_their_writing(n):
    before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
    printed(n, "timed", "echo early; sleep 1.2; echo late")
    after = datetime.datetime.now(datetime.timezone.utc)
    lines = n.kubectl("logs", "timed", "--timestamps").splitlines()
    times = [datetime.datetime.fromisoformat(matches(line, STAMP)[1].replace("Z", "+00:00"))
             for line in lines]
    equal([re.sub(STAMP, "", line) for line in lines], ["early", "late"])
    apart = (times[1] - times[0]).total_seconds()
    if not (before <= times[0] and times[1] <= after and 1.1 < apart < 30):
        fail(f"{times} between {before} and {after}")
    since = lines[1].split()[0]
    equal(n.kubectl("logs", "timed", f"--since-time={since}"), "late\n")
    equal(muster_says(n, "timed", "--timestamps")[0].splitlines(), lines)
    n.delete("timed")


@cases
def a_follower_sees_lines_as_they_come_and_ends_with_the_container(n):
    flag = n.scratch("flag")
    n.run(pod("long", container("c", f"echo one; while [ ! -f {flag} ]; do sleep 0.05; done; "
                                     "echo two"), restartPolicy="Never"))
    with n.kubectl.beside("logs", "-f", "long") as by_kubectl, \
            Process(muster(n, "-f", "long")) as by_muster:
        for follower in (by_kubectl, by_muster):
            equal(follower.lines.next(), "one")
        flag.touch()
        for follower in (by_kubectl, by_muster):
            equal(follower.lines.rest(), ["two"])
            equal(follower.wait(), 0, "exit code")
    n.delete("long")


@cases
def a_restarted_container_has_a_log_of_each_life(n):
    flag = n.scratch("flag")
    n.create(pod("again", container("c", f"if [ ! -f {flag} ]; then echo first; : > {flag}; "
                                         "exit 1; fi; echo second; exec sleep 1000")))
    thing = n.wait("again", lambda p: statuses(p).get("c", {}).get("restartCount") == 1 and
                   is_ready(p))
    wait_logs(n, thing, "second\n", "c", generation=2)
    equal(n.kubectl("logs", "again"), "second\n")
    equal(n.kubectl("logs", "again", "--previous"), "first\n")
    equal(muster_says(n, "again", "--previous")[0], "first\n")
    n.delete("again", grace=0)


@cases
def following_ends_with_the_life_that_was_followed(n):
    flag = n.scratch("flag")
    n.run(pod("lives", container("c", f"echo life; while [ ! -f {flag} ]; do sleep 0.05; done; "
                                      f"rm {flag}; exit 1")))
    with n.kubectl.beside("logs", "-f", "lives") as follower:
        equal(follower.lines.next(), "life")
        flag.touch()
        equal(follower.lines.rest(), [])
        equal(follower.wait(), 0, "exit code")
    n.delete("lives", grace=0)


@cases
def several_containers_and_pods(n):
    for name in ("m-1", "m-2"):
        thing = n.run(labelled(pod(name, container("a", "echo from a; exec sleep 1000"),
                                   container("b", "echo from b; exec sleep 1000"),
                                   inits=[container("i", "echo from i")]), app="many"))
        wait_logs(n, thing, "from {}\n", "a", "b")
    said = n.kubectl.refused("logs", "m-1", "-c", "nobody")
    contains(said, "container nobody is not valid for pod m-1")
    said = n.api.refused(400, "GET", f"{PODS}/m-1/log")["message"]
    equal(said, "a container name must be specified for pod m-1, choose one of: [a b] or one of "
                "the init containers: [i]")
    equal(sorted(n.kubectl("logs", "m-1", "--all-containers").splitlines()),
          ["from a", "from b", "from i"])
    lines = n.kubectl("logs", "-l", "app=many", "--all-containers", "--prefix").splitlines()
    wanted = [f"[pod/{p}/{c}] from {c}" for p in ("m-1", "m-2") for c in "iab"]
    equal(sorted(lines), sorted(wanted))
    out, _ = muster_says(n, "-l", "app=many", "--all-containers")
    equal(out.splitlines(), wanted)
    equal(muster_says(n, "m-1", "-c", "b")[0], "from b\n")
    _, said = muster_says(n, "m-1", code=1)
    contains(said, "choose one of: [a b]", "--all-containers")
    with Process(muster(n, "-f", "-l", "app=many", "-c", "a")) as follower:
        first = sorted(follower.lines.next() for _ in range(2))
        equal(first, ["[pod/m-1/a] from a", "[pod/m-2/a] from a"])
        for name in ("m-1", "m-2"):
            n.delete(name, grace=0)
        equal(follower.lines.rest(), [])
        equal(follower.wait(), 0, "exit code")


@cases
def the_pods_of_a_job(n):
    n.api.ok("POST", "/apis/batch/v1/namespaces/default/jobs", {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pair"},
        "spec": {"completions": 2, "parallelism": 2, "template": {"spec": {
            "restartPolicy": "Never", "containers": [container("c", "echo worked")]}}}})
    wait_until(lambda: n.api.get("/apis/batch/v1/namespaces/default/jobs/pair")
               .get("status", {}).get("succeeded") == 2, "the job is done")
    lines = muster_says(n, "job/pair")[0].splitlines()
    equal([re.sub(r"^\[pod/pair-[^/]*/c\] ", "", line) for line in lines], ["worked", "worked"])
    equal(n.kubectl("logs", "job/pair"), "worked\n")
    n.api.ok("DELETE", "/apis/batch/v1/namespaces/default/jobs/pair?propagationPolicy=Foreground")


@cases
def what_cannot_be_shown_is_explained(n):
    n.run(pod("waits", container("db", readinessProbe={"exec": {"command": ["false"]}}),
              container("app", dependsOn=["db"])),
          lambda p: state_of(p, "app") == "blocked" and state_of(p, "db") == "starting")
    contains(n.kubectl.refused("logs", "waits", "-c", "app"),
             'container "app" in pod "waits" is waiting to start')
    contains(n.kubectl.refused("logs", "waits", "-c", "db", "--previous"),
             'previous terminated container "db" in pod "waits" not found')
    contains(n.kubectl.refused("logs", "nobody"), 'pods "nobody" not found')
    _, said = muster_says(n, "waits", "-c", "app", code=1)
    contains(said, "is waiting to start", "hint: 'muster describe pod waits'")
    n.delete("waits", grace=0)


@cases
def logs_are_whole_after_a_crash_of_the_server(n):
    flag = n.scratch("flag")
    n.run(pod("steady", container("c", "i=0; while [ ! -f %s ]; do i=$((i+1)); echo $i; "
                                       "sleep 0.01; done; echo end" % flag), restartPolicy="Never"))
    n.restart()
    n.kubectl = Kubectl(n.folder, n.server.kubeconfig)
    with n.kubectl.beside("logs", "-f", "steady") as follower:
        follower.lines.until("^20$")
        flag.touch()
        follower.lines.until("^end$")
        equal(follower.lines.rest(), [])
    n.wait("steady", has_ended)
    lines = n.kubectl("logs", "steady").splitlines()
    equal(lines, [str(i) for i in range(1, len(lines))] + ["end"])
    n.delete("steady")


@cases
def a_log_that_grows_too_long_keeps_its_end(n):
    path = "/apis/muster.dev/v1alpha1/nodeconfigs"
    n.api.ok("POST", path, {"apiVersion": "muster.dev/v1alpha1", "kind": "NodeConfig",
                            "metadata": {"name": "default"},
                            "spec": {"logs": {"maxSize": "64Ki", "maxFiles": 2}}})
    thing = printed(n, "chatty", "seq 1 100000; echo over")
    meta = thing["metadata"]
    folder = n.server.data / "node/logs" / f"default_chatty_{meta['uid']}" / "c"

    def is_small():
        return sum(f.stat().st_size for f in folder.glob("1.log*")
                   if f.suffix != ".marks") < 4 * 65536

    wait_until(is_small, "the log is as small as it may be")
    lines = n.kubectl("logs", "chatty").splitlines()
    equal(lines[-1], "over")
    equal(lines[:-1], [str(i) for i in range(100001 - len(lines) + 1, 100001)])
    if len(lines) < 2 * 65536 // 8:
        fail(f"only {len(lines)} lines are left")
    equal(n.kubectl("logs", "chatty", "--tail=2"), "100000\nover\n")
    n.delete("chatty")
    n.api.ok("DELETE", f"{path}/default")


@cases
def a_pod_that_is_gone_leaves_no_log(n):
    thing = printed(n, "gone", "echo here")
    meta = thing["metadata"]
    folder = n.server.data / "node/logs" / f"default_gone_{meta['uid']}"
    equal(folder.is_dir(), True, "folder")
    n.delete("gone")
    wait_until(lambda: not folder.exists(), f"{folder} is gone")


@cases
def who_may_read_logs(n):
    thing = printed(n, "secret", "echo secret")
    path = f"{PODS}/secret/log"
    where = thing["spec"]["nodeName"]

    def as_role(*options):
        made = subprocess.run([n.server.program, "token", "create", "--data", str(n.server.data),
                               *options], stdout=subprocess.PIPE, text=True, check=True)
        return contextlib.closing(n.server.remote(made.stdout.strip()))

    with as_role("--role", "view", "--name", "eyes") as api:
        answer = api.call("GET", path)
        equal((answer.status, answer.text), (200, "secret\n"))
        api.refused(405, "PUT", path, {})
    with as_role("--role", "node", "--name", where) as api:
        equal(api.call("GET", path).status, 200)
    with as_role("--role", "node", "--name", "stranger") as api:
        api.refused(403, "GET", path)
    with as_role("--role", "agent", "--jobset", "j", "--pod", "secret") as api:
        api.refused(403, "GET", path)
    wait_until(lambda: re.search(r"eyes.*pods/secret/log|pods/secret/log.*eyes",
                                 (n.server.data / "access.log").read_text()), "an access-log entry")
    n.delete("secret")


@contextlib.contextmanager
def world(folder):
    with node(folder) as n:
        n.kubectl = Kubectl(folder, n.server.kubeconfig)
        yield n


if __name__ == "__main__":
    sys.exit(cases.main(world))

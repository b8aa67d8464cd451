# SPDX-License-Identifier: Apache-2.0
"""Groups that restart in place, with the node as their agent: the training example under fire, a
command as a group, restarts on demand, and a server that comes back."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from muster_test import SOURCE, Cases, contains, equal, fail, matches, muster_path
from pods import Node, wait_until

cases = Cases()
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
PODS = "/api/v1/namespaces/default/pods"
EXAMPLE = SOURCE / "examples" / "training.yaml"
TRAIN = SOURCE / "examples" / "training" / "train.py"
EPOCH = "jobset.sigs.k8s.io/epoch"
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
QUEUE = """
{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: any}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [pods]
    flavors: [{name: any, resources: [{name: pods, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: jobs, namespace: default}
spec: {clusterQueue: all}
"""
KILLS, KILLS_A_RUN = 100, 25


class World:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.number = 0
        self.node = Node(self.folder / "server")
        self.api = self.node.api

    def path(self, name):
        self.number += 1
        return self.folder / f"{self.number}-{name}"

    def env(self):
        kept = {name: value for name, value in os.environ.items()
                if name in ("PATH", "LANG") or name.endswith("SAN_OPTIONS")}
        return {**kept, "HOME": str(self.folder), "MUSTER_DATA": str(self.node.server.data)}

    def muster(self, *words, code=0, env=None):
        """To its end; standard output and standard error."""
        done = subprocess.run([muster_path(), *map(str, words)], env={**self.env(), **(env or {})}, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        if done.returncode != code:
            fail(f"{words}: {done.returncode}, wanted {code}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def set(self, name):
        return self.api.get(f"{SETS}/{name}")

    def wait_set(self, name, wanted):
        return self.api.wait_for(SETS, lambda o: o["metadata"]["name"] == name and wanted(o))

    def remove(self, name):
        self.api.ok("DELETE", f"{SETS}/{name}")
        self.api.wait_gone(SETS, name)


def job_set(name, count, command, restarts=1000, env=()):
    worker = {"name": "worker", "command": command,
              "env": [{"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": INDEX}}},
                      {"name": "WORLD_SIZE", "value": str(count)}, *env]}
    job = {"completions": count, "parallelism": count, "backoffLimit": 2147483647,
           "podReplacementPolicy": "Failed",
           "template": {"spec": {"restartPolicy": "OnFailure", "containers": [worker],
                                 "terminationGracePeriodSeconds": 1}}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
            "spec": {"failurePolicy": {"restartStrategy": "InPlaceRestart", "maxRestarts": restarts},
                     "replicatedJobs": [{"name": "w", "template": {"spec": job}}]}}


def is_over(thing):
    return any(c["type"] in ("Completed", "Failed") and c["status"] == "True"
               for c in thing.get("status", {}).get("conditions", []))


def synced(thing):
    return thing.get("status", {}).get("syncedEpoch", 0)


def workers(mark):
    """Processes whose command line holds the mark."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(mark).encode() in words and b"python3" in words[0]:
            found.append(int(entry))
    return found


def worker_of(thing):
    """The container of the group's workers."""
    return thing["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]


def example(w, name):
    """examples/training.yaml as the server reads it, as a JobSet of this name that may be restarted
    for ever and keeps its states in a folder of this test."""
    made = w.api.call("POST", SETS + "?dryRun=All", EXAMPLE.read_text(), {"Content-Type": "application/yaml"})
    equal(made.status, 201, f"status of {made.text[:500]}")
    thing = made.json()
    thing["metadata"] = {"name": name}
    del thing["status"]
    thing["spec"]["failurePolicy"]["maxRestarts"] = 1000
    worker = worker_of(thing)
    worker["workingDir"] = str(SOURCE)
    worker["env"].append({"name": "TMPDIR", "value": str(w.folder)})
    return thing


def alone(thing):
    """What one process without any network comes to."""
    worker = worker_of(thing)
    size = {one["name"]: one["value"] for one in worker["env"] if "value" in one}
    return subprocess.run([sys.executable, str(TRAIN), "--alone", *worker["args"]], stdout=subprocess.PIPE,
                          text=True, check=True, env={**os.environ, **size}).stdout.strip()


def train(w, thing, torment):
    """Runs it; torment(pids) is called again and again while it wants to be and the group runs, with what
    gives its workers. The result, and how often the group was restarted."""
    name, result = thing["metadata"]["name"], w.path("result")
    worker_of(thing)["args"] += ["--result", str(result)]
    made = w.api.ok("POST", SETS, thing)
    folder = f"muster-training-{made['metadata']['uid']}"  # as its workers are told
    while not is_over(w.set(name)) and torment(lambda: workers(folder)):
        pass
    end = w.wait_set(name, is_over)
    equal([c["type"] for c in end["status"]["conditions"]
           if c["status"] == "True" and c["type"] in ("Completed", "Failed")], ["Completed"], "end")
    restarts = end["status"].get("inPlaceRestarts", 0)
    equal(synced(end), restarts + 1, "epoch")
    w.remove(name)
    return result.read_text().strip(), restarts


class Killer:
    """Kills one of the workers at a time, at any time: mostly soon after the one before, so that it hits
    a group that still begins; now and then when all have worked for a while."""

    def __init__(self, dice):
        self.dice, self.killed, self.limit = dice, 0, 0

    def __call__(self, pids):
        most = 1.2 if self.dice.random() < 0.2 else 0.25
        time.sleep(self.dice.uniform(0, most))  # not to be right, but to hit at any moment
        there = pids()
        if there:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.dice.choice(there), signal.SIGKILL)
                self.killed += 1
        return self.killed < self.limit


@cases
def the_result_is_the_same_however_often_somebody_dies(w):
    thing = example(w, "undisturbed")
    args = worker_of(thing)["args"]
    place = args.index("--fail")  # whom it kills by itself
    del args[place:place + 2]
    right = alone(thing)
    equal(train(w, thing, lambda _: False), (right, 0), "result and restarts of a run without any death")
    killer, number = Killer(random.Random(8)), 0
    while killer.killed < KILLS:
        before = killer.killed
        killer.limit = min(before + KILLS_A_RUN, KILLS)
        got, restarts = train(w, example(w, f"fire-{number}"), killer)
        killed = killer.killed - before
        print(f"# run {number}: {killed} killed, {restarts} restarts", flush=True)
        equal(got, right, f"result of run {number}")
        if killed == 0:
            fail("nobody was found that could be killed")
        if restarts > killed + 1:
            fail(f"{restarts} restarts for {killed} deaths, and the one of its own")
        number += 1


@cases
def the_example_ends_well_and_leaves_nothing(w):
    folder = w.path("tmp")
    folder.mkdir()
    done = subprocess.run([muster_path(), "run", "--private", "examples/training.yaml"], cwd=SOURCE,
                          env={**w.env(), "TMPDIR": str(folder)}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    equal(done.returncode, 0, f"exit code: {done.stdout}")
    matches(done.stdout, r"result \w+  error \S+  as without any death$")
    matches(done.stdout, r"^1 succeeded, 0 failed; .*; 1 restart; ")
    equal(list(folder.iterdir()), [], "in the folder for temporary files")


@cases
def a_command_runs_as_a_group(w):
    script = ('echo "$RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR ${MASTER_PORT:+port} '
              'e$MUSTER_EPOCH $JOB_COMPLETION_INDEX"; '
              '[ "$RANK$MUSTER_EPOCH" = 11 ] && exit 3; [ $MUSTER_EPOCH != 1 ] || exec sleep 1000')
    out, err = w.muster("run", "-n", "3", "--name", "trio", "--", "sh", "-c", script)
    equal(err, "")
    for rank in range(3):  # of the epoch that stayed; one that was over at once may not be seen
        contains(out, f"| {rank}/3 {rank} 127.0.0.1 port e2 {rank}\n")
    matches(out, r"^jobset/trio: succeeded in .*, 1 restart \(epoch 2\)$")
    w.remove("trio")


@cases
def members_have_names(w):
    out, _ = w.muster("run", "-n", "2", "--name", "pair", "--", "sh", "-c", 'cat "$MUSTER_HOSTS_FILE"')
    for rank in range(2):
        matches(out, rf"\| 127\.0\.0\.1\tpair-worker-0-{rank}\.pair pair-worker-0-{rank}$")
    w.remove("pair")
    folder = w.node.server.data / "node" / "hosts"
    wait_until(lambda: not any(folder.iterdir()), "an empty folder of hosts files")


@cases
def a_command_that_always_dies_fails(w):
    out, err = w.muster("run", "-n", "2", "--name", "hopeless", "--max-restarts", "2", "--", "false",
                        code=1)
    matches(out, r"^jobset/hopeless: failed after")
    status = w.set("hopeless")["status"]
    equal((status["restartsCountTowardsMax"], synced(w.set("hopeless"))), (2, 3), "restarts, epoch")
    w.remove("hopeless")
    contains(out + err, "restart")


@cases
def the_words_of_a_command_arrive_as_they_were_typed(w):
    odd = ["$", "$$", "$$$", "$(A)", "$$(A)", "$A$", "$$A", "'$(echo \"$1\")'", "", "two words", "tab\tline\n"]
    show = "import json,sys; print(json.dumps(sys.argv[1:]))"
    out, _ = w.muster("run", "-n", "1", "--private", "--", sys.executable, "-c", show, *odd)
    said = [line.partition(" | ")[2] for line in out.splitlines() if " | " in line]
    equal([json.loads(line) for line in said], [odd], "what was typed")


@cases
def variables_of_a_group_arrive_as_they_were_typed(w):
    odd = {"ODD": "$(RANK) $$ two words = more", "EMPTY": ""}
    given = [word for name, value in odd.items() for word in ("-e", f"{name}={value}")]
    show = "import json,os,sys; print(json.dumps([os.environ.get(name) for name in sys.argv[1:]]))"
    out, _ = w.muster("run", "-n", "2", "--private", *given, "--env", "LANG", "--", sys.executable, "-c", show,
                      *odd, "LANG", env={"LANG": "C.UTF-8"})
    said = [line.partition(" | ")[2] for line in out.splitlines() if " | " in line]
    equal([json.loads(line) for line in said], [[*odd.values(), "C.UTF-8"]] * 2, "variables")


@cases
def a_group_is_a_manifest_too(w):
    out, _ = w.muster("run", "-n", "5", "--dry-run", "-o", "yaml", "--name", "five", "--cpu", "500m",
                      "--memory", "64Mi", "--queue", "q", "--max-restarts", "7", "--", "echo",
                      "$(date) $$ $HOME$")
    contains(out, "kind: JobSet", "name: five", "completions: 5", "maxRestarts: 7", "cpu: 500m",
             "kueue.x-k8s.io/queue-name: q", "- $$(date) $$$ $HOME$", "restartStrategy: InPlaceRestart")
    path = w.path("five.yaml")
    path.write_text(out)
    w.muster("validate", path)
    out, _ = w.muster("run", "-n", "5", "--dry-run", "-o", "json", "--", "true")
    equal(json.loads(out)["kind"], "JobSet")
    for words, said in ((("run", "-n", "0", "--", "x"), "at least 1"),
                        (("run", "-n", "x", "--", "x"), "whole number"),
                        (("run", "-n", "2"), "is for a command"),
                        (("run", "--", "x"), "how many"),
                        (("run", "-n", "2", "--cpu", "much", "--", "x"), "--cpu"),
                        (("run", "-n", "2", "--private", "--queue", "q", "--", "x"), "no server that has queue 'q'"),
                        (("run", "--dry-run", path), "muster validate"),
                        (("run", "--cpu", "1", path), "--cpu is for a command"),
                        (("run", "-n", "2", "-e", "=x", "--", "x"), "NAME=VALUE"),
                        (("run", "-n", "2", "-e", "RANK=1", "--", "x"), "one of its own"),
                        (("run", "-n", "2", "-e", "JOB_COMPLETION_INDEX=1", "--", "x"), "one of its own"),
                        (("run", "-n", "2", "-e", "MUSTER_TEST_UNSET", "--", "x"), "not set here")):
        contains(w.muster(*words, code=2)[1], said)


@cases
def a_group_goes_through_the_queue_it_names(w):
    path = w.path("queue.yaml")
    path.write_text(QUEUE)
    w.muster("apply", "-f", path)
    out, _ = w.muster("run", "-n", "2", "--name", "queued", "--queue", "jobs", "--", "true")
    matches(out, r"^jobset/queued: succeeded")
    equal(w.set("queued")["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "jobs")
    _, err = w.muster("run", "-n", "2", "--queue", "jbos", "--", "true", code=1)
    contains(err, "there is no LocalQueue 'jbos' in namespace 'default'", "muster get localqueues")
    equal(len(w.api.get(SETS)["items"]), 1, "sets")
    w.remove("queued")


@cases
def a_restart_can_be_asked_for(w):
    w.api.ok("POST", SETS, job_set("asked", 2, ["sleep", "1000"], restarts=0))
    w.wait_set("asked", lambda o: synced(o) == 1)
    out, _ = w.muster("restart", "jobset/asked")
    contains(out, "asked restarts")
    w.wait_set("asked", lambda o: synced(o) == 2)
    w.api.ok("POST", f"{SETS}/asked/restart")
    end = w.wait_set("asked", lambda o: synced(o) == 3)
    equal(end["status"].get("restartsCountTowardsMax", 0), 0, "charged")
    w.api.refused(404, "POST", f"{SETS}/none/restart")
    w.api.patch(f"{SETS}/asked", {"spec": {"suspend": True}})
    contains(w.muster("restart", "jobset/asked")[0], "asked is suspended")
    end = w.wait_set("asked", lambda o: condition(o, "RestartRequested")["reason"] != "Restarted")
    equal(condition(end, "RestartRequested")["reason"], "JobSetSuspended")
    w.api.ok("POST", SETS, job_set("over", 1, ["true"], restarts=0))
    w.wait_set("over", lambda o: o["status"].get("terminalState") == "Completed")
    w.api.refused(409, "POST", f"{SETS}/over/restart")
    contains(w.muster("restart", "jobset/over", code=1)[1], "it has ended (Completed)")
    contains(w.muster("restart", "pod/x", code=2)[1], "cannot be restarted", "muster restart jobset")
    w.remove("asked")


@cases
def workers_outlive_the_server(w):
    mark = w.path("mark")
    command = ["python3", "-c", "import time; time.sleep(1000)", str(mark)]
    w.api.ok("POST", SETS, job_set("stays", 4, command))
    before = wait_until(lambda: len(workers(mark)) == 4 and sorted(workers(mark)), "four workers")
    w.wait_set("stays", lambda o: synced(o) == 1)
    w.api.close()
    w.node.server.kill()
    w.node.server.start()
    w.node.api = w.api = w.node.server.local()
    equal(sorted(workers(mark)), before, "workers")
    os.kill(before[0], signal.SIGKILL)
    w.wait_set("stays", lambda o: synced(o) == 2)
    after = wait_until(lambda: len(workers(mark)) == 4 and sorted(workers(mark)), "four again")
    equal(set(after) & set(before), set(), "workers of the epoch before")
    for pid in after:
        contains(pathlib.Path(f"/proc/{pid}/environ").read_text(), "MUSTER_EPOCH=2")
    w.remove("stays")


def condition(thing, name):
    return next((c for c in thing.get("status", {}).get("conditions", []) if c["type"] == name), {})


def come_back(w):
    """The server is told to end, and started again."""
    w.api.close()
    w.node.server.stop()
    w.node.server.start()
    w.node.api = w.api = w.node.server.local()


def field(name, path):
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


@cases
def a_server_that_is_told_to_end_costs_no_restart(w):
    mark = w.path("mark")
    command = ["python3", "-c", "import time; time.sleep(1000)", str(mark)]
    w.api.ok("POST", SETS, job_set("alone", 3, command, restarts=0))
    w.api.ok("POST", SETS, job_set("agents", 3, ["muster-agent", "--", *command], restarts=0, env=(
        field("NAMESPACE", "metadata.namespace"), field("POD_NAME", "metadata.name"),
        field("JOBSET_NAME", "metadata.annotations['jobset.sigs.k8s.io/jobset-name']"))))
    for epoch in (1, 2, 3):
        for name in ("alone", "agents"):
            status = w.wait_set(name, lambda o: synced(o) == epoch or is_over(o))["status"]
            equal((status["syncedEpoch"], status.get("restartsCountTowardsMax", 0)), (epoch, 0), name)
        wait_until(lambda: len(workers(mark)) == 6, "six workers")
        if epoch < 3:
            come_back(w)
    w.remove("alone")
    w.remove("agents")


@cases
def nobody_goes_on_to_an_epoch_that_would_end_at_once(w):
    """An agent sees that its epoch is over before it is told to end itself."""
    go, up = w.path("go"), w.path("up")
    script = f"trap 'until test -e {go}; do sleep 0.05; done; exit 0' TERM; echo >> {up}; while :; do sleep 0.1; done"
    thing = job_set("slow", 2, ["sh", "-c", script], restarts=0)
    thing["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 60
    w.api.ok("POST", SETS, thing)
    w.wait_set("slow", lambda o: synced(o) == 1)
    wait_until(lambda: up.exists() and len(up.read_text()) == 2, "two that can be told to end")
    pods = w.api.get(PODS + "?labelSelector=jobset.sigs.k8s.io/jobset-name%3Dslow")["items"]
    server, pod = w.node.server, pods[0]["metadata"]["name"]
    server.popen.send_signal(signal.SIGTERM)
    w.wait_set("slow", lambda o: condition(o, "RestartingJobSet").get("reason") == "NodeShutdown")
    told = w.api.refused(503, "PATCH", f"{PODS}/{pod}", {"metadata": {"annotations": {EPOCH: "2"}}},
                         {"Content-Type": "application/merge-patch+json"})
    contains(told["message"], "this server ends")
    go.touch()
    w.api.close()
    equal(server.wait(), 0, "exit code")
    server.start()
    w.node.api = w.api = server.local()
    status = w.wait_set("slow", lambda o: synced(o) == 2 or is_over(o))["status"]
    equal((status["syncedEpoch"], status.get("restartsCountTowardsMax", 0)), (2, 0), "epoch, charged")
    w.remove("slow")


@cases
def a_restart_is_told_of_until_all_are_ready_again(w):
    mark = w.path("mark")
    w.api.ok("POST", SETS, job_set("told", 4, ["python3", "-c", "import time; time.sleep(1000)", str(mark)]))
    for turn in range(1, 6):
        before = wait_until(lambda: len(workers(mark)) == 4 and sorted(workers(mark)), "four workers")
        os.kill(before[0], signal.SIGKILL)
        w.wait_set("told", lambda o: o["status"].get("inPlaceRestarts", 0) == turn and
                   condition(o, "RestartingJobSet").get("status") == "True")
        end = w.wait_set("told", lambda o: condition(o, "RestartingJobSet").get("status") == "False")
        equal((condition(end, "RestartingJobSet")["reason"], synced(end)), ("JobsReady", turn + 1))
        # Pods of the case before may still be ending.
        pods = w.api.get(PODS + "?labelSelector=jobset.sigs.k8s.io/jobset-name%3Dtold")["items"]
        equal(len(pods), 4, "pods")
        for pod in pods:
            equal(pod["status"]["containerStatuses"][0]["restartCount"], turn, "of " + pod["metadata"]["name"])
    w.remove("told")


@cases
def who_waits_says_for_whom(w):
    thing = job_set("late", 2, ["sleep", "1000"])
    thing["spec"]["replicatedJobs"].append(json.loads(json.dumps(thing["spec"]["replicatedJobs"][0])))
    thing["spec"]["replicatedJobs"][1]["name"] = "nowhere"
    # Whom no node suits would keep all others from being bound; this one is bound and cannot start.
    spec = thing["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    spec["containers"][0]["envFrom"] = [{"configMapRef": {"name": "not-there-yet"}}]
    w.api.ok("POST", SETS, thing)
    found = w.api.wait_for(PODS, lambda p: any(
        c.get("state", {}).get("waiting", {}).get("reason") == "WaitingForGroup"
        for c in p.get("status", {}).get("containerStatuses", [])))
    out, _ = w.muster("why", f"pod/{found['metadata']['name']}")
    contains(out, "other members")
    equal(workers("1000"), [], "workers")
    w.remove("late")


@contextlib.contextmanager
def world(folder):
    made = World(folder)
    try:
        yield made
        made.node.stop()
    finally:
        made.node.server.end()


if __name__ == "__main__":
    sys.exit(cases.main(world))

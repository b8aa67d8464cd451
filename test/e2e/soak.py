# SPDX-License-Identifier: Apache-2.0
"""What the soak test keeps books of: acknowledged writes, quota as a watch shows it, gangs by what
their workers wrote down, and how much of the machine the server takes."""

import collections
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import sqlite3
import threading
import time

from muster_test import Api, UnixConnection, children, equal, fail, version_of
from objects import configmap
from pods import alive, wait_until

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = KUEUE + "/namespaces/default/workloads"
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
MAPS = "/api/v1/namespaces/default/configmaps"
SETTLE_S = 120

# Each line is one write to a file in append mode: the file is the order in which things were. No
# process is made for a beat.
WORKER = r"""
exec 9<> <(:)
echo "start $MUSTER_EPOCH $JOB_COMPLETION_INDEX $$ $POD" >> "$LOG"
while ! [ -e "$GO" ]; do
    read -t 0.25 -u 9
    echo "beat $MUSTER_EPOCH $JOB_COMPLETION_INDEX $$ $POD" >> "$LOG"
done
echo "done $MUSTER_EPOCH $JOB_COMPLETION_INDEX $$ $POD" >> "$LOG"
"""


class Ledger:
    """Every write that was acknowledged, to be compared with what is there."""

    def __init__(self, dice):
        self.dice = dice
        self.known = {}  # name: the object as it was acknowledged
        self.newest = 0
        self.writes = 0

    def write(self, api):
        name = f"ledger-{self.dice.randrange(40)}"
        text = str(self.dice.random()) * self.dice.randrange(1, 100)
        data = {"text": text, "sum": hashlib.sha256(text.encode()).hexdigest()}
        if name not in self.known:
            thing = api.ok("POST", MAPS, configmap(name, data))
        elif self.dice.random() < 0.3:
            api.ok("DELETE", f"{MAPS}/{name}")
            del self.known[name]
            self.writes += 1
            return
        else:
            thing = api.patch(f"{MAPS}/{name}", {"data": data})
        if version_of(thing) <= self.newest:
            fail(f"the version went back: {version_of(thing)} after {self.newest}")
        self.newest = version_of(thing)
        self.known[name] = thing
        self.writes += 1

    def check(self, api):
        listed = api.get(MAPS)
        there = {one["metadata"]["name"]: one for one in listed["items"]
                 if one["metadata"]["name"].startswith("ledger-")}
        equal(sorted(there), sorted(self.known), "names of acknowledged writes")
        for name, thing in self.known.items():
            got = there[name]
            equal((version_of(got), got["data"]), (version_of(thing), thing["data"]), name)
        if version_of(listed) < self.newest:
            fail(f"the store is at {version_of(listed)}, {self.newest} was acknowledged")


class QuotaWatch(threading.Thread):
    """Follows all workloads; at no version may more be reserved than there is. A server that is
    killed breaks the watch: it is begun again with what is there."""

    def __init__(self, path, quota):
        super().__init__(daemon=True)
        self.path, self.quota = path, quota
        self.over = threading.Event()
        self.problem, self.samples, self.most = None, 0, 0

    @staticmethod
    def reserved(workload):
        status = workload.get("status", {})
        true = {c["type"] for c in status.get("conditions", []) if c["status"] == "True"}
        has = "QuotaReserved" in true and "Finished" not in true
        sets = status.get("admission", {}).get("podSetAssignments", [])
        return sum(one.get("count", 0) for one in sets) if has else 0

    def follow(self):
        api, held, is_whole = Api(lambda: UnixConnection(self.path)), {}, False
        with api.watch(WORKLOADS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan",
                       allowWatchBookmarks="true", timeoutSeconds="30") as events:
            while not self.over.is_set() and (event := events.next()) is not None:
                if event["type"] == "ERROR":
                    return
                is_whole |= event["type"] == "BOOKMARK"
                name = event["object"].get("metadata", {}).get("name", "")
                held[name] = 0 if event["type"] in ("DELETED", "BOOKMARK") else \
                    self.reserved(event["object"])
                total = sum(held.values())
                self.samples += is_whole
                self.most = max(self.most, total)
                if is_whole and total > self.quota:
                    self.problem = f"{total} of {self.quota} are reserved: {held}"
                    return

    def run(self):
        while not self.over.is_set() and self.problem is None:
            try:
                self.follow()
            except (OSError, ValueError, AssertionError, http.client.HTTPException):
                self.over.wait(0.1)

    def check(self):
        equal(self.problem, None, "quota")


class Gang:
    """A JobSet that restarts in place; its workers write down what they do."""

    def __init__(self, folder, name, members, fate):
        self.name, self.members, self.fate = name, members, fate
        self.log, self.go = folder / f"{name}.log", folder / f"{name}.go"
        self.ready = folder / f"{name}.ready"
        self.log.touch()
        self.kills = 0
        self.disturbed = False
        if fate != "never":
            self.ready.touch()

    def manifest(self):
        env = [{"name": "LOG", "value": str(self.log)}, {"name": "GO", "value": str(self.go)},
               {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]
        worker = {"name": "w", "command": ["bash", "-c", WORKER.replace("$$", "$$$$")], "env": env,
                  "readinessProbe": {"exec": {"command": ["test", "-e", str(self.ready)]},
                                     "periodSeconds": 1}}
        pods = {"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 1,
                "containers": [worker]}
        job = {"completions": self.members, "parallelism": self.members,
               "completionMode": "Indexed", "backoffLimit": 2147483647,
               "podReplacementPolicy": "Failed", "template": {"spec": pods}}
        return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                "metadata": {"name": self.name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
                "spec": {"failurePolicy": {"maxRestarts": 1000, "restartStrategy": "InPlaceRestart"},
                         "replicatedJobs": [{"name": "w", "replicas": 1,
                                             "template": {"spec": job}}]}}

    def lines(self):
        return [line.split() for line in self.log.read_text().splitlines()]

    def is_worker(self, pid):
        """In half an hour the number of one that has ended may be somebody else's."""
        try:
            env = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
        return f"LOG={self.log}".encode() in env.split(b"\0")

    def living(self):
        """(epoch, index, pid) of the workers that run."""
        return {(int(epoch), index, int(pid)) for what, epoch, index, pid, _ in self.lines()
                if what == "start" and self.is_worker(int(pid))}

    def is_whole_or_absent(self):
        found = self.living()
        indexes = {index for _, index, _ in found}
        done = {index for what, _, index, _, _ in self.lines() if what == "done"}
        return not found or (len(indexes | done) == self.members and
                             len({epoch for epoch, _, _ in found}) == 1)

    def check(self):
        """No worker twice in an epoch, none of an older one once a newer has begun."""
        started, epoch = collections.Counter(), 0
        for number, (what, at, index, _, _) in enumerate(self.lines(), 1):
            if int(at) < epoch:
                fail(f"{self.name} line {number}: {what} of {index} in {at} after a start in {epoch}")
            if what != "start":
                continue
            started[index, at] += 1
            if started[index, at] > 1:
                fail(f"{self.name} line {number}: {index} started twice in epoch {at}")
            epoch = int(at)
        return epoch

    def forget(self):
        for path in (self.log, self.go, self.ready):
            path.unlink(missing_ok=True)


# ---- how much of the machine it takes ----

def descendants():
    pids = list(children())
    for pid in pids:
        with contextlib.suppress(OSError):
            pids += [int(word) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
                     for word in path.read_text().split()]
    return [pid for pid in pids if alive(pid)]


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return ""


def resident(pid):
    """Bytes that are its own: shared pages of the program do not count."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", text)[1]) << 10


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def groups(prefix):
    """Control groups of nodes whose names begin so, in all hierarchies."""
    found = []
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        if f"/{prefix}" in folder:
            found.append(folder)
    return found


def pages(database):
    """How much of the database is in use, in bytes."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        one = {name: db.execute(f"PRAGMA {name}").fetchone()[0]
               for name in ("page_count", "freelist_count", "page_size")}
    return (one["page_count"] - one["freelist_count"]) * one["page_size"]


def files(data):
    """All that nodes keep: logs, volumes, names of hosts."""
    return [path for path in data.glob("nodes/**/*") if path.is_file()]


class Meter:
    """Measures a settled server; the first of each process is what the last is compared with."""

    TOLERANCE = {"memory": (1.25, 6 << 20), "descriptors": (1, 4), "groups": (1, 0), "files": (1, 2),
                 "processes": (1, 0), "database": (1.5, 256 << 10), "disk": (1.5, 4 << 20)}

    def __init__(self, data, prefix):
        self.data, self.prefix = pathlib.Path(data), prefix
        self.first, self.last, self.count = {}, {}, collections.Counter()
        self.most, self.groups = collections.Counter(), None

    def note(self, what, key, value):
        self.first.setdefault((what, key), value)
        self.most[what, key] = max(value, self.most[what, key])
        self.last[what, key] = value
        self.count[what, key] += 1

    def measure(self, server):
        for pid in descendants():
            if " up --data" in command(pid) or "spawner" in command(pid):
                who = f"{'server' if pid == server.popen.pid else 'spawner'} {pid}"
                self.note("memory", who, resident(pid))
                self.note("descriptors", who, descriptors(pid))
        now = groups(self.prefix)
        self.groups = self.groups or now
        if len(now) > len(self.groups):
            print(f"# new groups: {sorted(set(now) - set(self.groups))}", flush=True)
        self.note("groups", "all", len(now))
        self.note("processes", "all", len(descendants()))
        self.note("files", "all", len(files(self.data)))
        self.note("database", "in use", pages(self.data / "muster.db"))
        self.note("disk", "database", sum(path.stat().st_size
                                          for path in self.data.glob("muster.db*")))

    def check(self):
        found = []
        for (what, key), before in self.first.items():
            factor, more = self.TOLERANCE[what]
            now = self.last[what, key]
            if now > before * factor + more:
                found.append(f"{what} of {key}: {before} at first, {now} at last")
        equal(found, [], "what grew")

    def tell(self):
        for (what, key), before in sorted(self.first.items()):
            if self.count[what, key] > 1:
                print(f"# {what} of {key}: {before} -> {self.last[what, key]} "
                      f"({self.count[what, key]} times, at most {self.most[what, key]})", flush=True)


def secrets_in(data, stderr, tokens, events):
    """Files and events in which a token is found."""
    found = []
    texts = [("stderr", stderr), ("events", json.dumps(events))]
    for path in [*data.glob("access.log*"), *data.glob("nodes/**/*.log")]:
        with contextlib.suppress(OSError):
            texts.append((str(path), path.read_text(errors="replace")))
    for name, text in texts:
        found += [name for token in tokens if token in text]
    return found


def wait_quietly(condition, what):
    """wait_until for things that a killed server makes fail in passing."""
    def quiet():
        try:
            return condition()
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
            return False
    return wait_until(quiet, what, SETTLE_S)

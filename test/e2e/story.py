# SPDX-License-Identifier: Apache-2.0
"""The main changes in the life of gangs, in the order in which they happened: from the watches of a
server, or from the lines of a rehearsal. Both are told in the same words, so that they can be
compared.

    ("red", "admitted")          the Workload is
    ("red", "ready")             all its pods are: the first time, and again after each restart
    ("red", "restarts")          an epoch is over
    ("red", "epoch 2")           the next one begins: everybody has arrived
    ("red", "finished")
    ("red/5", "created")         then bound, starting, ready, over, succeeded or gone; red/5' is the pod
                                 that was made in its place
"""

import contextlib
import http.client
import re
import threading

from muster_test import fail

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
PODS = "/api/v1/namespaces/default/pods"
CONTAINER_ENDS = ("exited", "failed")
MILESTONES = ("created", "bound", "starting", "ready", "over", "succeeded", "gone")


def member_of(pod_name):
    """"red/5" of red-worker-0-5-x7k2p; None: no member of a gang."""
    found = re.fullmatch(r"(\w+)-worker-0-(\d+)-\w+", pod_name)
    return f"{found[1]}/{found[2]}" if found else None


def gang_of(workload_name):
    return workload_name.removeprefix("jobset-")


class Story:
    """What happened so far. Each change comes in once, from whoever sees it first; watches of several
    kinds are not in step with each other, so it is the revisions that say what came before what."""

    def __init__(self):
        self.entries = []
        self.revision = 0  # of what is being told; a rehearsal is told in order
        self.labels = {}  # names of pods to who they are in the story

    @property
    def told(self):
        return [entry[1:] for entry in sorted(self.entries, key=lambda entry: entry[0])]

    def tell(self, who, what):
        self.entries.append((self.revision, who, what))

    def condition(self, workload, kind, status, reason):
        gang = gang_of(workload)
        if kind == "Admitted" and status == "True":
            self.tell(gang, "admitted")
        elif kind == "PodsReady" and status == "True":
            self.tell(gang, "ready")
        elif kind == "Finished" and status == "True":
            self.tell(gang, "finished")
        elif kind == "Evicted" and status == "True":
            self.tell(gang, f"evicted: {reason}")

    def epoch(self, gang, field, value):
        if field == "deprecatedEpoch" and value and value >= 1:
            self.tell(gang, "restarts")
        elif field == "syncedEpoch" and value and value >= 1:
            self.tell(gang, f"epoch {value}")

    def pod(self, name, what):
        if what == "created":
            before = [who for who, told in self.told if told == "created"]
            label = member_of(name)
            while label in before:
                label += "'"
            self.labels[name] = label
        self.tell(self.labels[name], what)

    def container(self, pod, name, state):
        if name == "worker":
            self.pod(pod, "over" if state in CONTAINER_ENDS else state)

    def of(self, who):
        return [what for teller, what in self.told if teller == who]

    def gangs(self):
        """What is told of gangs as a whole, in order."""
        return [(who, what) for who, what in self.told if "/" not in who]

    def lives(self, gang):
        """The life of each pod, the same for all whose order tells nothing. Which member is on which
        node, and so which pods a drain takes, is nobody's promise: lives are compared, not names.
        What a worker waits for before it starts is told or not, as it happens; so is an end that is
        followed by a start in place."""
        lives = []
        for label in sorted({who for who, _ in self.told if who.startswith(f"{gang}/")}):
            told = [what for what in self.of(label) if what in MILESTONES]
            lives.append([what for what, then in zip(told, told[1:] + [None])
                          if (what, then) != ("over", "starting")])
        return sorted(lives)


# ---- from a rehearsal ----

def rehearsed(lines):
    story = Story()
    for line in lines:
        kind, name, what = line.get("kind"), line.get("name"), line["type"]
        if kind == "Workload" and what == "Condition":
            story.condition(name, line["condition"], line["status"], line["reason"])
        elif kind == "JobSet" and what == "Field" and line["path"].startswith("status."):
            story.epoch(name, line["path"].removeprefix("status."), line["value"])
        elif kind == "Pod" and member_of(name) is not None:
            rehearsed_pod(story, line)
    return story


def rehearsed_pod(story, line):
    name, what = line["name"], line["type"]
    if what == "Created":
        story.pod(name, "created")
    elif what == "Deleted":
        story.pod(name, "gone")
    elif what == "Phase" and line["phase"] == "Succeeded":
        story.pod(name, "succeeded")
    elif what == "Field" and line["path"] == "spec.nodeName":
        story.pod(name, "bound")
    elif what == "Container":
        story.container(name, line["container"], line["state"])


# ---- from a server ----

def conditions(thing):
    return {one["type"]: (one["status"], one["reason"])
            for one in thing.get("status", {}).get("conditions", [])}


def lifecycle(pod, name):
    for status in pod.get("status", {}).get("containerStatuses", []):
        if status["name"] == name:
            return status.get("lifecycle", {})
    return {}


def new_moves(now, before):
    """Those of a lifecycle that were not known. A supervisor that finds a container begins its list
    with the state that it finds: that is none."""
    known = [(move["at"], move["state"]) for move in before.get("moves", [])]
    fresh = [move["state"] for move in now.get("moves", [])
             if (move["at"], move["state"]) not in known]
    is_same_life = now.get("generation") == before.get("generation")
    is_found = is_same_life and len(fresh) == len(now.get("moves", []))
    return fresh[1:] if is_found and fresh[:1] == [before.get("state")] else fresh


class Recorder:
    """Follows a server through its deaths: what is there is listed, then watched; when the watch
    breaks, all again. Changes are found by comparing each object with what was seen of it last."""

    def __init__(self, server):
        self.server = server
        self.story = Story()
        self.seen = {}
        self.changed = threading.Condition()
        self.is_over = False
        self.open = {}
        self.threads = [threading.Thread(target=self._follow, args=(path,), daemon=True)
                        for path in (WORKLOADS, JOBSETS, PODS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        for events in list(self.open.values()):
            with contextlib.suppress(OSError, AttributeError):
                events.connection.sock.shutdown(2)
        for thread in self.threads:
            thread.join()

    def _follow(self, path):
        while not self.is_over:
            try:
                self._watch(path)
            except (OSError, http.client.HTTPException, AssertionError, ValueError):
                with self.changed:
                    self.changed.wait(0.05)

    def _watch(self, path):
        api = self.server.local()
        found = api.get(path)
        api.close()
        with self.changed:
            names = {thing["metadata"]["uid"] for thing in found["items"]}
            for thing in found["items"]:
                self._take(path, thing)
            self.story.revision = int(found["metadata"]["resourceVersion"])
            for uid in [u for (p, u) in self.seen if p == path and u not in names]:
                self._drop(path, uid)
        with api.watch(path, resourceVersion=found["metadata"]["resourceVersion"]) as events:
            self.open[path] = events
            while not self.is_over and (event := events.next()) is not None:
                with self.changed:
                    if event["type"] == "DELETED":
                        self._take(path, event["object"])
                        self._drop(path, event["object"]["metadata"]["uid"])
                    elif event["type"] in ("ADDED", "MODIFIED"):
                        self._take(path, event["object"])

    def _take(self, path, thing):
        before = self.seen.get((path, thing["metadata"]["uid"]))
        self.seen[path, thing["metadata"]["uid"]] = thing
        self.story.revision = int(thing["metadata"]["resourceVersion"])
        compare = {WORKLOADS: self._workload, JOBSETS: self._jobset, PODS: self._pod}[path]
        compare(thing["metadata"]["name"], thing, before or {})
        self.changed.notify_all()

    def _drop(self, path, uid):
        thing = self.seen.pop((path, uid), None)
        if thing and path == PODS and member_of(thing["metadata"]["name"]):
            self.story.pod(thing["metadata"]["name"], "gone")
        self.changed.notify_all()

    def _workload(self, name, thing, before):
        was = conditions(before)
        for kind, now in conditions(thing).items():
            if was.get(kind) != now:
                self.story.condition(name, kind, *now)

    def _jobset(self, name, thing, before):
        for field in ("deprecatedEpoch", "syncedEpoch"):
            now, was = (one.get("status", {}).get(field) for one in (thing, before))
            if now != was:
                self.story.epoch(name, field, now)

    def _pod(self, name, thing, before):
        if member_of(name) is None:
            return
        if not before:
            self.story.pod(name, "created")
        if "nodeName" in thing["spec"] and "nodeName" not in before.get("spec", {}):
            self.story.pod(name, "bound")
        for state in new_moves(lifecycle(thing, "worker"), lifecycle(before, "worker")):
            self.story.container(name, "worker", state)
        phases = [one.get("status", {}).get("phase") for one in (thing, before)]
        if phases[0] == "Succeeded" != phases[1]:
            self.story.pod(name, "succeeded")

    def wait(self, wanted, what, limit):
        """Until wanted(story) holds."""
        with self.changed:
            if not self.changed.wait_for(lambda: wanted(self.story), limit):
                fail(f"not within {limit} s: {what}; so far:\n" +
                     "\n".join(f"{who}: {text}" for who, text in self.story.gangs()))

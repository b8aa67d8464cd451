# SPDX-License-Identifier: Apache-2.0
"""The control plane is killed and started again while a queue works off a few hundred workloads that
are nobody's: this test is their job side. After every kill, at every look: no more is in use than there is, who
was admitted is not admitted again, and the pause of one that was evicted ends when it would have ended.
ADMIT_KILLS, ADMIT_WORKLOADS and ADMIT_SEED say how many and which."""

import json
import os
import pathlib
import random
import sys
import time

from muster_test import LIMIT_S, Cases, Server, equal, fail, muster_path

KILLS = int(os.environ.get("ADMIT_KILLS", "6"))
COUNT = int(os.environ.get("ADMIT_WORKLOADS", "300"))
SEED = int(os.environ.get("ADMIT_SEED", str(random.SystemRandom().randrange(1 << 32))))
QUEUES, NOMINAL = 3, 4
HOPELESS = 3  # never ready
AT_A_TIME = 20  # are created at each look
API = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = API + "/namespaces/default/workloads"
LIMIT = 2  # evictions that are no end yet
READY = {"enable": True, "timeout": "2s", "blockAdmission": True, "blockScope": "ClusterQueue",
         "requeuingStrategy": {"backoffBaseSeconds": 1, "backoffMaxSeconds": 1,
                               "backoffLimitCount": LIMIT}}
cases = Cases()


def post(api, plural, kind, name, **more):
    path = f"{API}/namespaces/default/{plural}" if kind == "LocalQueue" else f"{API}/{plural}"
    api.ok("POST", path, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind,
                          "metadata": {"name": name}, **more})


def make_queues(api):
    post(api, "resourceflavors", "ResourceFlavor", "f")
    for number in range(QUEUES):
        flavor = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": NOMINAL}]}
        post(api, "clusterqueues", "ClusterQueue", f"q{number}",
             spec={"cohortName": "all", "namespaceSelector": {},
                   "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]})
        post(api, "localqueues", "LocalQueue", f"q{number}", spec={"clusterQueue": f"q{number}"})


def workload(number):
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": f"w{number}"},
            "spec": {"queueName": f"q{number % QUEUES}", "podSets": [
                {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]}}


def conditions(thing):
    return {one["type"]: one for one in thing.get("status", {}).get("conditions", [])}


def is_true(found, kind):
    return found.get(kind, {}).get("status") == "True"


def evictions(thing):
    stats = thing.get("status", {}).get("schedulingStats", {})
    return sum(one["count"] for one in stats.get("evictions", []))


def number_of(thing):
    return int(thing["metadata"]["name"][1:])


class Watcher:
    """What was seen of each workload, to compare with what is seen later."""

    def __init__(self):
        self.admitted = {}  # (name, evictions): since when
        self.pauses = {}    # (name, count): until when

    def look(self, things):
        held = 0
        for thing in things:
            found, name = conditions(thing), thing["metadata"]["name"]
            held += is_true(found, "QuotaReserved") and not is_true(found, "Finished")
            if is_true(found, "Admitted"):
                self.same(self.admitted, (name, evictions(thing)),
                          found["Admitted"]["lastTransitionTime"], "admitted again")
            state = thing.get("status", {}).get("requeueState", {})
            if "requeueAt" in state:
                self.same(self.pauses, (name, state["count"]), state["requeueAt"], "another pause")
        if held > QUEUES * NOMINAL:
            fail(f"{held} CPUs are in use of {QUEUES * NOMINAL}")

    @staticmethod
    def same(seen, key, value, what):
        if seen.setdefault(key, value) != value:
            fail(f"{key[0]}: {what}: {value}, before it was {seen[key]}")


class Runner:
    """The job side: who is admitted gets ready and is finished, except for the hopeless."""

    def __init__(self, server, rng):
        self.server = server
        self.api = server.local()
        self.rng = rng
        self.made = self.writes = 0
        # Half of all writes are over after the creations and the first of the others.
        self.kill_at = sorted(rng.sample(range(AT_A_TIME, COUNT * 3 - HOPELESS * 2), KILLS))

    def write(self, method, path, body):
        """An answer, or none: whoever kills may come before it or after it."""
        kind = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        answer = self.api.call(method, path, body, {"Content-Type": kind})
        if answer.status not in (200, 201, 409):
            fail(f"{method} {path}: {answer.status} {answer.text[:300]}")
        self.writes += 1
        if self.kill_at and self.writes >= self.kill_at[0]:
            self.kill_at.pop(0)
            self.kill()

    def kill(self):
        time.sleep(self.rng.random() * 0.01)  # any moment of what the write leads to
        self.server.kill()
        self.server.start()
        self.api = self.server.local()

    def tell(self, thing, kind):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.write("PATCH", f"{WORKLOADS}/{thing['metadata']['name']}/status",
                   {"metadata": {"resourceVersion": thing["metadata"]["resourceVersion"]},
                    "status": {"conditions": [{"type": kind, "status": "True", "reason": "ByTest",
                                               "message": "", "lastTransitionTime": now}]}})

    def act(self, thing):
        found = conditions(thing)
        if not is_true(found, "Admitted") or is_true(found, "Finished") or \
                number_of(thing) < HOPELESS:
            return
        self.tell(thing, "Finished" if is_true(found, "PodsReady") else "PodsReady")

    def turn(self, watcher):
        things = self.api.get(WORKLOADS)["items"]
        watcher.look(things)
        for number in range(self.made, min(self.made + AT_A_TIME, COUNT)):
            self.write("POST", WORKLOADS, workload(number))
        self.made = min(self.made + AT_A_TIME, COUNT)
        for thing in things:
            self.act(thing)
        return len(things) == COUNT and all(has_ended(thing) for thing in things)


def has_ended(thing):
    """Done, or given up. On a busy machine that may happen to others than the hopeless as well: this
    test is late then with what it says of them."""
    found = conditions(thing)
    is_given_up = not thing["spec"].get("active", True) and not is_true(found, "QuotaReserved")
    return is_true(found, "Finished") or is_given_up


def queues_are_empty(api):
    for queue in api.get(f"{API}/clusterqueues")["items"]:
        status = queue.get("status", {})
        used = [one["total"] for flavor in status.get("flavorsReservation", [])
                for one in flavor["resources"]]
        if status.get("pendingWorkloads") != 0 or status.get("reservingWorkloads") != 0 or \
                used != ["0"]:
            return False
    return True


def until(done, what):
    limit = time.monotonic() + 4 * LIMIT_S
    while not done():
        if time.monotonic() > limit:
            fail(f"not in {4 * LIMIT_S} s: {what}")


@cases
def killed_at_any_moment_it_comes_to_the_same_end(folder):
    print(f"# ADMIT_SEED={SEED}", flush=True)
    config = pathlib.Path(folder) / "config.json"
    config.write_text(json.dumps({"apiVersion": "muster.dev/v1alpha1", "kind": "Configuration",
                                  "waitForPodsReady": READY}))
    server = Server(folder, "--config", str(config), program=muster_path()).start()
    try:
        runner, watcher = Runner(server, random.Random(SEED)), Watcher()
        make_queues(runner.api)
        until(lambda: runner.turn(watcher), "all workloads have ended")
        until(lambda: queues_are_empty(runner.api), "all queues are empty")
        check_end(runner, watcher)
        runner.api.close()
        server.stop()
    finally:
        server.end()


def check_end(runner, watcher):
    equal(runner.kill_at, [], "kills that did not happen")
    done = 0
    for thing in runner.api.get(WORKLOADS)["items"]:
        found, name = conditions(thing), thing["metadata"]["name"]
        if is_true(found, "Finished"):
            done += 1
            equal(number_of(thing) >= HOPELESS, True, f"{name} was ready")
            equal(evictions(thing) <= LIMIT, True, f"evictions of {name}: {evictions(thing)}")
            continue
        # A pause after each eviction, then the limit: whatever was killed, none of them is lost.
        equal(evictions(thing), LIMIT + 1, f"evictions of {name}")
        equal(found["Evicted"]["reason"], "DeactivatedDueToRequeuingLimitExceeded", name)
        equal(any(key[0] == name for key in watcher.pauses), True, f"{name} had a pause")
    equal(done > COUNT // 2, True, f"{done} of {COUNT} were finished")


if __name__ == "__main__":
    sys.exit(cases.main())

# SPDX-License-Identifier: Apache-2.0
"""Gangs come, die, restart in place, are evicted and requeued, finish and are deleted; a pool grows
and shrinks, a node is drained, the server is killed: for as long as wanted, with real processes. Then
nothing may have grown, and every promise is checked from outside.

MUSTER_SOAK="MINUTES [MEMBERS [SEED]]" makes it longer; `make soak` is half an hour of it."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

from muster_test import LIMIT_S, Cases, Server, equal, fail, matches, muster_path
from pods import PODS, wait_until
from soak import (KUEUE, SETS, SETTLE_S, WORKLOADS, Gang, Ledger, Meter, QuotaWatch, command, descendants,
                  groups, secrets_in, wait_quietly)

cases = Cases()
STATEFUL = "/apis/apps/v1/namespaces/default/statefulsets"
VPODS = "/apis/muster.dev/v1alpha1/namespaces/default/vpods"
EVENTS = "/api/v1/namespaces/default/events"
WORDS = os.environ.get("MUSTER_SOAK", "2 3").split()
MINUTES, MEMBERS = float(WORDS[0]), int(WORDS[1]) if len(WORDS) > 1 else 4
SEED = int(WORDS[2]) if len(WORDS) > 2 else random.randrange(1 << 32)
ROUND_S = 20  # of trouble, then everything settles and is measured
GANGS = 4  # at a time; two of them fit
FATES = ("finish", "finish", "die", "die", "die", "never", "delete")


def pool():
    containers = [{"name": "c", "command": ["sleep", "100000"]}]
    return {"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "pool", "annotations": {"muster.dev/pod-capacity": "4",
                                                         "muster.dev/refresh-period": "2s"}},
            "spec": {"replicas": 1, "podManagementPolicy": "Parallel",
                     "selector": {"matchLabels": {"app": "pool"}},
                     "template": {"metadata": {"labels": {"app": "pool"}}, "spec": {
                         "terminationGracePeriodSeconds": 0, "containers": containers}}}}


def objects(quota):
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    flavor = {"name": "f", "resources": [{"name": "pods", "nominalQuota": quota}]}
    yield KUEUE + "/resourceflavors", {**kueue, "kind": "ResourceFlavor", "metadata": {"name": "f"}}
    yield KUEUE + "/clusterqueues", {
        **kueue, "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {
            "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["pods"],
                                                         "flavors": [flavor]}]}}
    yield KUEUE + "/namespaces/default/localqueues", {
        **kueue, "kind": "LocalQueue", "metadata": {"name": "lq"}, "spec": {"clusterQueue": "q"}}
    yield STATEFUL, pool()
    yield VPODS, {"apiVersion": "muster.dev/v1alpha1", "kind": "VPod", "metadata": {"name": "v"},
                  "spec": {"pool": "pool", "vreplicas": 1}}


class World:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.gang_folder = self.folder / "gangs"
        self.gang_folder.mkdir()
        self.prefix = f"soak-{os.getpid()}"
        self.nodes = [f"{self.prefix}-{letter}" for letter in "ab"]
        nodes = self.folder / "nodes.json"
        nodes.write_text(json.dumps({"nodes": [{"name": name, "capacity": {"pods": 10 * MEMBERS + 20}}
                                               for name in self.nodes]}))
        config = self.folder / "config.json"
        config.write_text(json.dumps({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Configuration", "waitForPodsReady": {
                "enable": True, "timeout": "6s", "recoveryTimeout": "20s", "blockAdmission": False,
                "requeuingStrategy": {"backoffBaseSeconds": 1, "backoffMaxSeconds": 4}}}))
        self.server = Server(folder, "--nodes", str(nodes), "--config", str(config), "--watch-window",
                             "256", program=muster_path(release=True)).start()
        self.api = self.server.local()
        self.dice = random.Random(SEED)
        self.ledger = Ledger(self.dice)
        self.meter = Meter(self.server.data, self.prefix)
        self.quota = QuotaWatch(self.server.socket, 2 * MEMBERS)
        self.gangs, self.number, self.deeds, self.epochs = {}, 0, {}, 0
        for path, thing in objects(2 * MEMBERS):
            self.api.ok("POST", path, thing)
        self.quota.start()

    # ---- deeds ----

    def come(self):
        if len(self.gangs) >= GANGS:
            return
        self.number += 1
        gang = Gang(self.gang_folder, f"g{self.number}", MEMBERS, self.dice.choice(FATES))
        self.api.ok("POST", SETS, gang.manifest())
        self.gangs[gang.name] = gang

    def die(self):
        """One worker, or several at once; the group restarts in place."""
        gangs = [gang for gang in self.gangs.values() if gang.fate == "die" and gang.living()]
        if not gangs:
            return
        gang = self.dice.choice(gangs)
        living = sorted(gang.living())
        for _, _, pid in self.dice.sample(living, min(len(living), self.dice.choice((1, 1, 2)))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        gang.kills += 1

    def finish(self):
        gangs = [gang for gang in self.gangs.values() if gang.fate in ("finish", "die")]
        if gangs:
            self.dice.choice(gangs).go.touch()

    def delete(self):
        gangs = [gang for gang in self.gangs.values() if gang.fate == "delete"]
        if gangs:
            self.remove(self.dice.choice(gangs))

    def evicted(self):
        """Those that never get ready: looked at, and deleted once they have been evicted."""
        for gang in [gang for gang in self.gangs.values() if gang.fate == "never"]:
            found = [w for w in self.api.get(WORKLOADS)["items"]
                     if w["metadata"]["name"] == f"jobset-{gang.name}"]
            if found and found[0].get("status", {}).get("requeueState", {}).get("count", 0) >= 2:
                self.remove(gang)

    def scale(self):
        self.api.patch(f"{VPODS}/v", {"spec": {"vreplicas": self.dice.randrange(0, 17)}})

    def write(self):
        for _ in range(10):
            self.ledger.write(self.api)

    def drain(self):
        """A node is emptied and given back; gangs with members there lose them."""
        for verb, *more in (("drain", "--timeout", f"{LIMIT_S}s"), ("uncordon",)):
            done = subprocess.run([self.server.program, verb, self.nodes[1], "--data",
                                   str(self.server.data), *more], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            equal(done.returncode, 0, f"{verb}: {done.stdout}")

    def kill(self):
        self.ledger.write(self.api)
        self.api.close()
        self.server.kill()
        self.server.start()
        self.api = self.server.local()
        self.ledger.check(self.api)

    # ---- gangs that go ----

    def remove(self, gang):
        self.api.ok("DELETE", f"{SETS}/{gang.name}?propagationPolicy=Background")
        self.gone(gang)

    def gone(self, gang):
        """What belonged to it must be gone before its log is forgotten."""
        selector = f"?labelSelector=jobset.sigs.k8s.io/jobset-name={gang.name}"
        wait_quietly(lambda: not self.api.get(PODS + selector)["items"], f"pods of {gang.name} are gone")
        wait_until(lambda: not gang.living(), f"workers of {gang.name} are gone")
        self.epochs += gang.check()
        del self.gangs[gang.name]
        gang.forget()

    def reap(self):
        """Those that are done are deleted."""
        for thing in self.api.get(SETS)["items"]:
            gang = self.gangs.get(thing["metadata"]["name"])
            state = thing.get("status", {}).get("terminalState")
            if gang is None or not state:
                continue
            if state != "Completed":
                fail(f"{gang.name} ended as {state}: {thing['status']}")
            self.remove(gang)

    # ---- rounds ----

    def trouble(self, seconds, may_kill):
        end = time.monotonic() + seconds
        deeds = {self.come: 8, self.die: 6, self.finish: 3, self.delete: 1, self.evicted: 2, self.scale: 2,
                 self.write: 6, self.drain: 0.3, self.reap: 4, self.kill: 0.3 if may_kill else 0}
        while time.monotonic() < end:
            deed = self.dice.choices(list(deeds), list(deeds.values()))[0]
            deed()
            self.deeds[deed.__name__] = self.deeds.get(deed.__name__, 0) + 1
            time.sleep(self.dice.random() * 0.4)  # the pace of trouble, not of the test

    def settle(self):
        """No more trouble: whoever is admitted becomes whole; then all of them end."""
        for gang in list(self.gangs.values()):
            wait_until(gang.is_whole_or_absent, f"{gang.name} is whole or not there", SETTLE_S)
            gang.ready.touch()
            gang.go.touch()
        self.api.patch(f"{VPODS}/v", {"spec": {"vreplicas": 1}})

        def empty():
            self.reap()
            return not self.gangs
        wait_quietly(empty, "all gangs are done")
        wait_quietly(self.is_quiet, "only the pool is left")
        self.ledger.check(self.api)
        self.quota.check()
        self.check_secrets()
        self.api.ok("DELETE", EVENTS)
        try:
            wait_until(lambda: not self.left_over(), "no process, no group and no file is left", SETTLE_S)
        except AssertionError as failure:
            fail(f"{failure}: {self.left_over()}")
        self.meter.measure(self.server)

    def is_quiet(self):
        pods = self.api.get(PODS)["items"]
        ready = self.api.get(f"{STATEFUL}/pool")["status"].get("readyReplicas", 0)
        return len(pods) == 1 and ready == 1 and not self.api.get(WORKLOADS)["items"]

    def left_over(self):
        """What is neither the server, its spawners nor the pool's one process."""
        strangers = [command(pid) for pid in descendants() if " up --data" not in command(pid) and
                     "spawner" not in command(pid)]
        folders = [str(path) for what in ("logs", "pods", "hosts")
                   for path in self.server.data.glob(f"nodes/*/{what}/*") if "_pool-0_" not in str(path)]
        uids = [pod["metadata"]["uid"] for pod in self.api.get(PODS)["items"]]
        stray = [group for group in groups(self.prefix) if "/pod-" in group and
                 not any(uid in group for uid in uids)]
        return ((strangers if strangers != ["sleep 100000"] else []) + stray +
                (folders if len(folders) > 1 else []))

    def keep(self):
        """Everything that tells why, where the caller wants it."""
        folder = os.environ.get("MUSTER_SOAK_KEEP")
        if not folder:
            return
        shutil.copytree(self.folder, folder, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.sock", "*.fifo"))
        for name, path in (("jobsets", SETS), ("pods", PODS), ("workloads", WORKLOADS), ("events", EVENTS),
                           ("jobs", "/apis/batch/v1/jobs"), ("nodes", "/api/v1/nodes"), ("vpods", VPODS)):
            with contextlib.suppress(OSError, AssertionError):
                (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(self.api.get(path), indent=1))

    def check_secrets(self):
        view = (self.server.data / "view.kubeconfig").read_text()
        tokens = [self.server.token, matches(view, r"token: (\S+)")[1].strip('"')]
        found = secrets_in(self.server.data, self.server.stderr, tokens, self.api.get(EVENTS)["items"])
        equal(found, [], "secrets")


@cases
def nothing_grows_and_every_promise_is_kept(world):
    print(f"# {MINUTES} minutes, {MEMBERS} members, seed {SEED}", flush=True)
    began = time.monotonic()
    rounds = 0
    try:
        while rounds < 3 or time.monotonic() < began + MINUTES * 60:
            # Only a server that lives long can show that it grows.
            world.trouble(min(ROUND_S, MINUTES * 20), time.monotonic() < began + MINUTES * 20)
            world.settle()
            rounds += 1
    except Exception:
        world.keep()
        raise
    finally:
        world.quota.over.set()
        print(f"# {rounds} rounds, {world.deeds}, {world.number} gangs, {world.epochs} epochs, "
              f"{world.ledger.writes} writes, {world.quota.samples} samples of quota", flush=True)
        world.meter.tell()
    world.meter.check()
    world.quota.check()
    equal((world.number > 0, world.quota.samples > 0, world.quota.most > 0), (True,) * 3, "tried")
    world.server.check_clean()


@contextlib.contextmanager
def soak_world(folder):
    world = World(folder)
    try:
        yield world
        world.api.close()
        world.server.stop()
    finally:
        world.quota.over.set()
        world.server.end()
        world.quota.join(LIMIT_S)


if __name__ == "__main__":
    sys.exit(cases.main(soak_world))

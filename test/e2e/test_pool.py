# SPDX-License-Identifier: Apache-2.0
"""A pool of real consumers on four nodes in two zones: the placement document's normal operation and
disaster recovery. What a consumer says it consumes must be what the statuses of vpods say."""

import contextlib
import os
import pathlib
import subprocess
import sys

from muster_test import SOURCE, Cases, Kubectl, Server, contains, equal, fail, kubectl_path
from pods import PODS, wait_until

cases = Cases()
NODES = {"a-0": "a", "a-1": "a", "b-0": "b", "b-1": "b"}
CAPACITY = 4
ROOM = 3  # pods a node takes
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
VPODS = "/apis/muster.dev/v1alpha1/namespaces/default/vpods"
CONSUMER = SOURCE / "examples/sources/consumer.py"
SILENCE_S = 90  # a node is given up after 40 s


def nodes_file(folder):
    lines = ["nodes:"]
    for name, zone in NODES.items():
        lines.append(f"- {{name: {name}, labels: {{topology.kubernetes.io/zone: {zone}}}, "
                     f"capacity: {{pods: {ROOM}}}}}")
    path = pathlib.Path(folder) / "nodes.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def pool(replicas):
    spec = {"terminationGracePeriodSeconds": 0,
            "tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists",
                             "effect": "NoExecute", "tolerationSeconds": 1}],
            "containers": [{"name": "consumer", "command": [sys.executable, str(CONSUMER)],
                            "env": [{"name": "MUSTER_VREPLICAS_FILE",
                                     "value": "/run/share/vreplicas.json"}],
                            "volumeMounts": [{"name": "share", "mountPath": "/run/share"}]}],
            "volumes": [{"name": "share", "downwardAPI": {"items": [
                {"path": "vreplicas.json", "fieldRef": {
                    "fieldPath": "metadata.annotations['muster.dev/vreplicas']"}}]}}]}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "pool", "annotations": {
                "muster.dev/pod-capacity": str(CAPACITY), "muster.dev/refresh-period": "1h"}},
            "spec": {"replicas": replicas, "podManagementPolicy": "Parallel",
                     "selector": {"matchLabels": {"app": "pool"}},
                     "template": {"metadata": {"labels": {"app": "pool"}, "annotations": {
                         "muster.dev/reload-signal": "SIGHUP", "muster.dev/notify": "true"}},
                         "spec": spec}}}


class World:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.server = Server(folder, "--nodes", str(nodes_file(folder))).start()
        self.api = self.server.local()
        self.api.ok("POST", SETS, pool(2))

    def vpod(self, name, vreplicas, **spec):
        self.api.ok("POST", VPODS, {
            "apiVersion": "muster.dev/v1alpha1", "kind": "VPod", "metadata": {"name": name},
            "spec": {"pool": "pool", "vreplicas": vreplicas, **spec}})

    def scale(self, name, vreplicas):
        self.api.patch(f"{VPODS}/{name}", {"spec": {"vreplicas": vreplicas}})

    def placed(self, name):
        """Its placements, once all vreplicas have one."""
        thing = self.api.wait_for(VPODS, lambda v: v["metadata"]["name"] == name and
                                  v.get("status", {}).get("observedGeneration") ==
                                  v["metadata"]["generation"] and
                                  v["status"]["placed"] == v["spec"]["vreplicas"])
        return {p["podName"]: p["vreplicas"] for p in thing["status"]["placements"]}

    def placements(self):
        return {v["metadata"]["name"]: {p["podName"]: p["vreplicas"]
                                        for p in v["status"].get("placements", [])}
                for v in self.api.get(VPODS)["items"]}

    def pods(self):
        return {p["metadata"]["name"]: p for p in self.api.get(PODS)["items"]}

    def node_of(self, name):
        return self.pods()[name]["spec"].get("nodeName")

    def last_word(self, name):
        answer = self.api.call("GET", f"{PODS}/{name}/log")
        lines = answer.text.splitlines() if answer.status == 200 else []
        return lines[-1] if lines else ""

    def consumers_agree(self):
        """Every consumer has been told, and says, what the statuses say of it."""
        def agree():
            placements = self.placements()
            for name in {p for places in placements.values() for p in places}:
                words = [f"{v}[" for v, places in placements.items() if name in places]
                said = self.last_word(name)
                if not said.startswith(f"{name} consumes ") or \
                        said.count("[") != len(words) or not all(w in said for w in words):
                    return False
            return True
        wait_until(agree, "consumers consume what they should")

    def check_capacity(self):
        used = {}
        for places in self.placements().values():
            for name, count in places.items():
                used[name] = used.get(name, 0) + count
        full = {name: count for name, count in used.items() if count > CAPACITY}
        equal(full, {}, "pods above their capacity")

    def refresh(self, period):
        """How often the pool may shrink and be compacted."""
        self.api.patch(f"{SETS}/pool",
                       {"metadata": {"annotations": {"muster.dev/refresh-period": period}}})

    def cut(self, name, off):
        self.api.patch(f"/api/v1/nodes/{name}",
                       {"metadata": {"annotations": {"muster.dev/cut-off": "true" if off else None}}})

    def is_lost(self, name):
        taints = self.api.get(f"/api/v1/nodes/{name}")["spec"].get("taints", [])
        return any(t["key"] == "node.kubernetes.io/unreachable" for t in taints)

    def muster(self, *words):
        env = dict(os.environ, MUSTER_DATA=str(self.server.data))
        return subprocess.run([self.server.program, *words], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def restart(self):
        self.api.close()
        self.server.kill()
        self.server.start()
        self.api = self.server.local()


@contextlib.contextmanager
def world(folder):
    w = World(folder)
    try:
        yield w
        w.api.close()
        w.server.stop()
    finally:
        w.server.end()


@cases
def a_busy_scheduler_places_all_and_the_pool_grows(w):
    for i in range(5):
        w.vpod(f"v{i}", 1 + i)
    for i in range(5):
        equal(sum(w.placed(f"v{i}").values()), 1 + i)
    w.check_capacity()
    if w.api.get(f"{SETS}/pool")["spec"]["replicas"] < 4:
        fail("15 vreplicas need four pods of 4")
    w.consumers_agree()
    text = w.muster("describe", "vpod", "v4")
    contains(text, "Spread:", "█", next(iter(w.placed("v4"))))
    contains(w.muster("get", "vpods"), "SPREAD", "v4", "5/5")


@cases
def a_new_control_plane_moves_nothing(w):
    before = w.placements()
    uids = {name: p["metadata"]["uid"] for name, p in w.pods().items()}
    w.restart()
    w.vpod("after", 1)
    w.placed("after")
    now = w.placements()
    now.pop("after")
    equal(now, before, "placements")
    for name, p in w.pods().items():
        if name in uids:
            equal(p["metadata"]["uid"], uids[name], name)
            equal(p["status"]["containerStatuses"][0]["restartCount"], 0, f"restarts of {name}")
    w.consumers_agree()
    w.api.ok("DELETE", f"{VPODS}/after")


@cases
def a_lost_pod_comes_back_with_what_it_had(w):
    before = w.placements()
    name = next(iter(before["v4"]))
    uid = w.pods()[name]["metadata"]["uid"]
    w.api.ok("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
    w.api.wait_for(PODS, lambda p: p["metadata"]["name"] == name and p["metadata"]["uid"] != uid and
                   p["status"].get("phase") == "Running")
    equal(w.placements(), before, "placements")
    w.consumers_agree()


@cases
def a_cordoned_node_keeps_what_it_has_and_gets_nothing_new(w):
    before = w.placements()
    contains(w.muster("cordon", "a-0"), "node/a-0 cordoned")
    held = [name for name in w.pods() if w.node_of(name) == "a-0"]
    w.vpod("new", 4)
    taken = set(w.placed("new"))
    now = w.placements()
    now.pop("new")
    equal(now, before, "placements")
    equal(taken & set(held), set(), "new vreplicas on the cordoned node")
    contains(w.muster("drain", "a-0", "--timeout", "60s"), "node/a-0 drained")
    for name in held:
        w.api.wait_for(PODS, lambda p, name=name: p["metadata"]["name"] == name and
                       p["spec"].get("nodeName", "a-0") != "a-0" and
                       p["status"].get("phase") == "Running")
    now = w.placements()
    now.pop("new")
    equal(now, before, "placements after the drain")
    w.consumers_agree()
    contains(w.muster("uncordon", "a-0"), "node/a-0 uncordoned")
    w.api.ok("DELETE", f"{VPODS}/new")


@cases
def kubectl_drains_too(w):
    kubectl = Kubectl(w.folder / "k", w.server.kubeconfig, kubectl_path())
    out = kubectl("drain", "b-1", "--ignore-daemonsets", "--timeout=60s")
    contains(out, "node/b-1 drained")
    kubectl("uncordon", "b-1")
    equal([name for name in w.pods() if w.node_of(name) == "b-1"], [])


@cases
def without_room_pods_wait_and_what_is_placed_stays(w):
    w.scale("v0", 200)
    w.api.wait_for(PODS, lambda p: p["status"].get("phase") == "Pending" and
                   "nodeName" not in p["spec"])
    thing = w.api.wait_for(VPODS, lambda v: v["metadata"]["name"] == "v0" and
                           v["status"].get("pending", 0) > 0)
    condition = thing["status"]["conditions"][0]
    equal(condition["reason"], "NotEnoughPods")
    w.check_capacity()
    w.scale("v0", 1)
    equal(sum(w.placed("v0").values()), 1)


@cases
def an_idle_pool_is_compacted_and_shrinks(w):
    w.refresh("1s")
    wait_until(lambda: w.api.get(f"{SETS}/pool")["spec"]["replicas"] <= 6, "the pool shrinks")
    for name in ("v2", "v3"):
        w.api.ok("DELETE", f"{VPODS}/{name}")
    wait_until(lambda: w.api.get(f"{SETS}/pool")["spec"]["replicas"] <= 4, "it shrinks further")
    for i in (0, 1, 4):
        equal(sum(w.placed(f"v{i}").values()), 1 + i)
    w.check_capacity()
    w.refresh("1h")  # from here on nothing but losses moves anything
    w.consumers_agree()


def lose(w, names):
    before = w.placements()
    held = {name: p["metadata"]["uid"] for name, p in w.pods().items()
            if p["spec"].get("nodeName") in names}
    for name in names:
        w.cut(name, True)
    for name in names:
        wait_until(lambda name=name: w.is_lost(name), f"{name} is given up", SILENCE_S)
    for name, uid in held.items():
        w.api.wait_for(PODS, lambda p, name=name, uid=uid: p["metadata"]["name"] == name and
                       p["metadata"]["uid"] != uid and p["spec"].get("nodeName") not in names and
                       p["status"].get("phase") == "Running")
    equal(w.placements(), before, "placements")
    w.consumers_agree()
    w.vpod("during", 2)  # and goes where there is something
    for name in w.placed("during"):
        if w.node_of(name) in names:
            fail(f"{name} is on a lost node")
    for name in names:
        w.cut(name, False)
        wait_until(lambda name=name: not w.is_lost(name), f"{name} is back", SILENCE_S)
    w.api.ok("DELETE", f"{VPODS}/during")


@cases
def a_lost_node_keeps_its_placements_and_its_pods_come_back_elsewhere(w):
    lose(w, ["a-1"])


@cases
def a_lost_zone_too(w):
    lose(w, ["b-0", "b-1"])


if __name__ == "__main__":
    sys.exit(cases.main(world))

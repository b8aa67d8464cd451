# SPDX-License-Identifier: Apache-2.0
"""Objects that tests put into a server, and the server with kubectl that most of them share."""

import concurrent.futures
import contextlib
import itertools

from muster_test import Kubectl, Server, matches


def configmap(name, data=None, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta},
            "data": data or {"key": "value"}}


def pod(name, **meta):
    """Left alone by the server, so that it only changes by what the test does."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta},
            "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "busybox", "command": ["sleep", "9"]}]}}


def job(name, **meta):
    """Left alone likewise."""
    template = {"spec": {"restartPolicy": "Never",
                         "containers": [{"name": "main", "image": "busybox"}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **meta},
            "spec": {"parallelism": 2, "completions": 4, "suspend": True,
                     "managedBy": "test.dev/nobody", "template": template}}


def lease(name, **meta):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, **meta},
            "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 40}}


def node(name, **meta):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **meta},
            "status": {"capacity": {"cpu": "4", "memory": "8Gi"}}}


def namespace(name, **meta):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **meta}}


def event(name, about, reason="Tried", message="it was tried", **meta):
    """An Event about an object as the server gave it back."""
    where = {"apiVersion": about["apiVersion"], "kind": about["kind"],
             "name": about["metadata"]["name"], "uid": about["metadata"]["uid"]}
    if "namespace" in about["metadata"]:
        where["namespace"] = about["metadata"]["namespace"]
    at = "2024-01-02T03:04:05Z"
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, **meta},
            "involvedObject": where, "reason": reason, "message": message, "type": "Normal",
            "source": {"component": "test"}, "firstTimestamp": at, "lastTimestamp": at, "count": 1}


def owned_by(owner, blocking=True):
    """ownerReferences that name an object as the server gave it back."""
    return [{"apiVersion": owner["apiVersion"], "kind": owner["kind"],
             "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
             "blockOwnerDeletion": blocking, "controller": True}]


def path_of(obj, ns):
    """The collection that an object of this shape is posted to."""
    plural = obj["kind"].lower() + "s"
    root = "/api/v1" if obj["apiVersion"] == "v1" else "/apis/" + obj["apiVersion"]
    return f"{root}/{plural}" if ns is None else f"{root}/namespaces/{ns}/{plural}"


class World:
    """A running server, the API on its socket, and a kubectl that is its admin."""

    def __init__(self, folder, server):
        self.folder = folder
        self.server = server
        self.api = server.local()
        self.numbers = itertools.count(1)
        self.kubectl = None

    def new_namespace(self):
        """A namespace that no other case uses; kubectl is to be told with -n."""
        name = f"case-{next(self.numbers)}"
        self.api.ok("POST", "/api/v1/namespaces", namespace(name))
        return name

    def put(self, ns, *objects):
        """Creates objects over the API; gives them back as they are stored (one: itself)."""
        made = [self.api.ok("POST", path_of(obj, ns), obj) for obj in objects]
        return made[0] if len(made) == 1 else made

    def metric(self, name):
        """The value of a metric without labels."""
        return int(matches(self.api.call("GET", "/metrics").text, rf"^{name} (\d+)$")[1])

    def put_many(self, ns, objects, writers=16):
        """The same with many at a time, which the server then commits together."""
        def put(share):
            api = self.server.local()
            with contextlib.closing(api):
                return [api.ok("POST", path_of(obj, ns), obj) for obj in share]

        with concurrent.futures.ThreadPoolExecutor(writers) as pool:
            list(pool.map(put, [objects[i::writers] for i in range(writers)]))


@contextlib.contextmanager
def server_world(folder, *options, kubectl=False):
    server = Server(folder, *options).start()
    try:
        world = World(folder, server)
        if kubectl:
            world.kubectl = Kubectl(folder, server.kubeconfig)
        yield world
        world.api.close()
        server.stop()
    finally:
        server.end()

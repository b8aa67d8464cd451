# SPDX-License-Identifier: Apache-2.0
"""In what form one asks and is answered: Accept, options of writes, what Kubernetes has and we have not."""

import json
import sys

from muster_test import Cases, contains, equal, version_of
from objects import configmap, pod, server_world

META = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
MERGE = {"Content-Type": "application/merge-patch+json"}
cases = Cases()


def home(world):
    """A new namespace and the path of its config maps."""
    ns = world.new_namespace()
    return ns, f"/api/v1/namespaces/{ns}/configmaps"


def events_of(answer):
    return [json.loads(line) for line in answer.text.splitlines()]


# ---- Accept ----

@cases
def only_who_an_object_is(world):
    ns, path = home(world)
    made = world.put(ns, configmap("a", {"x": "1"}, labels={"app": "x"}))
    wanted = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": made["metadata"]}
    accept = {"Accept": f"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{META}"}
    equal(world.api.ok("GET", f"{path}/a", headers=accept), wanted, "get")
    listed = world.api.ok("GET", f"{path}?limit=5", headers={"Accept": META.replace("Metadata;", "MetadataList;")})
    equal((listed["kind"], listed["apiVersion"], listed["items"]),
          ("PartialObjectMetadataList", "meta.k8s.io/v1", [wanted]), "list")
    equal(version_of(listed) >= version_of(made), True, "version of the list")
    changed = world.api.ok("PATCH", f"{path}/a", {"data": {"x": "2"}}, {**MERGE, **accept})
    equal((changed["kind"], "data" in changed), ("PartialObjectMetadata", False), "patch")
    query = "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
    seen = events_of(world.api.call("GET", f"{path}?{query}", headers=accept))
    equal([(event["type"], event["object"]["kind"], event["object"]["apiVersion"]) for event in seen],
          [("ADDED", "PartialObjectMetadata", "meta.k8s.io/v1"), ("BOOKMARK", "PartialObjectMetadata", "meta.k8s.io/v1")],
          "watch")


@cases
def the_first_form_that_there_is(world):
    ns, path = home(world)
    world.put(ns, configmap("a"))
    for accept, kind in (("", "ConfigMap"), ("*/*", "ConfigMap"), ("application/*", "ConfigMap"),
                         ("application/json; charset=utf-8", "ConfigMap"), ("Application/JSON", "ConfigMap"),
                         ("application/yaml", "ConfigMap"), ("application/vnd.kubernetes.protobuf", "ConfigMap"),
                         ("text/html, application/xml;q=0.9, */*;q=0.8", "ConfigMap"),
                         ("application/json;as=Sculpture;v=v1;g=meta.k8s.io,application/json", "ConfigMap"),
                         ("application/json, application/json;as=Table;v=v1;g=meta.k8s.io", "ConfigMap"),
                         ("application/json;as=Table;v=v1;g=meta.k8s.io, application/json", "Table")):
        equal(world.api.ok("GET", f"{path}/a", headers={"Accept": accept})["kind"], kind, accept)
    for accept in ("text/html", "application/xml, text/plain", "application/json;as=Sculpture;v=v1;g=meta.k8s.io"):
        status = world.api.refused(406, "GET", path, headers={"Accept": accept})
        equal(status["reason"], "NotAcceptable", "reason")
        world.api.refused(406, "DELETE", f"{path}/a", headers={"Accept": accept})
    world.api.get(f"{path}/a")


@cases
def a_flag_is_set_unless_it_says_no(world):
    """As Kubernetes has it, and as `curl '...?watch'` and clients that write True rely on."""
    ns, path = home(world)
    world.put(ns, configmap("a"))
    for value, kind in (("watch", "ADDED"), ("watch=", "ADDED"), ("watch=True", "ADDED"), ("watch=1", "ADDED"),
                        ("watch=0", "ConfigMapList"), ("watch=False", "ConfigMapList")):
        got = events_of(world.api.call("GET", f"{path}?{value}&timeoutSeconds=1"))[0] if kind == "ADDED" \
            else world.api.get(f"{path}?{value}")
        equal(got.get("type", got.get("kind")), kind, value)


@cases
def what_leaves_a_selector_is_told_as_it_was(world):
    ns, path = home(world)
    made = world.put(ns, configmap("a", {"x": "1"}, labels={"app": "x"}))
    with world.api.watch(path, labelSelector="app=x", resourceVersion=version_of(made)) as events:
        changed = world.api.patch(f"{path}/a", {"metadata": {"labels": {"app": "y"}}, "data": {"x": "2"}})
        [event] = events.take(1)
    left = event["object"]
    equal((event["type"], left["metadata"]["labels"], left["data"]), ("DELETED", {"app": "x"}, {"x": "1"}), "as it was")
    equal(version_of(left), version_of(changed), "version of the change")


@cases
def what_is_empty_is_left_out(world):
    """Typed clients leave it out of what they send back: it would be a difference."""
    ns, path = home(world)
    world.put(ns, configmap("a", finalizers=["example.com/x"]))
    world.api.patch(f"{path}/a", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/x"]}},
                    kind="strategic-merge")
    left = world.api.get(f"{path}/a")
    equal("finalizers" in left["metadata"], False, "finalizers")
    same = world.api.ok("PUT", f"{path}/a", left)
    equal(version_of(same), version_of(left), "written back")


# ---- options ----

@cases
def options_that_nobody_knows(world):
    """Passed over, a misspelt dry run would be a deletion."""
    ns, path = home(world)
    made = world.put(ns, configmap("a"))
    for query, body, words in (
            ("dryRun=Some", None, 'dryRun: Unsupported value: "Some": supported values: "All"'),
            ("propagationPolicy=Sideways", None, 'propagationPolicy: Unsupported value: "Sideways"'),
            ("orphanDependents=true&propagationPolicy=Orphan", None, "cannot both be set"),
            ("", {"dryRun": "All"}, "dryRun: Invalid value"), ("", {"dryRun": ["Some"]}, "dryRun[0]: Unsupported value"),
            ("", {"preconditions": {"uid": 5}}, "preconditions.uid: Invalid value"),
            ("", {"preconditions": []}, "preconditions: Invalid value"),
            ("", {"gracePeriodSeconds": "5"}, "gracePeriodSeconds: Invalid value"),
            ("", {"propagationPolicy": 5}, "propagationPolicy: Invalid value"),
            ("", {"orphanDependents": "true"}, "orphanDependents: Invalid value")):
        for where in (f"{path}/a", path):
            status = world.api.refused(422, "DELETE", f"{where}?{query}", body)
            contains(status["message"], 'DeleteOptions.meta.k8s.io "" is invalid: ', words)
    message = world.api.refused(400, "DELETE", f"{path}/a?gracePeriodSeconds=soon")["message"]
    contains(message, 'gracePeriodSeconds must be a whole number, not "soon"')
    equal(world.api.get(f"{path}/a"), made, "still there")
    for method, where, options, headers in (("POST", path, "CreateOptions", {}), ("PUT", f"{path}/a", "UpdateOptions", {}),
                                            ("PATCH", f"{path}/a", "PatchOptions", MERGE)):
        for query in ("dryRun=Some", "fieldValidation=Maybe"):
            status = world.api.refused(422, method, f"{where}?{query}", configmap("a"), headers)
            contains(status["message"], f'{options}.meta.k8s.io "" is invalid: {query.split("=")[0]}: Unsupported value')


@cases
def less_than_no_time_is_one_second(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/pods/p"
    world.put(ns, pod("p"))
    world.api.ok("POST", f"{path}/binding", {"metadata": {"name": "p"}, "target": {"name": "n1"}})
    marked = world.api.ok("DELETE", f"{path}?gracePeriodSeconds=-5")
    equal(marked["metadata"]["deletionGracePeriodSeconds"], 1, "grace")


# ---- what is not there ----

@cases
def what_a_process_has_not(world):
    ns = world.new_namespace()
    world.put(ns, pod("p"))
    world.api.patch(f"/api/v1/namespaces/{ns}/pods/p/status", {"status": {"phase": "Running"}})
    for words in (("exec", "p", "--", "ls"), ("attach", "p"), ("port-forward", "p", "8080:80"), ("cp", "p:/x", "x")):
        contains(world.kubectl.refused("-n", ns, *words), "is not supported: pods here are plain processes")
    contains(world.kubectl.refused("debug", "p", "--image=x", "-n", ns), "ephemeral containers are disabled")


@cases
def each_404_has_details(world):
    ns, path = home(world)
    for where in ("/api/v1/unicorns", "/apis/none/v1/things", "/nothing", f"{path}/a/b/c/d"):
        equal("details" in world.api.refused(404, "GET", where), True, where)


@cases
def what_one_may_do(world):
    view = {"KUBECONFIG": str(world.server.data / "view.kubeconfig")}
    equal(world.kubectl("auth", "can-i", "create", "pods"), "yes\n", "admin")
    contains(world.kubectl("auth", "can-i", "--list"), "*.*", "[*]")
    contains(world.kubectl("auth", "whoami"), "admin", "muster:admin")
    equal(world.kubectl("auth", "can-i", "list", "pods", env=view), "yes\n", "view")
    equal(world.kubectl.run("auth", "can-i", "create", "pods", env=view, code=1).stdout, "no\n", "view")


# ---- scale ----

@cases
def a_scale_as_a_table_and_from_a_mistake(world):
    ns = world.new_namespace()
    made = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
            "spec": {"replicas": 2, "serviceName": "s", "selector": {"matchLabels": {"a": "b"}},
                     "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}}
    world.put(ns, made)
    shown = world.kubectl("get", "sts/s", "--subresource=scale", "-n", ns).split()
    equal(shown[:6], ["NAME", "DESIRED", "AVAILABLE", "AGE", "s", "2"], "table")
    path = f"/apis/apps/v1/namespaces/{ns}/statefulsets/s/scale"
    for bad in ({"spec": []}, {"spec": {"replicas": "1"}}, {"spec": {"replicas": -1}}):
        contains(world.api.refused(422, "PUT", path, bad)["message"], 'Scale.autoscaling "s" is invalid: spec')
    world.api.refused(400, "PUT", path, {"kind": "Job", "spec": {"replicas": 1}})
    equal(world.api.get(path)["spec"]["replicas"], 2, "as it was")


if __name__ == "__main__":
    sys.exit(cases.main(lambda folder: server_world(folder, kubectl=True)))

# SPDX-License-Identifier: Apache-2.0
"""Objects that nobody in his right mind would send: nested without end, with a hundred thousand
containers, with names that are paths. Each is refused with a reason, or works; the server and the
command line go on, and nothing is written where it does not belong."""

import contextlib
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

from muster_test import LIMIT_S, Cases, Server, contains, equal, fail, matches, muster_path
from objects import World, configmap, job, lease, namespace, node, pod
from test_roles import resources

cases = Cases()
DEEP = 100000
YAML = {"Content-Type": "application/yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}


def muster(world, verb, path):
    """A verb of the command line on a file; it may neither crash nor go on for ever."""
    where = [] if verb == "validate" else ["--data", str(world.server.data), "-f"]
    done = subprocess.run([muster_path(), verb, *where, str(path)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, errors="replace")
    equal(done.returncode in (0, 1), True, f"{verb} {path}: exit code {done.returncode}: {done.stderr[-500:]}")
    equal(len(done.stderr) < 20000, True, f"{verb}: a message of {len(done.stderr)} characters")
    return done


# ---- nested without end ----

def deep_texts():
    """(name, text, is it JSON)"""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deep}\nodd: "
    yield "flow lists", head + "[" * DEEP + "]" * DEEP, False
    yield "flow maps", head + "{a: " * DEEP + "b" + "}" * DEEP, False
    yield "block lists", head + "\n" + "- " * DEEP + "x\n", False
    yield "block maps", head + "\n" + "".join(" " * i + "a:\n" for i in range(1, 2000)), False
    yield "complex keys", head + "\n" + "? " * DEEP + "x\n", False
    yield "unclosed", head + "[" * DEEP, False
    yield "anchors", head + "".join(f"&a{i} [" for i in range(DEEP)) + "]" * DEEP, False
    laughs = "\n".join([f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)])
    yield "laughs", head + "\n  a0: &a0 [ha]\n" + laughs + "\n", False
    yield "itself", head + "&a [*a]\n", False
    quoted = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"odd":'
    yield "JSON lists", quoted + "[" * DEEP + "]" * DEEP + "}", True
    yield "JSON maps", quoted + '{"a":' * DEEP + "1" + "}" * DEEP + "}", True
    yield "JSON unclosed", quoted + '[{"a":' * DEEP, True


@cases
def nested_without_end(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    for name, text, is_json in deep_texts():
        status = world.api.refused(400, "POST", path, text, None if is_json else YAML)
        equal(len(status["message"]) < 1000, True, f"{name}: a short message")
        file = world.folder / ("deep.json" if is_json else "deep.yaml")
        file.write_text(text)
        for verb in ("validate", "apply"):
            done = muster(world, verb, file)
            equal(done.returncode, 1, f"{verb} of {name}")
            matches(done.stderr, r"deep\.(json|yaml)|^error: ")
    equal(world.api.get(path)["items"], [], "stored")


@cases
def patches_nested_without_end(world):
    ns = world.new_namespace()
    world.put(ns, configmap("a"))
    path = f"/api/v1/namespaces/{ns}/configmaps/a"
    deep = '{"data":' + '{"a":' * DEEP + "1" + "}" * DEEP + "}"
    world.api.refused(400, "PATCH", path, deep, MERGE)
    world.api.refused(400, "PATCH", path, deep, {"Content-Type": "application/strategic-merge-patch+json"})
    json_patch = {"Content-Type": "application/json-patch+json"}
    pointer = json.dumps([{"op": "add", "path": "/a" * DEEP, "value": 1}])
    world.api.refused(422, "PATCH", path, pointer, json_patch)
    # One step that doubles what is there: sixty of them are more than there is memory.
    double = [{"op": "add", "path": "/data", "value": {"k": "x" * 1000}}]
    double += [{"op": "copy", "from": "/data", "path": f"/data/d{i}"} for i in range(60)]
    answer = world.api.call("PATCH", path, json.dumps(double), json_patch)
    equal(400 <= answer.status < 500, True, f"doubling: {answer.status} {answer.text[:200]}")
    equal(world.api.get(path)["data"], {"key": "value"}, "stored")


@cases
def selectors_without_end(world):
    path = "/api/v1/namespaces/default/configmaps"
    for text in ("a in (" + ",".join("b" * 20 for _ in range(1000)) + ")", "(" * 5000, "a=b," * 2000 + "a=b",
                 "!" * 5000, "a" * 20000, ",".join(f"k{i}!=v" for i in range(2000)), "a in (" * 1000, "\0", "a\0=b"):
        answer = world.api.call("GET", f"{path}?labelSelector={urllib.parse.quote(text)}")
        equal(answer.status in (200, 400, 431), True, f"{text[:20]}: {answer.status}")
        answer = world.api.call("GET", f"{path}?fieldSelector={urllib.parse.quote(text)}")
        equal(answer.status in (200, 400, 431), True, f"{text[:20]}: {answer.status}")


# ---- very many of something ----

@cases
def a_hundred_thousand_containers(world):
    ns = world.new_namespace()
    text = ("apiVersion: v1\nkind: Pod\nmetadata: {name: many}\nspec:\n  containers:\n" +
            "".join(f"  - {{name: c{i}, image: a}}\n" for i in range(100000)))
    file = world.folder / "many.yaml"
    file.write_text(text)
    status = world.api.refused(422, "POST", f"/api/v1/namespaces/{ns}/pods", text, YAML)
    contains(status["message"], "spec.containers", "no more than 1000 items")
    equal(len(status["message"]) < 1000, True, "a short message")
    for verb in ("validate", "apply"):
        done = muster(world, verb, file)
        equal(done.returncode, 1, f"{verb}: {done.stdout[:300]}")
        contains(done.stderr, "spec.containers", "no more than 1000 items")
    body = job("many")
    body["spec"]["template"]["spec"]["containers"] = [{"name": f"c{i}"} for i in range(2000)]
    contains(world.api.refused(422, "POST", f"/apis/batch/v1/namespaces/{ns}/jobs", body)["message"],
             "no more than 1000 items")


@cases
def very_many_of_other_things(world):
    """Lists that a table does not bound: they work or are refused, and the server goes on."""
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/pods"

    def with_spec(name, **spec):
        thing = pod(name)
        thing["spec"].update(spec)
        return thing

    env = pod("env")
    env["spec"]["containers"][0]["env"] = [{"name": f"E{i}", "value": f"$(E{i - 1})$(E{i - 1})"}
                                           for i in range(20000)]
    things = [
        with_spec("volumes", volumes=[{"name": f"v{i}", "emptyDir": {}} for i in range(20000)]),
        with_spec("tolerations", tolerations=[{"key": f"k{i}", "operator": "Exists"} for i in range(20000)]),
        pod("owners", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": f"p{i}", "uid": f"u{i}"}
                                       for i in range(20000)]),
        pod("labels", labels={f"l{i}": "v" for i in range(50000)}),
        pod("finalizers", finalizers=[f"a.b/f{i}" for i in range(50000)]),
        pod("managed", managedFields=[{"manager": f"m{i}"} for i in range(20000)]), env]
    for thing in things:
        answer = world.api.call("POST", path, thing)
        equal(answer.status in (201, 413, 422), True, f"{thing['metadata']['name']}: {answer.status}")
        world.api.get("/version")
    chain = pod("chain")
    chain["spec"]["containers"] = [{"name": f"c{i}", "command": ["true"],
                                    "dependsOn": [f"c{j}" for j in range(i)][-20:]} for i in range(1000)]
    equal(world.api.call("POST", path, chain).status, 201, "a chain of a thousand")
    chain["metadata"]["name"] = "cycle"
    chain["spec"]["containers"][0]["dependsOn"] = ["c999"]
    status = world.api.refused(422, "POST", path, chain)
    contains(status["message"], "cycle")


# ---- names ----

NAMES = ["", ".", "..", "../x", "a/b", "/etc/passwd", "a/../../b", "a\0b", "\0", "a\nb", "a\rb", "a\tb", "\x7f",
         "\x1b[31m", "A", "a_b", "-a", "a-", "a..b", ".a", "a.", "a b", " a", "a ", "x" * 254, "x" * 5000,
         "ü", "名前", "a\u202eb", "\ufeffa", "e\u0301", "a%2fb", "%2e%2e", "%00", "a?b", "a#b", "a&b=c",
         "*", "~", "$(x)", "`x`", "a;b", "a'b", 'a"b', "a\\b", "<a>", "{a}", "[a]", "\U0001f600"]


def bodies():
    """One valid object of each kind that the server keeps; its name is to be replaced."""
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    yield "configmaps", configmap("x")
    yield "pods", pod("x")
    yield "jobs", job("x")
    yield "leases", lease("x")
    yield "nodes", node("x")
    yield "namespaces", namespace("x")
    yield "resourceflavors", {**kueue, "kind": "ResourceFlavor", "metadata": {"name": "x"}}
    yield "clusterqueues", {**kueue, "kind": "ClusterQueue", "metadata": {"name": "x"},
                            "spec": {"namespaceSelector": {}}}
    yield "localqueues", {**kueue, "kind": "LocalQueue", "metadata": {"name": "x"},
                          "spec": {"clusterQueue": "q"}}


def is_subdomain(name):
    label = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    return len(name) <= 253 and re.fullmatch(rf"{label}(\.{label})*", name)


@cases
def odd_names_in_addresses(world):
    """Every kind, every sub-resource, every verb: a refusal, never a success and never a failure."""
    tried = 0
    for root, one in resources(world.api):
        plural, _, sub = one["name"].partition("/")
        for name in NAMES:
            quoted = urllib.parse.quote(name, safe="")
            for space in ((f"/namespaces/default/{plural}/{quoted}", f"/namespaces/{quoted}/{plural}/x")
                          if one["namespaced"] else (f"/{plural}/{quoted}",)):
                where = root + space + (f"/{sub}" if sub else "")
                if name == "" or (sub == "" and where.endswith("/")):
                    continue  # these are addresses of collections
                for method in ("GET", "PUT", "PATCH", "DELETE"):
                    body = "{}" if method in ("PUT", "PATCH") else None
                    answer = world.api.call(method, where, body, MERGE if method == "PATCH" else None)
                    if not 400 <= answer.status < 500:
                        fail(f"{method} {where}: {answer.status} {answer.text[:200]}")
                    tried += 1
    equal(tried > 5000, True, f"tried {tried}")


@cases
def odd_names_in_addresses_as_they_are(world):
    """Not percent-encoded: no client does it, and no path is ever walked."""
    for raw in ("/api/v1/../../etc/passwd", "/api/v1/namespaces/default/configmaps/..",
                "/api/v1/namespaces/default/configmaps/../../kube-system/configmaps", "/./api",
                "/api/v1/namespaces/default/configmaps/%2e%2e/%2e%2e", "/api/v1/namespaces/%zz", "/%",
                "/api/v1/namespaces/default/configmaps/%c0%ae%c0%ae", "/openapi/v3/../../token.key",
                "/openapi/v3/%2e%2e/%2e%2e/token.key", "/api/v1/namespaces/default/pods/%2e%2e/log",
                "/api/v1/namespaces/default/pods/x/log?container=../../../token.key"):
        answer = world.api.call("GET", raw)
        equal(400 <= answer.status < 500, True, f"{raw}: {answer.status}")


@cases
def odd_names_in_bodies(world):
    ns = world.new_namespace()
    found = {one["name"]: (root, one) for root, one in resources(world.api)}
    for plural, thing in bodies():
        root, one = found[plural]
        path = f"{root}/namespaces/{ns}/{plural}" if one["namespaced"] else f"{root}/{plural}"
        for name in NAMES:
            thing["metadata"] = {"name": name}
            answer = world.api.call("POST", path, thing)
            if answer.status not in (400, 422):
                fail(f"{plural} {name!r}: {answer.status} {answer.text[:200]}")
            thing["metadata"] = {"generateName": name}
            answer = world.api.call("POST", path, thing)
            if answer.status not in (400, 422) and not is_subdomain(answer.json()["metadata"]["name"]):
                fail(f"{plural} generateName {name!r}: {answer.status} {answer.text[:200]}")
        equal([item["metadata"]["name"] for item in world.api.get(path)["items"] if
               item["metadata"]["name"] in NAMES], [], plural)


@cases
def odd_names_inside_of_objects(world):
    """Names that become files, folders, groups or environment when the pod is run."""
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/pods"
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    for name in NAMES:
        thing = pod("p")
        thing["spec"]["containers"][0]["name"] = name
        answer = world.api.call("POST", path, thing)
        equal(answer.status, 422, f"container {name!r}")
        thing = pod("p")
        thing["spec"]["volumes"] = [{"name": name, "emptyDir": {}}]
        equal(world.api.call("POST", path, thing).status, 422, f"volume {name!r}")
        if "/" in name or "\0" in name or name in ("", ".", ".."):
            equal(world.api.call("POST", maps, configmap("m", {name: "x"})).status, 422, f"key {name!r}")
    equal(world.api.get(path)["items"], [], "pods")


@contextlib.contextmanager
def node_in(folder):
    server = Server(folder, node=True).start()
    try:
        api = server.local()
        yield server, api
        api.close()
        server.stop()
    finally:
        server.end()


def with_paths(bad):
    """Volumes whose files, or the part of which that is shown, would be elsewhere."""
    yield [{"name": "v", "configMap": {"name": "m", "items": [{"key": "key", "path": bad}]}}], {}
    yield [{"name": "v", "downwardAPI": {"items": [
        {"path": bad, "fieldRef": {"fieldPath": "metadata.name"}}]}}], {}
    yield [{"name": "v", "emptyDir": {}}], {"subPath": bad}


@cases
def paths_that_lead_out_of_a_volume(world):
    """No file is made elsewhere, whichever door it is tried through."""
    with node_in(world.folder / "paths") as (server, api):
        api.ok("POST", "/api/v1/namespaces/default/configmaps", configmap("m"))
        number, path = 0, "/api/v1/namespaces/default/pods"
        for bad in ("../escaped", "a/../../escaped", str(world.folder / "paths/escaped"), "..", "a/.."):
            for volumes, mount in with_paths(bad):
                number += 1
                thing = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": {
                    "restartPolicy": "Never", "volumes": volumes, "containers": [
                        {"name": "c", "command": ["sh", "-c", "touch m/escaped"], "volumeMounts": [
                            {"name": "v", "mountPath": "/m", **mount}]}]}}
                if api.call("POST", path, thing).status != 201:
                    continue  # refused before it was tried
                api.wait_for(path, lambda p: p["metadata"]["name"] == f"p{number}" and (
                    p.get("status", {}).get("phase") in ("Failed", "Succeeded") or
                    "waiting" in str(p.get("status", {}).get("containerStatuses"))))
        found = [str(one) for one in (world.folder / "paths").rglob("*escaped*")
                 if "/node/pods/" not in str(one)]
        equal(found, [], "files elsewhere")


@cases
def names_that_are_just_short_enough(world):
    """The longest names there may be, of things that make others with names of their own."""
    with node_in(world.folder / "long") as (_, api):
        name = "l" * 63
        api.ok("POST", "/api/v1/namespaces", namespace(name))
        pods = f"/api/v1/namespaces/{name}/pods"
        long = ".".join(["l" * 63] * 3 + ["l" * 61])
        thing = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": long},
                 "spec": {"containers": [{"name": name, "command": ["sh", "-c", "echo said; exec sleep 1000"]}],
                          "terminationGracePeriodSeconds": 1}}
        api.ok("POST", pods, thing)
        shown = api.wait_for(pods, lambda p: p.get("status", {}).get("phase") in ("Running", "Failed"))
        equal(shown["status"]["phase"], "Running", str(shown["status"])[:500])
        template = {"spec": {"containers": [{"name": "c", "command": ["true"]}], "restartPolicy": "Never"}}
        api.call("POST", f"/apis/batch/v1/namespaces/{name}/jobs",
                 {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": long},
                  "spec": {"template": template}})
        api.call("POST", f"/apis/apps/v1/namespaces/{name}/statefulsets",
                 {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": long},
                  "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "serviceName": "x",
                           "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                               "containers": [{"name": "c", "command": ["sleep", "1000"]}]}}}})
        api.ok("DELETE", f"{pods}/{long}?gracePeriodSeconds=0")
        api.wait_gone(pods, long)


@contextlib.contextmanager
def odd_world(folder):
    server = Server(folder).start()
    try:
        yield World(pathlib.Path(folder), server)
        server.stop()
    finally:
        server.end()


if __name__ == "__main__":
    sys.exit(cases.main(odd_world))

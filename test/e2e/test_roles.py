# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every role against every verb, and what nodes and agents may change."""

import contextlib
import json
import subprocess
import sys

from muster_test import Cases, contains, equal, fail
from objects import configmap, lease, node, pod, server_world

cases = Cases()
EPOCH = "jobset.sigs.k8s.io/epoch"
ATTEMPT = "jobset.sigs.k8s.io/in-place-restart-attempt"
MERGE = {"Content-Type": "application/merge-patch+json"}


def token(world, *options):
    made = subprocess.run([world.server.program, "token", "create", "--data", str(world.server.data),
                           *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal(made.returncode, 0, f"exit code of token create ({made.stderr})")
    return made.stdout.strip()


@contextlib.contextmanager
def as_role(world, *options):
    with contextlib.closing(world.server.remote(token(world, *options))) as api:
        yield api


def annotate(value, name=EPOCH):
    return json.dumps({"metadata": {"annotations": {name: value}}})


@cases
def anonymous_and_forged_tokens_get_401(world):
    good = token(world, "--role", "view")
    head, claims, mac = good.split(".")
    forged = [head + "." + claims[:-2] + "AA." + mac, head + "." + claims + "." + mac[:-2] + "AA",
              good[:-1], good + "A", "m1..", "m1", ".", "x" * 4000]
    for text in ["", *forged]:
        with contextlib.closing(world.server.remote(text)) as api:
            for path in ("/api/v1/pods", "/apis", "/openapi/v3", "/metrics", "/version"):
                api.refused(401, "GET", path)
            equal(api.call("GET", "/healthz").status, 200, "health of anybody")


@cases
def an_expired_token_gets_401(world):
    with as_role(world, "--role", "view", "--ttl", "1ms") as api:
        api.refused(401, "GET", "/api/v1/pods")


@cases
def view_reads_everything_and_changes_nothing(world):
    ns = world.new_namespace()
    base = f"/api/v1/namespaces/{ns}/configmaps"
    world.api.ok("POST", base, configmap("a", namespace=ns))
    with as_role(world, "--role", "view", "--name", "eyes") as api:
        api.get(base)
        api.get(base + "/a")
        with api.watch(base) as events:
            equal(events.next()["type"], "ADDED", "first event")
        said = api.refused(403, "POST", base, configmap("b", namespace=ns))
        contains(said["message"], 'User "eyes" cannot create resource "configmaps"', ns)
        api.refused(403, "PUT", base + "/a", configmap("a", namespace=ns))
        api.refused(403, "PATCH", base + "/a", annotate("1"), MERGE)
        api.refused(403, "DELETE", base + "/a")
        api.refused(403, "DELETE", base)


@cases
def a_node_sees_and_reports_only_what_is_its_own(world):
    ns = world.new_namespace()
    pods = f"/api/v1/namespaces/{ns}/pods"
    for name, place in (("mine", "n1"), ("other", "n2"), ("free", None)):
        body = pod(name, namespace=ns)
        if place:
            body["spec"]["nodeName"] = place
        world.api.ok("POST", pods, body)
    status = json.dumps({"status": {"phase": "Running"}})
    with as_role(world, "--role", "node", "--name", "n1") as api:
        api.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")
        for path in ("/api/v1/pods", pods, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2",
                     "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1", pods + "/other",
                     pods + "/free", "/api/v1/nodes", "/api/v1/namespaces",
                     "/api/v1/configmaps", "/apis/batch/v1/jobs"):
            api.refused(403, "GET", path)
        api.get(pods + "/mine")
        api.ok("PATCH", pods + "/mine/status", status, MERGE)
        api.refused(403, "PATCH", pods + "/other/status", status, MERGE)
        api.refused(403, "PATCH", pods + "/mine", annotate("1"), MERGE)
        api.refused(403, "POST", pods, pod("new", namespace=ns))
        api.refused(403, "DELETE", pods + "/other")
        api.ok("DELETE", pods + "/mine?gracePeriodSeconds=0")


@cases
def a_node_registers_and_beats_under_its_own_name(world):
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    with as_role(world, "--role", "node", "--name", "n7") as api:
        api.ok("POST", "/api/v1/nodes", node("n7"))
        api.refused(403, "POST", "/api/v1/nodes", node("n8"))
        api.get("/api/v1/nodes/n7")
        api.ok("PATCH", "/api/v1/nodes/n7/status", json.dumps({"status": {"phase": "Running"}}), MERGE)
        api.refused(403, "DELETE", "/api/v1/nodes/n7")
        api.ok("POST", leases, lease("n7", namespace="kube-node-lease"))
        api.refused(403, "POST", leases, lease("n8", namespace="kube-node-lease"))
        api.refused(403, "GET", leases)
        api.get("/apis/muster.dev/v1alpha1/nodeconfigs")
        api.refused(403, "POST", "/apis/muster.dev/v1alpha1/nodeconfigs", node("n7"))


@cases
def a_node_reads_settings_only_where_it_runs_a_pod(world):
    ns = world.new_namespace()
    world.api.ok("POST", f"/api/v1/namespaces/{ns}/configmaps", configmap("c", namespace=ns))
    with as_role(world, "--role", "node", "--name", "n3") as api:
        api.refused(403, "GET", f"/api/v1/namespaces/{ns}/configmaps/c")
        body = pod("p", namespace=ns)
        body["spec"]["nodeName"] = "n3"
        world.api.ok("POST", f"/api/v1/namespaces/{ns}/pods", body)
        api.get(f"/api/v1/namespaces/{ns}/configmaps/c")
        api.refused(403, "GET", f"/api/v1/namespaces/{ns}/configmaps")


@cases
def an_agent_changes_two_annotations_of_its_own_pod(world):
    ns = world.new_namespace()
    pods = f"/api/v1/namespaces/{ns}/pods"
    for name in ("w-0", "w-1"):
        world.api.ok("POST", pods, pod(name, namespace=ns))
    with as_role(world, "--role", "agent", "--namespace", ns, "--jobset", "w", "--pod", "w-0") as api:
        api.ok("PATCH", pods + "/w-0", annotate("1"), MERGE)
        api.ok("PATCH", pods + "/w-0", annotate("2"),
               {"Content-Type": "application/strategic-merge-patch+json"})
        equal(api.get(pods + "/w-0")["metadata"]["annotations"][EPOCH], "2", "epoch")
        for body in (annotate("1", "other"), annotate("x", "a" + EPOCH),
                     json.dumps({"metadata": {"annotations": {EPOCH: "3", "other": "1"}}}),
                     json.dumps({"metadata": {"labels": {"a": "b"}}}),
                     json.dumps({"metadata": {"finalizers": ["example.com/stay"]}}),
                     json.dumps({"spec": {"activeDeadlineSeconds": 5}})):
            why = api.refused(403, "PATCH", pods + "/w-0", body, MERGE)["message"]
            contains(why, "may only change", EPOCH, ATTEMPT)
        equal(api.get(pods + "/w-0")["metadata"]["annotations"], {EPOCH: "2"}, "annotations")
        api.ok("PATCH", pods + "/w-0", annotate("1", ATTEMPT), MERGE)
        equal(api.get(pods + "/w-0")["metadata"]["annotations"], {EPOCH: "2", ATTEMPT: "1"}, "both")
        for method, path, body in (
                ("PATCH", pods + "/w-1", annotate("1")), ("GET", pods + "/w-1", None),
                ("GET", pods, None), ("DELETE", pods + "/w-0", None), ("DELETE", pods, None),
                ("PUT", pods + "/w-0", pod("w-0", namespace=ns)),
                ("PATCH", pods + "/w-0/status", json.dumps({"status": {"phase": "Failed"}})),
                ("POST", pods, pod("w-2", namespace=ns)),
                ("POST", pods + "/w-0/binding", {"target": {"name": "n"}}),
                ("GET", f"/api/v1/namespaces/{ns}/configmaps", None), ("GET", "/api/v1/nodes", None),
                ("PATCH", "/api/v1/namespaces/default/pods/w-0", annotate("1"))):
            api.refused(403, method, path, body, MERGE if method == "PATCH" else None)


@cases
def an_agent_reads_its_own_jobset(world):
    ns = world.new_namespace()
    sets = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{ns}/jobsets"
    for name in ("w", "x"):
        world.api.ok("POST", sets, {"metadata": {"name": name}})
    status = json.dumps({"status": {"syncedEpoch": 1}})
    with as_role(world, "--role", "agent", "--namespace", ns, "--jobset", "w", "--pod", "w-0") as api:
        equal(api.get(sets + "/w")["status"]["syncedEpoch"], 0, "epoch")
        equal(len(api.get(sets + "?fieldSelector=metadata.name%3Dw")["items"]), 1, "listed")
        for method, path, body in (
                ("GET", sets + "/x", None), ("GET", sets, None), ("DELETE", sets + "/w", None),
                ("PATCH", sets + "/w", status), ("PATCH", sets + "/w/status", status)):
            api.refused(403, method, path, body, MERGE if method == "PATCH" else None)


@cases
def everybody_may_ask_what_he_may_do(world):
    ns = world.new_namespace()
    world.api.ok("POST", f"/api/v1/namespaces/{ns}/pods", pod("w-0"))
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    def answer(api, verb, resource, name="", sub="", group=""):
        wish = {"verb": verb, "group": group, "resource": resource, "subresource": sub, "name": name, "namespace": ns}
        made = api.ok("POST", review, {"spec": {"resourceAttributes": wish}})
        equal((made["kind"], made["apiVersion"]), ("SelfSubjectAccessReview", "authorization.k8s.io/v1"), "type")
        return made["status"]["allowed"]

    asked = (("get", "pods", "w-0"), ("patch", "pods", "w-0"), ("delete", "pods", "w-0"), ("get", "pods", "w-1"),
             ("list", "pods"), ("get", "nodes", "n1"), ("get", "nodes", "n2"), ("create", "events"),
             ("get", "jobsets", "w", "", "jobset.x-k8s.io"), ("get", "*"), ("*", "*"), ("fly", "pods"))
    for role, extra, wanted in (
            ("admin", (), "yyyyyyyyyyyy"), ("view", (), "ynnyyyynyynn"), ("node", ("--name", "n1"), "nnnnnynynnnn"),
            ("agent", ("--namespace", ns, "--jobset", "w", "--pod", "w-0"), "yynnnnnnynnn")):
        with as_role(world, "--role", role, *extra) as api:
            equal("".join("y" if answer(api, *one) else "n" for one in asked), wanted, role)
            who = api.ok("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})["status"]["userInfo"]
            equal(who["groups"], [f"muster:{role}", "system:authenticated"], "groups")
            may_measure = role in ("admin", "view")
            wish = {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
            equal(api.ok("POST", review, {"spec": wish})["status"]["allowed"], may_measure, "may read figures")
            equal(api.call("GET", "/metrics").status, 200 if may_measure else 403, "reads figures")
            rules = api.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": ns}})
            equal(rules["status"]["incomplete"], role in ("node", "agent"), "rules")
    for bad in ({}, {"spec": {}}, {"spec": 5}, {"spec": {"resourceAttributes": {"verb": 5}}}):
        world.api.refused(422, "POST", review, bad)
    world.api.refused(405, "GET", review)


@cases
def nobody_acts_as_somebody_else(world):
    for who in ("somebody", "admin", ""):
        status = world.api.refused(403, "GET", "/api/v1/namespaces", None, {"Impersonate-User": who})
        contains(status["message"], "cannot impersonate", "muster token create")


def resources(api):
    """Everything that discovery tells of: (path of the group version, entry)."""
    found = [("/api/v1", one) for one in api.get("/api/v1")["resources"]]
    for group in api.get("/apis")["groups"]:
        for version in group["versions"]:
            path = "/apis/" + version["groupVersion"]
            found += [(path, one) for one in api.get(path)["resources"]]
    return found


def addresses(root, one, ns):
    """The collection and one object of a resource; a sub-resource has only the latter."""
    plural, _, sub = one["name"].partition("/")
    spaces = [f"/namespaces/{ns}", "/namespaces/default"] if one["namespaced"] else [""]
    for space in spaces:
        for name in ("w-0", "w-1", "w", "x"):
            yield f"{root}{space}/{plural}/{name}" + (f"/{sub}" if sub else ""), plural, sub, name, space
        if not sub:
            yield f"{root}{space}/{plural}", plural, sub, None, space


def may(method, plural, sub, name, own):
    """What the proposal's role and admission policy leave to an agent, for its own namespace."""
    if not own or sub:
        return False
    if plural == "jobsets":
        return method == "GET" and name == "w"
    return plural == "pods" and method in ("GET", "PATCH") and name == "w-0"


@cases
def an_agent_may_do_nothing_else_with_any_kind(world):
    ns = world.new_namespace()
    for name in ("w-0", "w-1"):
        world.api.ok("POST", f"/api/v1/namespaces/{ns}/pods", pod(name, namespace=ns))
    sets = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{ns}/jobsets"
    for name in ("w", "x"):
        world.api.ok("POST", sets, {"metadata": {"name": name}})
    tried = 0
    with as_role(world, "--role", "agent", "--namespace", ns, "--jobset", "w", "--pod", "w-0") as api:
        for root, one in resources(world.api):
            for path, plural, sub, name, space in addresses(root, one, ns):
                for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                    if may(method, plural, sub, name, space.endswith(ns)):
                        continue
                    if (method == "POST") == (name is not None and not sub):
                        continue  # objects are not posted to, collections are neither put nor patched
                    body = None if method in ("GET", "DELETE") else "{}"
                    answer = api.call(method, path, body, MERGE if method == "PATCH" else None)
                    if answer.status not in (403, 405):
                        fail(f"{method} {path}: {answer.status} {answer.text[:200]}")
                    tried += answer.status == 403
        if tried < 500:
            fail(f"only {tried} refusals: does discovery tell of everything?")
    equal(len(world.api.get(f"/api/v1/namespaces/{ns}/pods")["items"]), 2, "pods")


@cases
def an_agent_may_not_change_any_other_field_of_its_pod(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/pods/w-0"
    body = pod("w-0", namespace=ns, labels={"a": "b"}, annotations={"keep": "this"})
    before = world.api.ok("POST", f"/api/v1/namespaces/{ns}/pods", body)
    changes = [{"metadata": {"labels": {"a": None}}}, {"metadata": {"labels": {"c": "d"}}},
               {"metadata": {"annotations": None}}, {"metadata": {"annotations": {"keep": None}}},
               {"metadata": {"annotations": {"keep": "that", EPOCH: "1"}}},
               {"metadata": {"finalizers": ["a.b/c"]}},
               {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n",
                                                  "uid": "u"}]}},
               {"spec": {"activeDeadlineSeconds": 1}}, {"spec": {"nodeName": "n"}},
               {"spec": {"tolerations": [{"operator": "Exists"}]}},
               {"spec": {"containers": [{"name": "main", "image": "other"}]}}]
    with as_role(world, "--role", "agent", "--namespace", ns, "--jobset", "w", "--pod", "w-0") as api:
        for change in changes:
            answer = api.call("PATCH", path, json.dumps(change), MERGE)
            if answer.status not in (403, 422):  # what nobody may do is told first
                fail(f"{change}: {answer.status} {answer.text[:200]}")
        for operation in ({"op": "remove", "path": "/metadata/labels/a"},
                          {"op": "add", "path": "/metadata/annotations/x", "value": "y"},
                          {"op": "replace", "path": "/metadata/annotations", "value": {EPOCH: "1"}}):
            api.refused(403, "PATCH", path, json.dumps([operation]),
                        {"Content-Type": "application/json-patch+json"})
        # Status is not changed by a patch of the pod: it is as if it had not been said.
        api.ok("PATCH", path, json.dumps({"status": {"phase": "Failed"}}), MERGE)
        equal(world.api.get(path), before, "the pod")
        api.ok("PATCH", path, json.dumps({"metadata": {"uid": before["metadata"]["uid"],
                                                       "annotations": {EPOCH: "1"}}}), MERGE)
        equal(api.call("PATCH", path, json.dumps({"metadata": {"uid": "other",
              "annotations": {EPOCH: "2"}}}), MERGE).status, 409, "the uid of another pod")
        equal(api.get(path)["metadata"]["annotations"], {"keep": "this", EPOCH: "1"}, "annotations")


@cases
def tokens_need_what_their_role_needs(world):
    for options, said in ((("--role", "node"), "needs --name"),
                          (("--role", "agent", "--pod", "p"), "needs --jobset and --pod"),
                          (("--role", "view", "--pod", "p"), "for --role agent"),
                          (("--role", "king"), "king")):
        done = subprocess.run([world.server.program, "token", "create", "--data",
                               str(world.server.data), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        equal((done.returncode, done.stdout), (2, ""), f"{options}")
        contains(done.stderr, said)


@cases
def files_with_secrets_are_the_owners_alone(world):
    for name in ("kubeconfig", "view.kubeconfig", "token.key", "muster.db", "pki/ca.key",
                 "access.log", "muster.sock"):
        mode = (world.server.data / name).stat().st_mode & 0o777
        equal(oct(mode), oct(0o600), name)
    world.api.get("/api/v1/namespaces/default/configmaps?labelSelector=just%3Dnow")
    world.api.get("/version")  # answered by a later turn
    log = (world.server.data / "access.log").read_text()
    contains(log, "just%3Dnow")  # written with the turn that answered it
    equal(world.server.token in log or "m1." in log, False, "a token in the log")


if __name__ == "__main__":
    sys.exit(cases.main(lambda folder: server_world(folder)))

# SPDX-License-Identifier: Apache-2.0
"""The API as bytes: what no kubectl shows but every client library relies on."""

import contextlib
import json
import socket
import sys
import threading

from muster_test import (LIMIT_S, SOURCE, Cases, Server, brief, contains, equal, fail, matches,
                         version_of)
from objects import configmap, job, pod, server_world

WINDOW = 64
INITIAL_END = "k8s.io/initial-events-end"
MEGABYTE = 1 << 20
cases = Cases()


def home(world):
    """A new namespace and the path of its config maps."""
    ns = world.new_namespace()
    return ns, f"/api/v1/namespaces/{ns}/configmaps"


def is_initial_end(event):
    return event["type"] == "BOOKMARK" and INITIAL_END in event["object"]["metadata"].get("annotations", {})


def names_of(listed):
    return [item["metadata"]["name"] for item in listed["items"]]


# ---- watches ----

@cases
def a_watch_with_initial_events(world):
    ns, path = home(world)
    world.put(ns, configmap("b"), configmap("a"))
    with world.api.watch(path, sendInitialEvents="true", resourceVersionMatch="NotOlderThan",
                         allowWatchBookmarks="true") as events:
        first = events.until(is_initial_end)
        equal(brief(first[:-1]), ["ADDED a", "ADDED b"], "initial events")
        mark = first[-1]["object"]
        equal((mark["kind"], mark["apiVersion"]), ("ConfigMap", "v1"), "type of the bookmark")
        equal(mark["metadata"]["annotations"], {INITIAL_END: "true"}, "annotation")
        equal(version_of(mark) >= max(version_of(event["object"]) for event in first[:-1]), True,
              "the bookmark covers what was sent")
        world.put(ns, configmap("c"))
        equal(brief(events.take(1)), ["ADDED c"], "next")
    with world.api.watch(path, resourceVersion=version_of(mark)) as events:
        equal(brief(events.take(1)), ["ADDED c"], "from the bookmark on")


@cases
def a_watch_without_version_begins_with_what_is_there(world):
    ns, path = home(world)
    world.put(ns, configmap("a"))
    for params in ({}, {"resourceVersion": "0"}):
        with world.api.watch(path, **params) as events:
            equal(brief(events.take(1)), ["ADDED a"], f"first of {params}")


@cases
def a_watch_ends_when_it_asked_to(world):
    _, path = home(world)
    with world.api.watch(path, timeoutSeconds="1") as events:
        equal(events.rest(), [], "events")


@cases
def a_watch_resumes_after_any_of_its_versions(world):
    ns, path = home(world)
    with world.api.watch(path) as events:
        world.put(ns, configmap("a"), configmap("b"))
        world.api.patch(f"{path}/a", {"data": {"n": "1"}})
        world.api.ok("DELETE", f"{path}/b")
        whole = events.take(4)
    equal(brief(whole), ["ADDED a", "ADDED b", "MODIFIED a", "DELETED b"], "whole")
    for i, seen in enumerate(whole):
        if i + 1 == len(whole):
            break
        with world.api.watch(path, resourceVersion=version_of(seen["object"])) as events:
            equal(events.take(len(whole) - i - 1), whole[i + 1:], f"after event {i}")


@cases
def a_watch_too_far_back_gets_410(world):
    ns, path = home(world)
    old = version_of(world.put(ns, configmap("a")))
    world.put(ns, *[configmap(f"n{i}") for i in range(2 * WINDOW)])
    with world.api.watch(path, resourceVersion=old) as events:
        all_events = events.rest()
    equal([event["type"] for event in all_events], ["ERROR"], "events")
    status = all_events[0]["object"]
    equal((status["kind"], status["code"], status["reason"]), ("Status", 410, "Expired"), "status")
    contains(status["message"], "too old resource version")


@cases
def a_watch_from_the_future_is_refused(world):
    _, path = home(world)
    far = version_of(world.api.get(path)) + 1000
    status = world.api.refused(504, "GET", f"{path}?watch=1&resourceVersion={far}")
    contains(status["message"], "Too large resource version")
    world.api.refused(400, "GET", f"{path}?watch=1&resourceVersion=abc")


@cases
def a_watch_with_a_selector_sees_objects_come_and_go(world):
    ns, path = home(world)
    world.put(ns, configmap("a", labels={"app": "x"}), configmap("b"))
    with world.api.watch(path, labelSelector="app=x") as events:
        equal(brief(events.take(1)), ["ADDED a"], "first")
        world.api.patch(f"{path}/b", {"metadata": {"labels": {"app": "x"}}})
        world.api.patch(f"{path}/b", {"data": {"n": "1"}})
        world.api.patch(f"{path}/a", {"metadata": {"labels": {"app": "y"}}})
        world.api.patch(f"{path}/a", {"data": {"unseen": "1"}})
        world.api.ok("DELETE", f"{path}/a")
        world.api.ok("DELETE", f"{path}/b")
        got = events.take(4)
    equal(brief(got), ["ADDED b", "MODIFIED b", "DELETED a", "DELETED b"], "events")
    with world.api.watch(path, labelSelector="app=x", resourceVersion=version_of(got[0]["object"])) as events:
        equal(events.take(3), got[1:], "the same when resumed")


@cases
def a_watch_of_one_field(world):
    ns, path = home(world)
    with world.api.watch(path, fieldSelector="metadata.name=b") as events:
        world.put(ns, configmap("a"), configmap("b"), configmap("c"))
        world.api.patch(f"{path}/a", {"data": {"n": "1"}})
        world.api.ok("DELETE", f"{path}/b")
        equal(brief(events.take(2)), ["ADDED b", "DELETED b"], "events")


@cases
def a_watch_of_pods_by_node(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/pods"
    with world.api.watch("/api/v1/pods", fieldSelector="spec.nodeName=n1") as events:
        world.put(ns, pod("p"), pod("q"))
        for name, target in (("p", "n1"), ("q", "n2")):
            world.api.ok("POST", f"{path}/{name}/binding",
                         {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                          "target": {"kind": "Node", "name": target}})
        world.api.patch(f"{path}/p/status", {"status": {"phase": "Running"}})
        equal(brief(events.take(2)), ["ADDED p", "MODIFIED p"], "events")


@cases
def a_watch_as_a_table(world):
    ns, path = home(world)
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    remote = world.server.remote()
    remote._headers = lambda body, more, plain=remote._headers: {**plain(body, more), **headers}
    with remote.watch(path) as events:
        world.put(ns, configmap("a"))
        event = events.take(1)[0]
    table = event["object"]
    equal((event["type"], table["kind"], table["rows"][0]["cells"][0]), ("ADDED", "Table", "a"), "row")


@cases
def deleted_objects_carry_the_version_of_their_deletion(world):
    ns, path = home(world)
    made = world.put(ns, configmap("a"))
    with world.api.watch(path, resourceVersion=version_of(made)) as events:
        world.api.ok("DELETE", f"{path}/a")
        gone = events.take(1)[0]
    equal(gone["type"], "DELETED", "type")
    equal(version_of(gone["object"]) > version_of(made), True, "later version")
    equal(version_of(world.api.get(path)) >= version_of(gone["object"]), True, "list is not behind")


@cases
def a_slow_watcher_is_dropped_and_others_go_on(world):
    ns, path = home(world)
    slow = socket.socket(socket.AF_UNIX)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.settimeout(LIMIT_S)
    slow.connect(world.server.socket)
    slow.sendall(f"GET {path}?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    contains(slow.recv(12).decode(), "HTTP/1.1 200")
    dropped = world.metric("muster_watches_dropped_total")
    got = []
    with world.api.watch(path) as events:
        reader = threading.Thread(target=lambda: got.extend(events.take(12)))
        reader.start()
        for i in range(12):
            world.put(ns, configmap(f"big{i}", {"text": "x" * (MEGABYTE - 200)}))
        reader.join(LIMIT_S)
    equal(len(got), 12, "events of the quick one")
    with slow:
        data = b""
        while chunk := slow.recv(1 << 20):
            data += chunk
    contains(data[-2000:].decode(errors="replace"), '"type":"ERROR"', '"code":410')
    equal(world.metric("muster_watches_dropped_total"), dropped + 1, "dropped")


# ---- lists ----

@cases
def pages_while_others_write(world):
    ns, path = home(world)
    wanted = [f"c{i:04}" for i in range(1000)]
    world.put_many(ns, [configmap(name) for name in wanted])
    stop = threading.Event()
    # Fewer writes a page than the server remembers; what they touch sorts behind and before.
    pause = threading.Semaphore(0)

    def write():
        api = world.server.local()
        number = 0
        while pause.acquire(timeout=LIMIT_S) and not stop.is_set():
            api.ok("POST", path, configmap(f"a{number:04}"))
            api.patch(f"{path}/c{number:04}", {"data": {"touched": "yes"}})
            number += 1
        api.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen, versions, token, pages = [], set(), "", 0
        while pages == 0 or token:
            page = world.api.get(f"{path}?limit=100" + (f"&continue={token}" if token else ""))
            equal(len(page["items"]) <= 100, True, "size of a page")
            seen += names_of(page)
            versions.add(page["metadata"]["resourceVersion"])
            token = page["metadata"].get("continue", "")
            pages += 1
            pause.release()
    finally:
        stop.set()
        pause.release()
        writer.join(LIMIT_S)
    equal(len(versions), 1, "versions of the pages")
    equal([name for name in seen if name.startswith("c")], wanted, "names")
    equal(len(seen), len(set(seen)), "none twice")
    version = versions.pop()
    with world.api.watch(path, resourceVersion=version) as events:
        equal(brief(events.take(2)), ["ADDED a0000", "MODIFIED c0000"], "what changed since")


@cases
def a_page_too_far_back_gets_410(world):
    ns, path = home(world)
    world.put(ns, configmap("a"), configmap("b"))
    token = world.api.get(f"{path}?limit=1")["metadata"]["continue"]
    world.put(ns, *[configmap(f"n{i}") for i in range(2 * WINDOW)])
    status = world.api.refused(410, "GET", f"{path}?limit=1&continue={token}")
    equal(status["reason"], "Expired", "reason")
    for bad in ("limit=x", "continue=nonsense", "limit=-1", "resourceVersion=x"):
        world.api.refused(400, "GET", f"{path}?{bad}")


@cases
def versions_of_lists(world):
    ns, path = home(world)
    made = version_of(world.put(ns, configmap("a")))
    listed = world.api.get(path)
    equal(version_of(listed) >= made, True, "newest")
    for params in ("resourceVersion=0", f"resourceVersion={made}",
                   f"resourceVersion={made}&resourceVersionMatch=NotOlderThan"):
        equal(names_of(world.api.get(f"{path}?{params}")), ["a"], params)
    status = world.api.refused(504, "GET", f"{path}?resourceVersion={made + 100000}")
    contains(status["message"], "Too large resource version")


@cases
def options_of_lists_that_go_together(world):
    ns, path = home(world)
    made = version_of(world.put(ns, configmap("a")))
    exact = f"{path}?resourceVersion={made}&resourceVersionMatch=Exact"
    world.put(ns, job("j"))  # of another kind
    listed = world.api.get(exact)
    equal((names_of(listed), version_of(listed)), (["a"], made), "a version that is still there")
    world.put(ns, configmap("b"))
    status = world.api.refused(410, "GET", exact)
    equal(status["reason"], "Expired", "reason")
    newest = version_of(world.api.get(path))
    page = world.api.get(f"{path}?resourceVersion={newest}&resourceVersionMatch=Exact&limit=1")
    equal(names_of(page), ["a"], "a page")
    for query, words in (
            ("resourceVersionMatch=Exact", "unless resourceVersion is provided"),
            ("resourceVersion=0&resourceVersionMatch=Exact", 'forbidden for resourceVersion "0"'),
            ("resourceVersion=1&resourceVersionMatch=exact",
             'Unsupported value: "exact": supported values: "Exact", "NotOlderThan"'),
            (f"resourceVersion=1&resourceVersionMatch=NotOlderThan&continue={page['metadata']['continue']}",
             "forbidden when continue is provided"),
            ("sendInitialEvents=true", "sendInitialEvents is forbidden for list"),
            ("watch=1&sendInitialEvents=true",
             "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
            ("watch=1&resourceVersionMatch=NotOlderThan", "unless sendInitialEvents is provided"),
            ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
             'Unsupported value: "Exact": supported values: "NotOlderThan"')):
        status = world.api.refused(422, "GET", f"{path}?{query}")
        contains(status["message"], 'ListOptions.meta.k8s.io "" is invalid: ', words)
    world.api.refused(422, "DELETE", f"{path}?resourceVersionMatch=Exact")
    for query in ("timeoutSeconds=abc", "watch=1&timeoutSeconds=1s"):
        contains(world.api.refused(400, "GET", f"{path}?{query}")["message"], "timeoutSeconds")


@cases
def a_list_as_a_table(world):
    ns, path = home(world)
    world.put(ns, configmap("a", {"x": "1", "y": "2"}))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = world.api.ok("GET", path, headers={"Accept": accept})
    equal((table["kind"], table["apiVersion"]), ("Table", "meta.k8s.io/v1"), "type")
    equal([column["name"] for column in table["columnDefinitions"]], ["Name", "Data", "Age"], "columns")
    row = table["rows"][0]
    equal(row["cells"][:2], ["a", 2], "cells")
    equal(row["object"]["kind"], "PartialObjectMetadata", "object")
    table = world.api.ok("GET", f"{path}/a?includeObject=Object", headers={"Accept": accept})
    equal(table["rows"][0]["object"]["data"], {"x": "1", "y": "2"}, "whole object")
    table = world.api.ok("GET", f"{path}?includeObject=None", headers={"Accept": accept})
    equal(table["rows"][0].get("object"), None, "no object")


# ---- writing ----

@cases
def versions_lock(world):
    ns, path = home(world)
    made = world.put(ns, configmap("a"))
    changed = world.api.ok("PUT", f"{path}/a", {**made, "data": {"n": "1"}})
    equal(version_of(changed) > version_of(made), True, "version rises")
    status = world.api.refused(409, "PUT", f"{path}/a", {**made, "data": {"n": "2"}})
    equal(status["reason"], "Conflict", "reason")
    same = world.api.ok("PUT", f"{path}/a", changed)
    equal(version_of(same), version_of(changed), "a write that changes nothing")
    free = {**made, "data": {"n": "3"}, "metadata": {"name": "a"}}
    world.api.ok("PUT", f"{path}/a", free)
    patch = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"n": "4"}}
    world.api.refused(409, "PATCH", f"{path}/a", patch, {"Content-Type": "application/merge-patch+json"})
    wrong = {**free, "metadata": {"name": "a", "uid": "somebody-else"}}
    world.api.refused(409, "PUT", f"{path}/a", wrong)


@cases
def the_server_owns_its_fields(world):
    ns, path = home(world)
    made = world.put(ns, configmap("a", uid="mine", creationTimestamp="2001-01-01T00:00:00Z",
                                   deletionTimestamp="2001-01-01T00:00:00Z"))
    meta = made["metadata"]
    matches(meta["uid"], r"^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
    equal(meta["creationTimestamp"] > "2020", True, "creation time")
    equal("deletionTimestamp" in meta, False, "deleted")
    world.api.refused(400, "POST", path, configmap("b", resourceVersion="5"))
    world.api.refused(400, "PUT", f"{path}/a", configmap("other"))
    world.api.refused(400, "POST", path, configmap("c", namespace="elsewhere"))
    world.api.refused(400, "POST", path, pod("d"))


@cases
def generations_count_changes_of_the_wish(world):
    ns = world.new_namespace()
    path = f"/apis/batch/v1/namespaces/{ns}/jobs/j"
    equal(world.put(ns, job("j"))["metadata"]["generation"], 1, "new")
    equal(world.api.patch(path, {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"], 1, "label")
    equal(world.api.patch(f"{path}/status", {"status": {"active": 1}})["metadata"]["generation"], 1, "status")
    equal(world.api.patch(path, {"spec": {"parallelism": 3}})["metadata"]["generation"], 2, "spec")


@cases
def status_and_spec_are_written_apart(world):
    ns = world.new_namespace()
    path = f"/apis/batch/v1/namespaces/{ns}/jobs/j"
    made = world.put(ns, {**job("j"), "status": {"active": 5}})
    equal(made.get("status", {}).get("active"), None, "status of a new object")
    body = {**made, "status": {"active": 7}, "spec": {**made["spec"], "parallelism": 9}}
    changed = world.api.ok("PUT", f"{path}/status", body)
    equal((changed["status"]["active"], changed["spec"]["parallelism"]), (7, 2), "through /status")
    body = {**changed, "status": {"active": 1}, "spec": {**changed["spec"], "parallelism": 4}}
    changed = world.api.ok("PUT", path, body)
    equal((changed["status"]["active"], changed["spec"]["parallelism"]), (7, 4), "through the object")
    equal(world.api.get(f"{path}/status")["status"]["active"], 7, "read of /status")
    world.api.refused(404, "GET", f"/api/v1/namespaces/{ns}/configmaps/none/status")


@cases
def status_keeps_the_lock(world):
    ns = world.new_namespace()
    path = f"/apis/batch/v1/namespaces/{ns}/jobs/j"
    made = world.put(ns, job("j"))
    world.api.patch(path, {"metadata": {"labels": {"a": "b"}}})
    world.api.refused(409, "PUT", f"{path}/status", {**made, "status": {"active": 1}})


@cases
def scale_is_a_view(world):
    ns = world.new_namespace()
    path = f"/apis/batch/v1/namespaces/{ns}/jobs/j"
    world.put(ns, job("j"))
    scale = world.api.get(f"{path}/scale")
    equal((scale["kind"], scale["apiVersion"], scale["spec"]["replicas"]),
          ("Scale", "autoscaling/v1", 2), "scale")
    scale["spec"]["replicas"] = 5
    equal(world.api.ok("PUT", f"{path}/scale", scale)["spec"]["replicas"], 5, "answer")
    equal(world.api.get(path)["spec"]["parallelism"], 5, "stored")
    world.api.refused(409, "PUT", f"{path}/scale", scale)
    world.api.refused(422, "PATCH", f"{path}/scale", {"spec": {"replicas": -1}},
                      {"Content-Type": "application/merge-patch+json"})


@cases
def a_pod_is_bound_once(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/pods/p"
    world.put(ns, pod("p"))
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
               "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}}
    answer = world.api.call("POST", f"{path}/binding", binding)
    equal((answer.status, answer.json()["status"]), (201, "Success"), "answer")
    stored = world.api.get(path)
    equal(stored["spec"]["nodeName"], "n1", "node")
    equal([c["status"] for c in stored["status"]["conditions"] if c["type"] == "PodScheduled"], ["True"],
          "condition")
    binding["target"]["name"] = "n2"
    contains(world.api.refused(409, "POST", f"{path}/binding", binding)["message"], "already assigned")
    world.api.refused(404, "POST", f"/api/v1/namespaces/{ns}/pods/none/binding", binding)
    binding["target"] = {}
    world.api.refused(400, "POST", f"{path}/binding", binding)


@cases
def patches_by_content_type(world):
    ns, path = home(world)
    world.put(ns, configmap("a"))
    table = [("application/merge-patch+json", {"data": {"m": "1"}}, 200),
             ("application/strategic-merge-patch+json", {"data": {"s": "1"}}, 200),
             ("application/json-patch+json", [{"op": "add", "path": "/data/j", "value": "1"}], 200),
             ("application/merge-patch+json; charset=utf-8", {"data": {"c": "1"}}, 200),
             ("application/json", {}, 415), ("text/plain", {}, 415),
             ("application/json-patch+json", {"not": "a list"}, 400),
             ("application/json-patch+json", [{"op": "replace", "path": "/none", "value": 1}], 422),
             ("application/merge-patch+json", [], 400)]
    for kind, body, wanted in table:
        answer = world.api.call("PATCH", f"{path}/a", body, {"Content-Type": kind})
        equal(answer.status, wanted, f"{kind} {body}")
    equal(world.api.get(f"{path}/a")["data"],
          {"key": "value", "m": "1", "s": "1", "j": "1", "c": "1"}, "data")
    world.api.refused(404, "PATCH", f"{path}/none", {}, {"Content-Type": "application/merge-patch+json"})


@cases
def server_side_apply_is_refused_with_a_reason(world):
    _, path = home(world)
    answer = world.api.call("PATCH", f"{path}/a?fieldManager=test", configmap("a"),
                            {"Content-Type": "application/apply-patch+yaml"})
    if answer.status in (200, 201):
        return  # it is there by now
    equal(answer.status, 415, "code")
    contains(answer.json()["message"], "server-side apply is not there yet", "client-side")


@cases
def bodies_as_yaml(world):
    ns, path = home(world)
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: in-yaml\ndata:\n  a: \"1\"\n"
    made = world.api.ok("POST", path, text, {"Content-Type": "application/yaml"})
    equal(made["data"], {"a": "1"}, "data")
    for bad in ("a: [", "a: b\n---\nc: d\n"):
        world.api.refused(400, "POST", path, bad, {"Content-Type": "application/yaml"})


@cases
def bodies_as_protobuf(world):
    """What Go's typed clients send, to every address that takes a body of another kind."""
    as_protobuf = {"Content-Type": "application/vnd.kubernetes.protobuf"}

    def body(name):
        return (SOURCE / "test/data/protobuf" / f"{name}.pb").read_bytes()

    equal(world.api.ok("POST", "/api/v1/namespaces", body("namespace"), as_protobuf)["metadata"]["name"],
          "foo", "name")
    pods, jobs = "/api/v1/namespaces/foo/pods", "/apis/batch/v1/namespaces/foo/jobs"
    made = world.api.ok("POST", pods, body("pod_bare"), as_protobuf)
    equal(made["spec"]["containers"][0]["image"], "img", "image")
    world.api.ok("POST", f"{pods}/bare/binding", body("binding_bare"), as_protobuf)
    equal(world.api.get(f"{pods}/bare")["spec"]["nodeName"], "n1", "node")
    world.put("foo", job("s"))
    world.api.ok("PUT", f"{jobs}/s/scale", body("scale_zero"), as_protobuf)
    equal(world.api.get(f"{jobs}/s")["spec"]["parallelism"], 0, "parallelism")
    world.api.ok("DELETE", f"{jobs}/s", body("delete_options_bare"), as_protobuf)
    message = world.api.refused(400, "POST", pods, body("namespace"), as_protobuf)["message"]
    contains(message, "holds a 'Namespace', where a Pod is due")
    contains(world.api.refused(400, "POST", pods, body("pod_nfs"), as_protobuf)["message"],
             "spec.volumes[0].nfs", "application/json")
    world.api.refused(400, "POST", pods, body("pod_bare")[:-20], as_protobuf)
    for path in ("/apis/jobset.x-k8s.io/v1alpha2/namespaces/foo/jobsets",
                 "/apis/muster.dev/v1alpha1/nodeconfigs"):
        message = world.api.refused(415, "POST", path, body("pod_bare"), as_protobuf)["message"]
        contains(message, "include: application/json, application/yaml")


@cases
def a_dry_run_stores_nothing(world):
    ns, path = home(world)
    before = version_of(world.api.get(path))
    made = world.api.ok("POST", f"{path}?dryRun=All", configmap("a"))
    equal("uid" in made["metadata"], True, "filled in")
    world.api.refused(404, "GET", f"{path}/a")
    world.api.refused(422, "POST", f"{path}?dryRun=All", configmap("Not_Ok"))
    world.api.refused(422, "POST", f"{path}?dryRun=Some", configmap("a"))
    equal(version_of(world.api.get(path)), before, "version of the store")
    made = world.put(ns, configmap("a"))
    shown = world.api.ok("PATCH", f"{path}/a?dryRun=All", {"data": {"n": "1"}},
                         {"Content-Type": "application/merge-patch+json"})
    equal((shown["data"]["n"], version_of(shown)), ("1", version_of(made)), "shown")
    world.api.ok("DELETE", f"{path}/a?dryRun=All")
    world.api.ok("DELETE", f"{path}/a", {"dryRun": ["All"]})
    world.api.ok("DELETE", f"{path}?dryRun=All")
    equal(world.api.get(f"{path}/a"), made, "stored")


@cases
def unknown_fields(world):
    ns, path = home(world)
    odd = {**configmap("a"), "colour": "red"}
    status = world.api.refused(400, "POST", f"{path}?fieldValidation=Strict", odd)
    contains(status["message"], "strict decoding error", 'unknown field "colour"')
    answer = world.api.call("POST", f"{path}?fieldValidation=Warn", odd)
    equal(answer.status, 201, "code")
    matches(answer.headers["Warning"], r'^299 - "unknown field \\"colour\\""')
    equal(answer.json()["colour"], "red", "kept")
    answer = world.api.call("POST", f"{path}?fieldValidation=Ignore", {**odd, "metadata": {"name": "b"}})
    equal((answer.status, answer.headers["Warning"]), (201, None), "ignored")
    equal(world.api.get(f"{path}/b")["colour"], "red", "kept")
    equal(world.api.patch(f"{path}/b", {"data": {"n": "1"}})["colour"], "red", "kept by a patch")
    world.api.refused(422, "POST", f"{path}?fieldValidation=Maybe", odd)


@cases
def fields_that_are_there_twice(world):
    ns, path = home(world)
    twice = '{"metadata": {"name": "a"}, "data": {"n": "1", "n": "2"}, "data": {"m": "3", "m": "4"}}'
    status = world.api.refused(400, "POST", f"{path}?fieldValidation=Strict", twice)
    contains(status["message"], 'strict decoding error: duplicate field "data", duplicate field "data.m"')
    answer = world.api.call("POST", f"{path}?fieldValidation=Warn", twice)
    equal((answer.status, answer.json()["data"]), (201, {"m": "4"}), "the last one")
    matches(answer.headers["Warning"], r'^299 - "duplicate field \\"data\\""')
    merge = {"Content-Type": "application/merge-patch+json"}
    patch = '{"data": {"m": "5", "m": "6"}}'
    world.api.refused(400, "PATCH", f"{path}/a?fieldValidation=Strict", patch, merge)
    answer = world.api.call("PATCH", f"{path}/a?fieldValidation=Ignore", patch, merge)
    equal((answer.json()["data"], answer.headers["Warning"]), ({"m": "6"}, None), "ignored")
    world.api.refused(400, "POST", path, "{")


@cases
def invalid_objects_name_every_cause(world):
    ns = world.new_namespace()
    bad = job("j")
    bad["spec"]["parallelism"] = -1
    bad["spec"]["template"]["spec"]["containers"][0]["name"] = "Bad Name"
    status = world.api.refused(422, "POST", f"/apis/batch/v1/namespaces/{ns}/jobs", bad)
    equal(status["reason"], "Invalid", "reason")
    equal((status["details"]["kind"], status["details"]["group"], status["details"]["name"]),
          ("Job", "batch", "j"), "details")
    fields = [cause["field"] for cause in status["details"]["causes"]]
    equal(sorted(fields), ["spec.parallelism", "spec.template.spec.containers[0].name"], "causes")
    contains(status["message"], 'Job.batch "j" is invalid')


@cases
def deleting_a_pod_answers_with_the_pod(world):
    ns, _ = home(world)
    made = world.put(ns, pod("p"))
    gone = world.api.ok("DELETE", f"/api/v1/namespaces/{ns}/pods/p?gracePeriodSeconds=0")
    equal((gone["kind"], gone["metadata"]["uid"]), ("Pod", made["metadata"]["uid"]), "answer")
    world.api.refused(404, "GET", f"/api/v1/namespaces/{ns}/pods/p")


@cases
def delete_with_preconditions(world):
    ns, path = home(world)
    made = world.put(ns, configmap("a"))
    world.api.refused(409, "DELETE", f"{path}/a", {"preconditions": {"uid": "other"}})
    world.api.refused(409, "DELETE", f"{path}/a", {"preconditions": {"resourceVersion": "1"}})
    world.api.refused(422, "DELETE", f"{path}/a?propagationPolicy=Sideways")
    gone = world.api.ok("DELETE", f"{path}/a", {"preconditions": {"uid": made["metadata"]["uid"]}})
    equal((gone["kind"], gone["status"], gone["details"]["uid"]),
          ("Status", "Success", made["metadata"]["uid"]), "answer")
    world.api.refused(404, "DELETE", f"{path}/a")


@cases
def delete_of_a_collection(world):
    ns, path = home(world)
    world.put(ns, configmap("a", labels={"x": "1"}), configmap("b", labels={"x": "1"}), configmap("c"))
    gone = world.api.ok("DELETE", f"{path}?labelSelector=x%3D1")
    equal((gone["kind"], names_of(gone)), ("ConfigMapList", ["a", "b"]), "answer")
    equal(names_of(world.api.get(path)), ["c"], "left")
    world.api.ok("DELETE", f"{path}?fieldSelector=metadata.name%3Dnone")
    equal(names_of(world.api.get(path)), ["c"], "left")
    world.api.ok("DELETE", path)
    equal(names_of(world.api.get(path)), [], "left")


@cases
def a_pod_is_given_time_to_stop(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/pods/p"
    world.put(ns, pod("p"))
    world.api.ok("POST", f"{path}/binding", {"apiVersion": "v1", "kind": "Binding",
                                             "metadata": {"name": "p"}, "target": {"name": "n1"}})
    marked = world.api.ok("DELETE", path)
    equal((marked["kind"], marked["metadata"]["deletionGracePeriodSeconds"]), ("Pod", 30), "marked")
    shorter = world.api.ok("DELETE", f"{path}?gracePeriodSeconds=5")
    equal(shorter["metadata"]["deletionGracePeriodSeconds"], 5, "shorter")
    world.api.ok("DELETE", f"{path}?gracePeriodSeconds=0")
    world.api.refused(404, "GET", path)


# ---- wrong requests ----

@cases
def wrong_addresses_and_methods(world):
    ns, path = home(world)
    world.put(ns, configmap("a"))
    table = [(404, "GET", "/api/v1/unicorns"), (404, "GET", "/apis/none.example.com/v1/things"),
             (404, "GET", f"{path}/none"), (404, "GET", f"/api/v1/namespaces/{ns}/nodes"),
             (404, "GET", "/api/v2"), (404, "GET", "/nothing"), (404, "GET", f"{path}/a/b/c/d"),
             (404, "GET", "/api/v1/configmaps/a"), (404, "GET", "/openapi/v3/api/v9"),
             (405, "POST", f"{path}/a"), (405, "PUT", path), (405, "PATCH", path),
             (404, "DELETE", f"{path}/a/status"), (404, "GET", f"{path}/a/log")]
    for code, method, where in table:
        world.api.refused(code, method, where, {} if method in ("POST", "PUT", "PATCH") else None)
    status = world.api.refused(404, "GET", f"{path}/none")
    equal((status["reason"], status["message"]), ("NotFound", 'configmaps "none" not found'), "status")
    equal(status["details"], {"name": "none", "kind": "configmaps"}, "details")
    status = world.api.refused(404, "GET", f"/apis/batch/v1/namespaces/{ns}/jobs/none")
    equal(status["details"], {"name": "none", "group": "batch", "kind": "jobs"}, "details with group")


@cases
def wrong_bodies(world):
    ns, path = home(world)
    deep = "[" * 500 + "]" * 500
    for bad in ("", "{", "[]", "7", '{"a":1}x', b'{"metadata":{"name":"\xff"}}',
                '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"x":' + deep + "}"):
        world.api.refused(400, "POST", path, bad)
    message = world.api.refused(415, "POST", path, "<a/>", {"Content-Type": "application/xml"})["message"]
    contains(message, "application/vnd.kubernetes.protobuf")
    world.api.refused(422, "POST", path, {"metadata": {}})
    world.api.refused(422, "POST", path, {"metadata": {"name": 7}})
    world.api.refused(422, "POST", path, {"metadata": {"name": "n"}, "data": {"a": 1}})
    equal(names_of(world.api.get(path)), [], "stored")


@cases
def a_body_that_is_too_big(world):
    _, path = home(world)
    api = world.server.local()
    with contextlib.closing(api):
        try:
            answer = api.call("POST", path, b'{"data":{"a":"' + b"x" * (4 * MEGABYTE) + b'"}}')
        except (BrokenPipeError, ConnectionResetError):
            fail("the connection was cut before the answer could be read")
        equal(answer.status, 413, "code")
        equal(answer.json()["reason"], "RequestEntityTooLarge", "reason")
    world.put(world.new_namespace(), configmap("fits", {"a": "x" * MEGABYTE}))


@cases
def head_has_no_body(world):
    ns, path = home(world)
    world.put(ns, configmap("a"))
    answer = world.api.call("HEAD", f"{path}/a")
    equal((answer.status, answer.body), (200, b""), "answer")
    equal(int(answer.headers["Content-Length"]), len(world.api.call("GET", f"{path}/a").body), "length")
    equal(world.api.call("HEAD", f"{path}/none").status, 404, "missing")
    equal(world.api.call("HEAD", path).status, 200, "list")


# ---- who ----

@cases
def anonymous_gets_401(world):
    for token in ("", "nonsense", "m1.e30.AAAA", world.server.token[:-1], world.server.token + "x"):
        api = world.server.remote(token)
        with contextlib.closing(api):
            for path in ("/api", "/api/v1/namespaces", "/version", "/metrics", "/openapi/v3"):
                status = api.refused(401, "GET", path)
                equal(status["reason"], "Unauthorized", "reason")
            equal(api.call("GET", "/readyz").text, "ok", "health is for all")


@cases
def the_view_role_only_reads(world):
    ns, path = home(world)
    world.put(ns, configmap("a"))
    config = (world.server.data / "view.kubeconfig").read_text()
    api = world.server.remote(matches(config, r"token: (\S+)")[1].strip('"'))
    with contextlib.closing(api):
        equal(names_of(api.get(path)), ["a"], "list")
        with api.watch(path) as events:
            equal(brief(events.take(1)), ["ADDED a"], "watch")
        merge = {"Content-Type": "application/merge-patch+json"}
        for method, where, body, headers in (
                ("POST", path, configmap("b"), None), ("PUT", f"{path}/a", configmap("a"), None),
                ("PATCH", f"{path}/a", {}, merge), ("DELETE", f"{path}/a", None, None),
                ("DELETE", path, None, None)):
            status = api.refused(403, method, where, body, headers)
            equal(status["reason"], "Forbidden", "reason")
    equal(names_of(world.api.get(path)), ["a"], "left")


@cases
def tls_and_socket_show_the_same(world):
    ns, path = home(world)
    made = world.put(ns, configmap("a"))
    remote = world.server.remote()
    with contextlib.closing(remote):
        equal(remote.get(f"{path}/a"), made, "object")
        equal(remote.ok("POST", path, configmap("b"))["metadata"]["name"], "b", "created")
    equal(names_of(world.api.get(path)), ["a", "b"], "list")


@cases
def secrets_stay_out_of_logs(world):
    remote = world.server.remote()
    with contextlib.closing(remote):
        remote.get("/api/v1/namespaces")
    for text in ((world.server.data / "access.log").read_text(), world.server.stderr):
        equal(world.server.token in text, False, "token in a log")
    contains((world.server.data / "access.log").read_text(), "/api/v1/namespaces")
    for name in ("kubeconfig", "view.kubeconfig", "token.key", "muster.sock"):
        equal((world.server.data / name).stat().st_mode & 0o077, 0, f"rights of {name}")


@cases
def the_log_tells_each_write_when_it_is_asked_to(world):
    server = Server(world.server.folder / "talking", "--log-level", "debug").start()
    try:
        api = server.local()
        with contextlib.closing(api):
            api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
            made = api.ok("POST", "/api/v1/namespaces/n/configmaps", configmap("a", namespace="n"))
            api.ok("DELETE", "/api/v1/namespaces/n")
            api.wait_gone("/api/v1/namespaces", "n")
        server.stop()
        asked = r"^\S+Z debug store\.asked by="
        matches(server.stderr, asked + r'"local:\d+" op=create kind=ConfigMap object=n/a$')
        matches(server.stderr, rf"^\S+Z debug store\.committed revision={version_of(made)} what=created "
                               r"kind=ConfigMap object=n/a$")
        matches(server.stderr, asked + r'"controllers" op=delete kind=ConfigMap object=n/a$')
        matches(server.stderr, r"store\.committed revision=\d+ what=deleted kind=Namespace object=/n$")
    finally:
        server.end()
    equal(" debug " in world.server.stderr, False, "debug is told without being asked for")


# ---- connections ----

@cases
def requests_may_be_pipelined(world):
    ns, path = home(world)
    world.put(ns, configmap("a"))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(LIMIT_S)
        sock.connect(world.server.socket)
        one = f"GET {path}/a HTTP/1.1\r\nHost: x\r\n\r\n"
        last = "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        sock.sendall((one * 3 + last).encode())
        data = b""
        while chunk := sock.recv(65536):
            data += chunk
    equal(data.count(b"HTTP/1.1 200 OK"), 4, "answers")
    equal(data.count(b'"name":"a"'), 3, "objects")


@cases
def nonsense_on_the_wire_is_answered_with_400(world):
    for junk in (b"HELLO\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
                 b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(LIMIT_S)
            sock.connect(world.server.socket)
            sock.sendall(junk)
            matches(sock.recv(65536).decode(errors="replace"), r"^HTTP/1\.1 (400|505)")
    world.api.get("/version")


@cases
def a_request_under_way_is_answered_while_stopping(world):
    server = Server(world.server.folder / "stopping").start()
    try:
        with socket.socket(socket.AF_UNIX) as sock, server.local().watch("/api/v1/namespaces") as events:
            sock.settimeout(LIMIT_S)
            sock.connect(server.socket)
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHos")
            api = server.local()
            with contextlib.closing(api):
                for _ in range(2):  # answered later, hence the half was read before
                    api.get("/version")
            events.take(4)
            server.popen.terminate()
            equal(events.rest(), [], "the watch ends first")
            sock.sendall(b"t: x\r\n\r\n")
            contains(sock.recv(65536).decode(), "HTTP/1.1 200 OK", "Connection: close")
        equal(server.wait(), 0, "exit code")
        server.check_clean()
    finally:
        server.end()


if __name__ == "__main__":
    sys.exit(cases.main(lambda folder: server_world(folder, "--watch-window", str(WINDOW))))

# SPDX-License-Identifier: Apache-2.0
"""An unmodified kubectl against the real server: reading, writing, deleting, being refused."""

import json
import pathlib
import sys

from muster_test import SOURCE, Cases, Kubectl, Skip, contains, equal, fail, matches
from objects import configmap, event, job, lease, node, owned_by, pod, server_world

cases = Cases()


def columns(text):
    """A table as lists of cells; two spaces or more part columns."""
    import re
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


def names(text):
    return [row[0] for row in columns(text)[1:]]


# ---- apply ----

def apply_example(path):
    def run(world):
        first = world.kubectl("apply", "-f", path)
        contains(first, "created")
        again = world.kubectl("apply", "-f", path).splitlines()
        equal([line for line in again if not line.endswith(" unchanged")], [], "changed the second time")
        equal(len(again), len(first.splitlines()), "number of objects")
        world.kubectl("delete", "-f", path, "--wait=false", "--ignore-not-found")
    return run


def is_for_a_server(path):
    """What is in examples/ itself is; in the folders beside the files are also scenarios, and
    configurations for a server that starts."""
    return path.parent.name == "examples" or not any(
        f"kind: {kind}" in path.read_text() for kind in ("Scenario", "Configuration"))


for example in sorted((SOURCE / "examples").glob("**/*.yaml")):
    if is_for_a_server(example):
        cases.add(f"apply {example.relative_to(SOURCE / 'examples')} twice", apply_example(example))


@cases
def apply_every_kind_twice(world):
    ns = world.new_namespace()
    objects = [configmap("c", namespace=ns), pod("p", namespace=ns), job("j", namespace=ns),
               lease("l", namespace=ns), node("node-twice")]
    contains(world.kubectl.apply(*objects), "configmap/c created", "pod/p created",
             "job.batch/j created", "lease.coordination.k8s.io/l created", "node/node-twice created")
    again = world.kubectl.apply(*objects).splitlines()
    equal([line.split()[-1] for line in again], ["unchanged"] * len(objects), "second apply")


@cases
def apply_a_list(world):
    ns = world.new_namespace()
    objects = [configmap("a", namespace=ns), pod("b", namespace=ns)]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    contains(world.kubectl("apply", "-f", "-", stdin=listed), "configmap/a created", "pod/b created")
    out = world.kubectl("get", "cm,pods", "-n", ns, "-o", "yaml")
    equal(world.kubectl("apply", "-f", "-", stdin=out).count(" configured"), 2, "what get gave")
    objects[1]["spec"]["colour"] = "red"
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    contains(world.kubectl.refused("apply", "-f", "-", stdin=listed), 'unknown field "spec.colour"')


@cases
def apply_changes_only_what_differs(world):
    ns = world.new_namespace()
    world.kubectl.apply(configmap("c", {"a": "1", "b": "2"}, namespace=ns))
    world.kubectl("label", "-n", ns, "cm/c", "mine=yes")
    contains(world.kubectl.apply(configmap("c", {"a": "1", "d": "4"}, namespace=ns)), "configured")
    stored = world.api.get(f"/api/v1/namespaces/{ns}/configmaps/c")
    equal(stored["data"], {"a": "1", "d": "4"}, "data")
    equal(stored["metadata"]["labels"], {"mine": "yes"}, "what others set")


@cases
def apply_prunes_by_label(world):
    ns = world.new_namespace()
    labels = {"app": "shop"}
    world.kubectl.apply(configmap("stay", namespace=ns, labels=labels),
                        configmap("go", namespace=ns, labels=labels))
    stdin = json.dumps(configmap("stay", namespace=ns, labels=labels))
    out = world.kubectl("apply", "-n", ns, "--prune", "-l", "app=shop",
                        "--prune-allowlist=core/v1/ConfigMap", "-f", "-", stdin=stdin)
    contains(out, "configmap/go pruned", "configmap/stay unchanged")


@cases
def dry_run_on_the_server_stores_nothing(world):
    ns = world.new_namespace()
    out = world.kubectl.run("apply", "--dry-run=server", "-f", "-",
                            stdin=json.dumps(configmap("c", namespace=ns))).stdout
    contains(out, "configmap/c created (server dry run)")
    equal(world.api.get(f"/api/v1/namespaces/{ns}/configmaps")["items"], [], "stored")
    world.put(ns, configmap("c"))
    out = world.kubectl("delete", "--dry-run=server", "-n", ns, "cm/c")
    contains(out, "(server dry run)")
    world.api.get(f"/api/v1/namespaces/{ns}/configmaps/c")


# ---- get ----

def fill(world):
    ns = world.new_namespace()
    world.put(ns, configmap("one", {"count": "1"}, labels={"app": "shop", "tier": "front"}),
              configmap("two", {"count": "2", "m": "2"}, labels={"app": "shop", "tier": "back"}),
              configmap("three", {"count": "3"}), pod("p", labels={"app": "shop"}), job("j"), lease("l"))
    return ns


@cases
def get_prints_tables(world):
    ns = fill(world)
    rows = columns(world.kubectl("get", "cm", "-n", ns))
    equal(rows[0], ["NAME", "DATA", "AGE"], "header")
    equal([row[:2] for row in rows[1:]], [["one", "1"], ["three", "1"], ["two", "2"]], "rows")
    equal(columns(world.kubectl("get", "pod", "-n", ns))[0],
          ["NAME", "READY", "STATUS", "RESTARTS", "AGE"], "pod header")
    equal(columns(world.kubectl("get", "jobs", "-n", ns))[1][:3], ["j", "Running", "0/4"], "job row")
    equal(columns(world.kubectl("get", "leases", "-n", ns))[1][:2], ["l", "somebody"], "lease row")
    equal(names(world.kubectl("get", "cm", "one", "two", "-n", ns)), ["one", "two"], "by name")


@cases
def get_wide_adds_columns(world):
    ns = fill(world)
    header = columns(world.kubectl("get", "pod", "-o", "wide", "-n", ns))[0]
    contains(" ".join(header), "IP", "NODE", "NOMINATED NODE", "READINESS GATES")
    header = columns(world.kubectl("get", "jobs", "-o", "wide", "-n", ns))[0]
    contains(" ".join(header), "CONTAINERS", "IMAGES", "SELECTOR")


@cases
def get_prints_yaml_json_and_names(world):
    ns = fill(world)
    parsed = json.loads(world.kubectl("get", "cm/one", "-o", "json", "-n", ns))
    equal((parsed["kind"], parsed["apiVersion"], parsed["data"]), ("ConfigMap", "v1", {"count": "1"}), "json")
    listed = json.loads(world.kubectl("get", "cm", "-o", "json", "-n", ns))
    equal((listed["kind"], len(listed["items"])), ("List", 3), "list")
    equal({item["kind"] for item in listed["items"]}, {"ConfigMap"}, "kinds in a list")
    contains(world.kubectl("get", "cm/one", "-o", "yaml", "-n", ns), "kind: ConfigMap", 'count: "1"')
    equal(world.kubectl("get", "cm", "-o", "name", "-n", ns).split(),
          ["configmap/one", "configmap/three", "configmap/two"], "names")
    equal(world.kubectl("get", "job", "-o", "name", "-n", ns), "job.batch/j\n", "name with group")


@cases
def get_prints_by_templates(world):
    ns = fill(world)
    out = world.kubectl("get", "cm", "-n", ns, "-o", "jsonpath={.items[*].metadata.name}")
    equal(out, "one three two", "jsonpath")
    out = world.kubectl("get", "cm", "-n", ns, "-o", "custom-columns=N:.metadata.name,V:.data.count")
    equal(columns(out), [["N", "V"], ["one", "1"], ["three", "3"], ["two", "2"]], "custom columns")
    out = world.kubectl("get", "cm", "-n", ns, "-o",
                        "go-template={{range .items}}{{.metadata.name}};{{end}}")
    equal(out, "one;three;two;", "go-template")


@cases
def get_selects_by_label(world):
    ns = fill(world)
    table = {"app=shop": ["one", "two"], "app=shop,tier!=front": ["two"], "!app": ["three"],
             "tier in (front, side)": ["one"], "tier notin (front)": ["three", "two"],
             "app==shop,tier": ["one", "two"], "app=none": []}
    for selector, wanted in table.items():
        out = world.kubectl("get", "cm", "-n", ns, "-l", selector, "-o", "name").split()
        equal([name.split("/")[1] for name in out], wanted, selector)


@cases
def get_selects_by_field(world):
    ns = fill(world)
    out = world.kubectl("get", "cm", "-n", ns, "--field-selector", "metadata.name=two", "-o", "name")
    equal(out.split(), ["configmap/two"], "by name")
    out = world.kubectl("get", "cm", "-A", "--field-selector",
                        f"metadata.namespace={ns},metadata.name!=two", "-o", "name")
    equal(out.split(), ["configmap/one", "configmap/three"], "by namespace")
    out = world.kubectl("get", "pod", "-n", ns, "--field-selector", "status.phase=Pending", "-o", "name")
    equal(out.split(), ["pod/p"], "by phase")
    text = world.kubectl.refused("get", "cm", "-n", ns, "--field-selector", "data.count=1")
    contains(text, "data.count")


@cases
def get_over_all_namespaces(world):
    ns, other = fill(world), world.new_namespace()
    world.put(other, configmap("four"))
    rows = [row[:2] for row in columns(world.kubectl("get", "cm", "-A"))]
    equal(rows[0][0], "NAMESPACE", "first column")
    for wanted in ([ns, "one"], [other, "four"]):
        if wanted not in rows:
            fail(f"{wanted} is not in {rows}")


@cases
def get_shows_labels_and_label_columns(world):
    ns = fill(world)
    rows = columns(world.kubectl("get", "cm/one", "-n", ns, "--show-labels"))
    equal(rows[1][-1], "app=shop,tier=front", "labels")
    rows = columns(world.kubectl("get", "cm/one", "-n", ns, "-L", "tier"))
    equal((rows[0][-1], rows[1][-1]), ("TIER", "front"), "label column")


@cases
def get_sorts(world):
    ns = fill(world)
    equal(names(world.kubectl("get", "cm", "-n", ns, "--sort-by", ".data.count")),
          ["one", "two", "three"], "by data")
    equal(names(world.kubectl("get", "cm", "-n", ns, "--sort-by", ".metadata.creationTimestamp",
                              "-l", "app=shop")), ["one", "two"], "by time")


@cases
def get_reads_in_pages(world):
    ns = world.new_namespace()
    wanted = [f"c{i:02}" for i in range(15)]
    world.put(ns, *[configmap(name) for name in wanted])
    run = world.kubectl.run("get", "cm", "-n", ns, "--chunk-size=2", "-v=6")
    equal(names(run.stdout), wanted, "names")
    equal(len([line for line in run.stderr.splitlines() if "limit=2 200 OK" in line]), 8, "requests")
    out = world.kubectl("get", "cm", "-n", ns, "--chunk-size=7", "-o", "name")
    equal(len(out.split()), 15, "as objects")


@cases
def get_of_several_kinds(world):
    ns = fill(world)
    out = world.kubectl("get", "cm,pods,jobs", "-n", ns, "-o", "name").split()
    equal(out, ["configmap/one", "configmap/three", "configmap/two", "pod/p", "job.batch/j"], "kinds")
    contains(world.kubectl("get", "all", "-n", ns), "pod/p", "job.batch/j")


@cases
def get_of_what_is_not_there(world):
    ns = world.new_namespace()
    contains(world.kubectl.refused("get", "cm/none", "-n", ns),
             'Error from server (NotFound): configmaps "none" not found')
    contains(world.kubectl.refused("get", "job/none", "-n", ns),
             'Error from server (NotFound): jobs.batch "none" not found')
    contains(world.kubectl.refused("get", "unicorns"), "the server doesn't have a resource type")
    contains(world.kubectl.run("get", "cm", "-n", ns).stderr, f"No resources found in {ns} namespace.")


# ---- describe, events ----

@cases
def describe_every_kind(world):
    ns = fill(world)
    world.put(None, node("node-described"))
    stored = world.api.get(f"/api/v1/namespaces/{ns}/pods/p")
    world.put(ns, event("p.1", stored, "Pulled", "the image is there"))
    table = [("pod/p", ["Name:", "Containers:", "main:", "busybox", "Pulled", "the image is there"]),
             ("job/j", ["Name:", "Parallelism:", "2", "Completions:", "Pod Template"]),
             ("cm/one", ["Name:", "one", "app=shop", "Data"]),
             ("lease/l", ["Name:", "l", "Holder Identity", "somebody"]),
             ("event/p.1", ["Pulled"])]
    for what, words in table:
        contains(world.kubectl("describe", "-n", ns, what), *words)
    contains(world.kubectl("describe", "node", "node-described"), "node-described", "Capacity:", "cpu:")
    contains(world.kubectl("describe", "ns", ns), f"Name:         {ns}", "Status:       Active")


@cases
def events_are_listed(world):
    ns = fill(world)
    stored = world.api.get(f"/api/v1/namespaces/{ns}/pods/p")
    world.put(ns, event("p.1", stored, "Pulled", "the image is there"),
              event("p.2", stored, "Started", "off it goes"))
    contains(world.kubectl("events", "-n", ns), "Pulled", "off it goes", "Pod/p")
    contains(world.kubectl("events", "-n", ns, "--for", "pod/p"), "Started")
    contains(world.kubectl("events", "-n", ns, "--for", "pod/other"), "")
    rows = columns(world.kubectl("get", "events", "-n", ns))
    equal(rows[0], ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], "header")
    equal({row[2] for row in rows[1:]}, {"Pulled", "Started"}, "reasons")


# ---- jobs ----

def play_node(world, ns, phase, count):
    """Ends as many pods that are not bound to a node, in this phase."""
    path = f"/api/v1/namespaces/{ns}/pods"
    ended = set()
    while len(ended) < count:
        def runs(item):
            return item["status"]["phase"] == "Pending" and item["metadata"]["name"] not in ended
        name = world.api.wait_for(path, runs)["metadata"]["name"]
        world.api.patch(f"{path}/{name}/status", {"status": {"phase": phase}})
        ended.add(name)


@cases
def a_job_runs_to_its_end(world):
    ns = world.new_namespace()
    world.kubectl("create", "job", "pi", "--image=perl", "-n", ns, "--", "perl", "-v")
    with world.kubectl.beside("wait", "-n", ns, "--for=condition=complete", "job/pi",
                              "--timeout=60s") as waiting:
        play_node(world, ns, "Succeeded", 1)
        equal(waiting.wait(), 0, "exit code of wait")
    equal(columns(world.kubectl("get", "jobs", "-n", ns))[1][:3], ["pi", "Complete", "1/1"], "row")
    contains(world.kubectl("describe", "job", "pi", "-n", ns), "Completions:      1",
             "Pods Statuses:    0 Active (0 Ready) / 1 Succeeded / 0 Failed", "SuccessfulCreate",
             "Created pod: pi-", "Job completed")
    world.kubectl("delete", "job", "pi", "-n", ns)
    equal(world.kubectl("get", "jobs", "-n", ns, "-o", "name"), "", "jobs that are left")


@cases
def a_job_fails_and_says_why(world):
    ns = world.new_namespace()
    made = job("j")
    made["spec"].update({"suspend": False, "managedBy": None, "backoffLimit": 0})
    world.put(ns, made)
    with world.kubectl.beside("wait", "-n", ns, "--for=condition=failed", "job/j",
                              "--timeout=60s") as waiting:
        play_node(world, ns, "Failed", 1)
        equal(waiting.wait(), 0, "exit code of wait")
    contains(world.kubectl("describe", "job", "j", "-n", ns), "BackoffLimitExceeded",
             "Job has reached the specified backoff limit")


@cases
def a_job_is_suspended_and_resumed(world):
    ns = world.new_namespace()
    made = job("j")
    made["spec"].update({"managedBy": None})
    world.put(ns, made)
    world.kubectl("wait", "-n", ns, "--for=condition=suspended", "job/j", "--timeout=60s")
    world.kubectl("patch", "job", "j", "-n", ns, "-p", '{"spec":{"suspend":false}}')
    world.kubectl("wait", "-n", ns, "--for=jsonpath={.status.active}=2", "job/j", "--timeout=60s")
    contains(world.kubectl("describe", "job", "j", "-n", ns), "Suspended", "Resumed")


# ---- changing ----

@cases
def patch_in_three_ways(world):
    ns = fill(world)
    change = ["patch", "-n", ns, "job/j"]
    world.kubectl(*change, "--type=merge", "-p", '{"spec":{"parallelism":3}}')
    world.kubectl(*change, "--type=json", "-p",
                  '[{"op":"test","path":"/spec/parallelism","value":3},'
                  '{"op":"replace","path":"/spec/parallelism","value":1}]')
    stored = world.api.get(f"/apis/batch/v1/namespaces/{ns}/jobs/j")
    equal(stored["spec"]["parallelism"], 1, "parallelism")
    patch = {"metadata": {"finalizers": ["example.com/a"]}}
    world.kubectl("patch", "-n", ns, "cm/one", "-p", json.dumps(patch))
    patch = {"metadata": {"finalizers": ["example.com/b"]}}
    world.kubectl("patch", "-n", ns, "cm/one", "-p", json.dumps(patch))
    stored = world.api.get(f"/api/v1/namespaces/{ns}/configmaps/one")
    equal(sorted(stored["metadata"]["finalizers"]), ["example.com/a", "example.com/b"],
          "strategic patches merge finalizers")
    contains(world.kubectl("patch", "-n", ns, "cm/one", "--type=merge", "-p", "{}"), "no change")
    text = world.kubectl.refused(*change, "--type=json", "-p",
                                 '[{"op":"test","path":"/spec/parallelism","value":7}]')
    contains(text, "invalid")


@cases
def strategic_patch_merges_containers_by_name(world):
    ns = world.new_namespace()
    two = pod("p")
    two["spec"]["containers"].append({"name": "side", "image": "busybox"})
    world.put(ns, two)
    patch = {"spec": {"containers": [{"name": "side", "image": "alpine"}]}}
    world.kubectl("patch", "-n", ns, "pod/p", "-p", json.dumps(patch))
    stored = world.api.get(f"/api/v1/namespaces/{ns}/pods/p")
    equal({item["name"]: item["image"] for item in stored["spec"]["containers"]},
          {"main": "busybox", "side": "alpine"}, "images")


@cases
def patch_of_a_subresource(world):
    ns = fill(world)
    world.kubectl("patch", "-n", ns, "pod/p", "--subresource=status", "--type=merge", "-p",
                  '{"status":{"phase":"Running"},"metadata":{"labels":{"sneaky":"yes"}}}')
    stored = world.api.get(f"/api/v1/namespaces/{ns}/pods/p")
    equal(stored["status"]["phase"], "Running", "phase")
    equal("sneaky" in stored["metadata"].get("labels", {}), False, "label set through status")
    contains(world.kubectl("get", "pod/p", "-n", ns, "--subresource=status"), "Running")


@cases
def label_and_annotate(world):
    ns = fill(world)
    contains(world.kubectl("label", "-n", ns, "cm/one", "color=red"), "labeled")
    contains(world.kubectl.refused("label", "-n", ns, "cm/one", "color=blue"), "--overwrite")
    world.kubectl("label", "-n", ns, "cm/one", "color=blue", "--overwrite")
    world.kubectl("label", "-n", ns, "cm", "-l", "app=shop", "app-")
    contains(world.kubectl("annotate", "-n", ns, "cm", "--all", "note=a long text"), "annotated")
    stored = world.api.get(f"/api/v1/namespaces/{ns}/configmaps/one")["metadata"]
    equal(stored["labels"], {"color": "blue", "tier": "front"}, "labels")
    equal(stored["annotations"], {"note": "a long text"}, "annotations")
    contains(world.kubectl.refused("label", "-n", ns, "cm/one", "bad=not ok!"), "invalid")


@cases
def edit_with_a_script(world):
    ns = fill(world)
    out = world.kubectl("edit", "-n", ns, "cm/one", env={"KUBE_EDITOR": "sed -i /count:/s/1/7/"})
    contains(out, "configmap/one edited")
    equal(world.api.get(f"/api/v1/namespaces/{ns}/configmaps/one")["data"], {"count": "7"}, "data")
    run = world.kubectl.run("edit", "-n", ns, "cm/one", env={"KUBE_EDITOR": "true"})
    contains(run.stdout + run.stderr, "no changes made")


@cases
def edit_of_a_mistake_is_shown_again(world):
    ns = fill(world)
    editor = world.server.folder / "editor.sh"
    editor.write_text("""#!/bin/sh
n=$(cat "$0.count" 2>/dev/null || echo 0)
echo $((n + 1)) >"$0.count"
[ "$n" -gt 0 ] && { cp "$1" "$0.second"; exit 1; }
sed -i 's/parallelism: 2/parallelism: -2/' "$1"
""")
    editor.chmod(0o755)
    world.kubectl.run("edit", "-n", ns, "job/j", env={"KUBE_EDITOR": str(editor)}, code=1)
    contains(pathlib.Path(f"{editor}.second").read_text(), "spec.parallelism", "greater than or equal to 0")


@cases
def replace_and_conflict(world):
    ns = fill(world)
    old = world.api.get(f"/api/v1/namespaces/{ns}/configmaps/one")
    new = {**old, "data": {"n": "8"}}
    contains(world.kubectl("replace", "-f", "-", stdin=json.dumps(new)), "replaced")
    text = world.kubectl.refused("replace", "-f", "-", stdin=json.dumps({**old, "data": {"n": "9"}}))
    contains(text, "Error from server (Conflict)", 'Operation cannot be fulfilled on configmaps "one"',
             "the object has been modified; please apply your changes to the latest version")
    equal(world.api.get(f"/api/v1/namespaces/{ns}/configmaps/one")["data"], {"n": "8"}, "data")


@cases
def replace_by_force_makes_a_new_object(world):
    ns = fill(world)
    old = world.api.get(f"/api/v1/namespaces/{ns}/configmaps/one")
    out = world.kubectl("replace", "--force", "-f", "-", stdin=json.dumps(configmap("one", namespace=ns)))
    contains(out, "deleted", "replaced")
    new = world.api.get(f"/api/v1/namespaces/{ns}/configmaps/one")
    equal(new["metadata"]["uid"] == old["metadata"]["uid"], False, "same UID")


@cases
def diff_tells_by_its_exit_code(world):
    ns = world.new_namespace()
    same = json.dumps(configmap("c", {"a": "1"}, namespace=ns))
    world.kubectl("apply", "-f", "-", stdin=same)
    equal(world.kubectl("diff", "-f", "-", stdin=same), "", "no difference")
    changed = json.dumps(configmap("c", {"a": "2"}, namespace=ns))
    out = world.kubectl.run("diff", "-f", "-", stdin=changed, code=1).stdout
    matches(out, r'^-  a: "1"$')
    matches(out, r'^\+  a: "2"$')
    new = json.dumps(configmap("new", namespace=ns))
    out = world.kubectl.run("diff", "-f", "-", stdin=new, code=1).stdout
    matches(out, r"^\+kind: ConfigMap$")


@cases
def scale_a_job(world):
    ns = fill(world)
    contains(world.kubectl("scale", "-n", ns, "job/j", "--replicas=3"), "scaled")
    equal(world.api.get(f"/apis/batch/v1/namespaces/{ns}/jobs/j")["spec"]["parallelism"], 3, "parallelism")
    text = world.kubectl.refused("scale", "-n", ns, "job/j", "--replicas=5", "--current-replicas=1")
    contains(text, "Expected replicas to be 1, was 3")


# ---- create ----

@cases
def create_from_the_command_line(world):
    ns = world.new_namespace() + "-made"
    contains(world.kubectl("create", "namespace", ns), f"namespace/{ns} created")
    contains(world.kubectl("create", "configmap", "c", "-n", ns, "--from-literal=a=b"),
             "configmap/c created")
    contains(world.kubectl("create", "job", "j", "-n", ns, "--image=busybox", "--", "date"),
             "job.batch/j created")
    contains(world.kubectl("run", "p", "-n", ns, "--image=busybox"), "pod/p created")
    equal(world.api.get(f"/api/v1/namespaces/{ns}/configmaps/c")["data"], {"a": "b"}, "data")
    stored = world.api.get(f"/apis/batch/v1/namespaces/{ns}/jobs/j")
    equal(stored["spec"]["template"]["spec"]["containers"][0]["command"], ["date"], "command")
    contains(world.kubectl.refused("create", "configmap", "c", "-n", ns),
             'configmaps "c" already exists')


@cases
def create_with_a_generated_name(world):
    ns = world.new_namespace()
    obj = configmap("x", namespace=ns)
    obj["metadata"] = {"generateName": "run-", "namespace": ns}
    made = {world.kubectl("create", "-f", "-", stdin=json.dumps(obj)).split()[0] for _ in range(5)}
    equal(len(made), 5, "different names")
    for name in made:
        matches(name, r"^configmap/run-[a-z0-9]{5}$")


@cases
def create_twice_is_refused(world):
    ns = world.new_namespace()
    obj = json.dumps(configmap("c", namespace=ns))
    world.kubectl("create", "-f", "-", stdin=obj)
    contains(world.kubectl.refused("create", "-f", "-", stdin=obj),
             "Error from server (AlreadyExists)", 'configmaps "c" already exists')


@cases
def create_in_a_missing_namespace_is_refused(world):
    text = world.kubectl.refused("create", "-f", "-", stdin=json.dumps(configmap("c", namespace="nowhere")))
    contains(text, 'namespaces "nowhere" not found')


# ---- delete ----

def family(world):
    """An owner with two dependents, one of which owns a third."""
    ns = world.new_namespace()
    owner = world.put(ns, configmap("owner"))
    child = world.put(ns, configmap("child", ownerReferences=owned_by(owner)))
    world.put(ns, configmap("other", ownerReferences=owned_by(owner)),
              configmap("grandchild", ownerReferences=owned_by(child)))
    return ns, f"/api/v1/namespaces/{ns}/configmaps"


@cases
def delete_in_the_background(world):
    ns, path = family(world)
    contains(world.kubectl("delete", "-n", ns, "cm/owner"), 'configmap "owner" deleted')
    for name in ("child", "other", "grandchild"):
        world.api.wait_gone(path, name)


@cases
def delete_in_the_foreground(world):
    ns, path = family(world)
    world.api.patch(f"{path}/other", {"metadata": {"finalizers": ["example.com/hold"]}})
    world.kubectl("delete", "-n", ns, "cm/owner", "--cascade=foreground", "--wait=false")
    world.api.wait_gone(path, "child")
    owner = world.api.get(f"{path}/owner")["metadata"]
    equal(owner["finalizers"], ["foregroundDeletion"], "finalizers of the owner that waits")
    equal("deletionTimestamp" in owner, True, "is being deleted")
    world.api.patch(f"{path}/other", {"metadata": {"finalizers": None}})
    world.api.wait_gone(path, "owner")
    world.api.refused(404, "GET", f"{path}/other")


@cases
def delete_and_orphan(world):
    ns, path = family(world)
    world.kubectl("delete", "-n", ns, "cm/owner", "--cascade=orphan")
    world.api.wait_gone(path, "owner")
    for name, owners in (("child", None), ("other", None), ("grandchild", 1)):
        meta = world.api.get(f"{path}/{name}")["metadata"]
        equal(len(meta.get("ownerReferences") or []), owners or 0, f"owners of {name}")


@cases
def delete_many(world):
    ns = fill(world)
    world.kubectl("delete", "cm", "-n", ns, "-l", "app=shop")
    equal(world.kubectl("get", "cm", "-n", ns, "-o", "name").split(), ["configmap/three"], "left")
    world.kubectl("delete", "cm,jobs", "-n", ns, "--all")
    equal(world.kubectl("get", "cm,jobs", "-n", ns, "-o", "name"), "", "left")
    contains(world.kubectl.refused("delete", "cm/three", "-n", ns), "NotFound")
    world.kubectl("delete", "cm/three", "-n", ns, "--ignore-not-found")


@cases
def finalizers_hold_an_object(world):
    ns = world.new_namespace()
    world.put(ns, configmap("held", finalizers=["example.com/hold"]))
    patch = ["patch", "-n", ns, "cm/held", "--type=merge", "-p"]
    with world.kubectl.beside("delete", "-n", ns, "cm/held") as waiting:
        waiting.lines.until('configmap "held" deleted')
        stored = world.api.wait_for(f"/api/v1/namespaces/{ns}/configmaps",
                                    lambda obj: "deletionTimestamp" in obj["metadata"])
        equal(waiting.popen.poll(), None, "kubectl waits")
        equal(stored["metadata"]["finalizers"], ["example.com/hold"], "finalizers")
        text = world.kubectl.refused(
            *patch, '{"metadata":{"finalizers":["example.com/hold","example.com/new"]}}')
        contains(text, "metadata.finalizers: Forbidden", "being deleted")
        world.kubectl(*patch, '{"metadata":{"finalizers":null}}')
        equal(waiting.wait(), 0, "exit code")
    contains(world.kubectl.refused("get", "-n", ns, "cm/held"), "NotFound")


@cases
def a_namespace_takes_its_content_with_it(world):
    ns = fill(world)
    world.kubectl("delete", "ns", ns)
    contains(world.kubectl.refused("get", "ns", ns), "NotFound")
    equal(world.kubectl("get", "cm,pods,jobs,leases", "-n", ns, "-o", "name"), "", "content")


@cases
def a_namespace_that_goes_takes_nothing_new(world):
    ns = world.new_namespace()
    world.put(ns, configmap("held", finalizers=["example.com/hold"]))
    world.kubectl("delete", "ns", ns, "--wait=false")
    contains(world.kubectl("get", "ns", ns), "Terminating")
    text = world.kubectl.refused("create", "-f", "-", stdin=json.dumps(configmap("late", namespace=ns)))
    contains(text, "Forbidden", "because it is being terminated")
    world.api.patch(f"/api/v1/namespaces/{ns}/configmaps/held", {"metadata": {"finalizers": None}})
    world.api.wait_gone("/api/v1/namespaces", ns)


# ---- what there is ----

@cases
def explain(world):
    contains(world.kubectl("explain", "pods"), "KIND:       Pod", "VERSION:    v1", "spec")
    contains(world.kubectl("explain", "pod.spec.containers"), "FIELD: containers", "image", "command")
    contains(world.kubectl("explain", "job.spec", "--recursive"), "GROUP:      batch", "template",
             "containers")
    contains(world.kubectl("explain", "lease.spec.holderIdentity"), "FIELD: holderIdentity <string>")
    contains(world.kubectl("explain", "jobset.spec.failurePolicy.restartStrategy"), "InPlaceRestart")
    contains(world.kubectl.refused("explain", "pod.spec.colour"), 'field "colour" does not exist')


@cases
def api_resources_and_versions(world):
    rows = {row[0]: row for row in columns(world.kubectl("api-resources"))
            if "metrics.k8s.io/v1beta1" not in row}
    equal(rows["pods"], ["pods", "po", "v1", "true", "Pod"], "pods")
    equal(rows["namespaces"][3], "false", "namespaces are not in one")
    out = world.kubectl("api-resources", "--api-group=batch", "-o", "name").split()
    equal(out, ["jobs.batch"], "of one group")
    verbs = world.kubectl("api-resources", "-o", "wide")
    matches(verbs, r"configmaps.*create,delete,deletecollection,get,list,patch,update,watch")
    matches(verbs, r"namespaces.* create,delete,get,list,patch,update,watch")
    world.api.refused(405, "DELETE", "/api/v1/namespaces?labelSelector=a=b")
    contains(world.kubectl("api-versions"), "v1\n", "batch/v1", "coordination.k8s.io/v1")
    contains(world.kubectl("version"), "Server Version: v1.")


# ---- being refused ----

@cases
def a_wrong_token(world):
    config = pathlib.Path(world.server.kubeconfig).read_text().replace(world.server.token, "m1.no.way")
    path = world.server.folder / "wrong.kubeconfig"
    path.write_text(config)
    text = Kubectl(world.server.folder / "wrong", path).refused("get", "ns")
    contains(text, "You must be logged in to the server")


@cases
def a_forbidden_verb(world):
    ns = fill(world)
    viewer = Kubectl(world.server.folder / "viewer", world.server.data / "view.kubeconfig")
    contains(viewer("get", "cm", "-n", ns), "one")
    text = viewer.refused("delete", "-n", ns, "cm/one")
    contains(text, "Error from server (Forbidden)", 'User "view" cannot delete resource "configmaps"',
             f'in the namespace "{ns}"')
    text = viewer.refused("create", "-f", "-", stdin=json.dumps(configmap("c", namespace=ns)))
    contains(text, 'cannot create resource "configmaps"')


@cases
def unknown_fields_are_refused_when_strict(world):
    ns = world.new_namespace()
    obj = pod("p", namespace=ns)
    obj["spec"]["colour"] = "red"
    text = world.kubectl.refused("apply", "-f", "-", stdin=json.dumps(obj))
    contains(text, "strict decoding error", 'unknown field "spec.colour"')
    run = world.kubectl.run("apply", "--validate=warn", "-f", "-", stdin=json.dumps(obj))
    contains(run.stderr, "Warning:", 'unknown field "spec.colour"')
    contains(run.stdout, "pod/p created")
    world.kubectl("delete", "-n", ns, "pod/p", "--now")
    run = world.kubectl.run("apply", "--validate=ignore", "-f", "-", stdin=json.dumps(obj))
    equal("Warning" in run.stderr, False, "warned")


@cases
def an_invalid_object(world):
    ns = world.new_namespace()
    obj = pod("x", namespace=ns)
    obj["spec"]["containers"][0]["name"] = "Not A Name"
    text = world.kubectl.refused("apply", "-f", "-", stdin=json.dumps(obj))
    contains(text, 'The Pod "x" is invalid', "spec.containers[0].name")
    obj = job("y", namespace=ns)
    obj["spec"]["parallelism"] = -1
    text = world.kubectl.refused("apply", "-f", "-", stdin=json.dumps(obj))
    contains(text, 'The Job "y" is invalid', "spec.parallelism", "-1")
    text = world.kubectl.refused("apply", "-f", "-", stdin=json.dumps(configmap("No_Name", namespace=ns)))
    contains(text, 'The ConfigMap "No_Name" is invalid', "metadata.name")


@cases
def server_side_apply(world):
    ns = world.new_namespace()
    run = world.kubectl.run("apply", "--server-side", "-f", "-", code=None,
                            stdin=json.dumps(configmap("c", namespace=ns)))
    if run.returncode != 0:
        contains(run.stderr, "server-side apply is not there yet")
        raise Skip("not there yet, and the server says so")
    contains(run.stdout, "serverside-applied")


if __name__ == "__main__":
    sys.exit(cases.main(lambda folder: server_world(folder, kubectl=True)))

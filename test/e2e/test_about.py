# SPDX-License-Identifier: Apache-2.0
"""What the server tells about itself: metrics, health, version, discovery, OpenAPI."""

import re
import sys

from muster_test import Cases, contains, equal, fail, matches, version_of
from objects import configmap, server_world

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(\{([a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? '
                    r"(-?[0-9.e+]+|NaN|[+-]Inf)")
cases = Cases()


@cases
def metrics_are_prometheus_text(world):
    answer = world.api.call("GET", "/metrics")
    contains(answer.headers["Content-Type"], "text/plain", "version=0.0.4")
    typed, helped, seen = set(), set(), set()
    for line in answer.text.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split()[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            equal(kind in ("counter", "gauge", "histogram", "summary"), True, line)
            equal(name in typed, False, f"second TYPE of {name}")
            typed.add(name)
        else:
            found = SAMPLE.fullmatch(line) or fail(f"not a sample: {line!r}")
            name = re.sub("_(bucket|sum|count)$", "", found[1])
            equal(found[1] in typed or name in typed, True, f"TYPE before {line}")
            equal((found[1], found[2]) in seen, False, f"second {line}")
            seen.add((found[1], found[2]))
    equal(typed, helped, "HELP for each TYPE")
    equal(answer.text.endswith("\n"), True, "last newline")


@cases
def metrics_count(world):
    before = world.metric("muster_committed_writes_total")
    ns = world.new_namespace()
    world.put(ns, configmap("a"), configmap("b"))
    equal(world.metric("muster_committed_writes_total") - before, 3, "writes")
    version = version_of(world.api.get("/api/v1/namespaces"))
    equal(world.metric("muster_store_revision"), version, "revision")


@cases
def health_and_version(world):
    for path in ("/readyz", "/livez", "/healthz"):
        answer = world.api.call("GET", path)
        equal((answer.status, answer.text), (200, "ok"), path)
        contains(world.api.call("GET", path + "?verbose").text, "[+]ping ok", "check passed")
    version = world.api.get("/version")
    equal(version["major"], "1", "major")
    matches(version["gitVersion"], r"^v1\.\d+\.\d+\+muster-\d")
    contains(" ".join(world.api.get("/")["paths"]), "/api", "/metrics")


def old_resources(world):
    """What discovery tells in its first form: {(group, version, resource): facts}."""
    found = {}
    roots = {("", version): f"/api/{version}" for version in world.api.get("/api")["versions"]}
    for group in world.api.get("/apis")["groups"]:
        equal(group["preferredVersion"] in group["versions"], True, f"preferred of {group['name']}")
        for version in group["versions"]:
            equal(version["groupVersion"], f"{group['name']}/{version['version']}", "groupVersion")
            roots[(group["name"], version["version"])] = f"/apis/{version['groupVersion']}"
    for (group, version), path in roots.items():
        for item in world.api.get(path)["resources"]:
            found[(group, version, item["name"])] = (
                item["kind"], item["namespaced"], tuple(sorted(item["verbs"])),
                tuple(item.get("shortNames", [])), item["singularName"] if "/" not in item["name"] else "")
    return found


def new_resources(world):
    """The same from the aggregated form."""
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    found = {}
    for root in ("/api", "/apis"):
        answer = world.api.call("GET", root, headers={"Accept": accept})
        contains(answer.headers["Content-Type"], "as=APIGroupDiscoveryList", "g=apidiscovery.k8s.io")
        for group in answer.json()["items"]:
            for version in group["versions"]:
                for item in version["resources"]:
                    key = (group["metadata"].get("name", ""), version["version"])
                    found[(*key, item["resource"])] = (
                        item["responseKind"]["kind"], item["scope"] == "Namespaced",
                        tuple(sorted(item["verbs"])), tuple(item.get("shortNames", [])),
                        item["singularResource"])
                    for sub in item.get("subresources", []):
                        found[(*key, f"{item['resource']}/{sub['subresource']}")] = (
                            sub["responseKind"]["kind"], item["scope"] == "Namespaced",
                            tuple(sorted(sub["verbs"])), (), "")
    return found


@cases
def both_forms_of_discovery_agree(world):
    old, new = old_resources(world), new_resources(world)
    equal(sorted(old), sorted(new), "resources")
    for key, facts in old.items():
        equal(new[key], facts, "/".join(key))
    for wanted in (("", "v1", "pods"), ("", "v1", "pods/status"), ("", "v1", "pods/binding"),
                   ("batch", "v1", "jobs/scale"), ("coordination.k8s.io", "v1", "leases"),
                   ("jobset.x-k8s.io", "v1alpha2", "jobsets"),
                   ("jobset.x-k8s.io", "v1alpha2", "jobsets/status"),
                   ("muster.dev", "v1alpha1", "nodeconfigs")):
        equal(wanted in old, True, "/".join(wanted))


@cases
def every_listed_resource_can_be_listed(world):
    for (group, version, name), facts in old_resources(world).items():
        if "/" in name or "list" not in facts[2]:
            continue
        path = f"/apis/{group}/{version}/{name}" if group else f"/api/{version}/{name}"
        listed = world.api.get(path)
        equal(listed["kind"], facts[0] + "List", path)


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


@cases
def openapi_documents_hold_together(world):
    index = world.api.get("/openapi/v3")["paths"]
    equal("api/v1" in index and "apis/batch/v1" in index, True, "index")
    kinds = set()
    for path, entry in index.items():
        answer = world.api.call("GET", entry["serverRelativeURL"])
        contains(answer.headers["Cache-Control"], "immutable")
        document = answer.json()
        matches(document["openapi"], r"^3\.0")
        schemas = document["components"]["schemas"]
        for ref in references(document):
            name = ref.removeprefix("#/components/schemas/")
            equal(name in schemas, True, f"{path}: {ref}")
        for schema in schemas.values():
            for gvk in schema.get("x-kubernetes-group-version-kind", []):
                kinds.add((gvk["group"], gvk["version"], gvk["kind"]))
        check_paths(path, document)
    for (group, version, name), facts in old_resources(world).items():
        if "/" not in name:
            equal((group, version, facts[0]) in kinds, True, f"schema of {facts[0]}")


def check_paths(path, document):
    """kubectl looks in the paths for which kinds take fieldValidation; what is measured is never written."""
    found = [operation for item in document["paths"].values()
             for method, operation in item.items() if method == "patch"]
    equal(bool(found), "metrics.k8s.io" not in path, f"{path}: patches")
    for operation in found:
        equal("x-kubernetes-group-version-kind" in operation, True, f"{path}: kind of a patch")
        equal("fieldValidation" in {p.get("name") for p in operation.get("parameters", [])}, True,
              f"{path}: fieldValidation")


if __name__ == "__main__":
    sys.exit(cases.main(server_world))

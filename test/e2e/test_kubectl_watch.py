# SPDX-License-Identifier: Apache-2.0
"""kubectl while things change: get -w, wait, and what both do when a connection is cut or the server
no longer remembers where they were."""

import contextlib
import re
import sys
import threading

from muster_test import LIMIT_S, Cases, Proxy, brief, contains, equal, fail, version_of
from objects import configmap, event, job, pod, server_world

WINDOW = 8  # changes that the server remembers
cases = Cases()


def row(line):
    return re.split(r"\s{2,}", line.strip())


def take_rows(watching, *wanted):
    """The next lines must begin with these cells."""
    for cells in wanted:
        got = row(watching.lines.next())[:len(cells)]
        equal(got, cells, f"row after {watching.lines.seen[:-1]}")


# ---- get -w ----

@cases
def get_w_prints_each_change(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    world.put(ns, configmap("a"))
    with world.kubectl.beside("get", "cm", "-n", ns, "-w") as watching:
        take_rows(watching, ["NAME", "DATA", "AGE"], ["a", "1"])
        world.put(ns, configmap("b", {"x": "1", "y": "2"}))
        take_rows(watching, ["b", "2"])
        world.api.patch(f"{path}/a", {"data": {"more": "yes"}})
        take_rows(watching, ["a", "2"])
        world.api.ok("DELETE", f"{path}/b")
        take_rows(watching, ["b", "2"])


@cases
def get_w_tells_the_type_of_each_change(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    world.put(ns, configmap("a"))
    with world.kubectl.beside("get", "cm", "-n", ns, "-w", "--output-watch-events") as watching:
        take_rows(watching, ["EVENT", "NAME", "DATA", "AGE"], ["ADDED", "a"])
        world.api.patch(f"{path}/a", {"data": {"more": "yes"}})
        world.api.ok("DELETE", f"{path}/a")
        take_rows(watching, ["MODIFIED", "a", "2"], ["DELETED", "a", "2"])


@cases
def get_watch_only_starts_with_changes(world):
    ns = world.new_namespace()
    world.put(ns, configmap("old"))
    with Proxy(world.server.socket) as proxy:
        with world.kubectl.beside("-s", proxy.url, "get", "cm", "-n", ns, "--watch-only",
                                  "-o", "name") as watching:
            with world.api.watch(f"/api/v1/namespaces/{ns}/configmaps") as events:
                number = 0
                # Which change is its first depends on when it is ready; none may be the old object.
                reader = threading.Thread(target=watching.lines.next)
                reader.start()
                while reader.is_alive() and number < 500:
                    world.put(ns, configmap(f"new{number}"))
                    events.until(lambda event: event["object"]["metadata"]["name"] == f"new{number}")
                    number += 1
                    reader.join(0.05)
                reader.join(LIMIT_S)
    contains(watching.lines.seen[0], "configmap/new")


@cases
def get_w_follows_a_selector(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    world.put(ns, configmap("in", labels={"app": "x"}), configmap("out"))
    with world.kubectl.beside("get", "cm", "-n", ns, "-w", "-l", "app=x",
                              "--output-watch-events") as watching:
        take_rows(watching, ["EVENT"], ["ADDED", "in"])
        world.api.patch(f"{path}/out", {"metadata": {"labels": {"app": "x"}}})
        world.api.patch(f"{path}/in", {"metadata": {"labels": {"app": "y"}}})
        take_rows(watching, ["ADDED", "out"], ["DELETED", "in"])


@cases
def get_w_of_one_object(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    world.put(ns, configmap("a"), configmap("b"))
    template = 'jsonpath={.metadata.name}{.data}{"\\n"}'
    with world.kubectl.beside("get", "cm/a", "-n", ns, "-w", "-o", template) as watching:
        watching.lines.until("^a")
        world.api.patch(f"{path}/b", {"data": {"n": "1"}})
        world.api.patch(f"{path}/a", {"data": {"n": "2"}})
        equal(watching.lines.next(), 'a{"key":"value","n":"2"}', "line")


@cases
def events_are_followed(world):
    ns = world.new_namespace()
    stored = world.put(ns, pod("p"))
    with world.kubectl.beside("events", "-n", ns, "--watch") as watching:
        world.put(ns, event("p.1", stored, "Pulled", "the image is there"))
        watching.lines.until("Pulled")


# ---- wait ----

def wait_beside(world, ns, *words):
    """kubectl wait behind a proxy that tells when its watch is open."""
    opened = threading.Event()
    proxy = Proxy(world.server.socket, lambda line: "watch=true" in line and opened.set())
    process = world.kubectl.beside("-s", proxy.url, "wait", "-n", ns, f"--timeout={LIMIT_S}s", *words)
    return proxy, process, opened


def check_wait(world, ns, words, change, said):
    proxy, process, opened = wait_beside(world, ns, *words)
    with proxy, process:
        if not opened.wait(LIMIT_S):
            fail(f"kubectl wait opened no watch: {proxy.requests}")
        equal(process.popen.poll(), None, "it waits")
        change()
        equal(process.wait(), 0, "exit code")
        contains("\n".join(process.lines.rest()), said)


@cases
def wait_for_a_condition(world):
    ns = world.new_namespace()
    world.put(ns, job("j"))
    status = f"/apis/batch/v1/namespaces/{ns}/jobs/j/status"
    other = {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}}
    done = {"status": {"conditions": [{"type": "Suspended", "status": "False"},
                                      {"type": "Complete", "status": "True"}]}}

    def change():
        world.api.patch(status, other)
        world.api.patch(status, done)

    check_wait(world, ns, ["job/j", "--for=condition=Complete"], change, "job.batch/j condition met")
    equal(world.kubectl("wait", "-n", ns, "job/j", "--for=condition=Suspended=False"),
          "job.batch/j condition met\n", "met already")


@cases
def wait_for_a_field(world):
    ns = world.new_namespace()
    world.put(ns, pod("p"))
    check_wait(world, ns, ["pod/p", "--for=jsonpath={.status.phase}=Running"],
               lambda: world.api.patch(f"/api/v1/namespaces/{ns}/pods/p/status",
                                       {"status": {"phase": "Running"}}), "pod/p condition met")


@cases
def wait_for_deletion(world):
    ns = world.new_namespace()
    world.put(ns, configmap("a"))
    check_wait(world, ns, ["cm/a", "--for=delete"],
               lambda: world.api.ok("DELETE", f"/api/v1/namespaces/{ns}/configmaps/a"),
               "configmap/a condition met")


@cases
def wait_for_creation(world):
    ns = world.new_namespace()
    asked = threading.Event()
    proxy = Proxy(world.server.socket, lambda line: "/configmaps/late" in line and asked.set())
    with proxy, world.kubectl.beside("-s", proxy.url, "wait", "-n", ns, "cm/late", "--for=create",
                                     f"--timeout={LIMIT_S}s") as process:
        equal(asked.wait(LIMIT_S), True, "asked for it")
        world.put(ns, configmap("late"))
        equal(process.wait(), 0, "exit code")
        contains("\n".join(process.lines.rest()), "configmap/late condition met")


@cases
def wait_gives_up(world):
    ns = world.new_namespace()
    world.put(ns, job("j"))
    text = world.kubectl.refused("wait", "-n", ns, "job/j", "--for=condition=Complete", "--timeout=1s")
    contains(text, "timed out waiting for the condition on jobs/j")


# ---- cut off ----

@cases
def a_watch_that_is_cut_ends(world):
    ns = world.new_namespace()
    world.put(ns, configmap("a"))
    with Proxy(world.server.socket) as proxy:
        with world.kubectl.beside("-s", proxy.url, "get", "cm", "-n", ns, "-w") as watching:
            watching.lines.until("^a ")
            world.put(ns, configmap("b"))
            watching.lines.until("^b ")
            proxy.cut()
            watching.wait()


@cases
def wait_survives_a_cut(world):
    ns = world.new_namespace()
    world.put(ns, pod("p"))
    proxy, process, opened = wait_beside(world, ns, "pod/p", "--for=jsonpath={.status.phase}=Running")
    with proxy, process:
        equal(opened.wait(LIMIT_S), True, "watch opened")
        opened.clear()
        proxy.cut()
        world.api.patch(f"/api/v1/namespaces/{ns}/pods/p/status", {"status": {"phase": "Running"}})
        equal(process.wait(), 0, "exit code")


@cases
def a_watch_resumes_where_it_was_cut(world):
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    began = version_of(world.api.get(path))
    with world.api.watch(path, resourceVersion=began) as events:
        world.put(ns, configmap("a"), configmap("b"))
        seen = events.take(2)
    world.api.patch(f"{path}/a", {"data": {"n": "1"}})
    world.api.ok("DELETE", f"{path}/b")
    world.put(world.new_namespace(), configmap("elsewhere"))
    world.put(ns, configmap("c"))
    last = version_of(seen[-1]["object"])
    with world.api.watch(path, resourceVersion=last) as events:
        missed = events.take(3)
        world.put(ns, configmap("end"))
        missed += events.take(1)
    equal(brief(missed), ["MODIFIED a", "DELETED b", "ADDED c", "ADDED end"], "missed events")
    versions = [last] + [version_of(event["object"]) for event in missed]
    equal(versions, sorted(set(versions)), "versions rise")


# ---- forgotten ----

def push_out(world):
    """More changes than the server remembers."""
    noise = world.new_namespace()
    world.put(noise, *[configmap(f"n{i}") for i in range(2 * WINDOW)])


@cases
def wait_survives_410(world):
    ns = world.new_namespace()
    world.put(ns, pod("p"))
    held = threading.Event()
    go_on = threading.Event()

    def before(line):
        if "watch=true" in line and not held.is_set():
            held.set()
            go_on.wait(LIMIT_S)

    with Proxy(world.server.socket, before) as proxy:
        with world.kubectl.beside("-s", proxy.url, "wait", "-n", ns, "pod/p", f"--timeout={LIMIT_S}s",
                                  "--for=jsonpath={.status.phase}=Running") as process:
            equal(held.wait(LIMIT_S), True, "watch asked for")
            push_out(world)
            world.api.patch(f"/api/v1/namespaces/{ns}/pods/p/status", {"status": {"phase": "Running"}})
            go_on.set()
            equal(process.wait(), 0, "exit code")
            contains("\n".join(process.lines.rest()), "pod/p condition met")
        lists = [line for line in proxy.requests if "watch=true" not in line and "/pods" in line]
        equal(len(lists) >= 2, True, "listed again")


@cases
def get_w_is_told_410(world):
    ns = world.new_namespace()
    world.put(ns, configmap("a"))
    held = threading.Event()
    go_on = threading.Event()

    def before(line):
        if "watch=true" in line:
            held.set()
            go_on.wait(LIMIT_S)

    with Proxy(world.server.socket, before) as proxy:
        with world.kubectl.beside("-s", proxy.url, "get", "cm", "-n", ns, "-w") as watching:
            equal(held.wait(LIMIT_S), True, "watch asked for")
            push_out(world)
            go_on.set()
            watching.wait()
            contains("\n".join(watching.errors.rest() + watching.lines.rest()), "too old resource version")


@contextlib.contextmanager
def make_world(folder):
    with server_world(folder, "--watch-window", str(WINDOW), kubectl=True) as world:
        yield world


if __name__ == "__main__":
    sys.exit(cases.main(make_world))

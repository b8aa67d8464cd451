# SPDX-License-Identifier: Apache-2.0
"""What a pod's spec says, honoured on real processes: environment, volumes, probes, readiness by
notification, users, limits; and what is refused by name."""

import contextlib
import http.server
import os
import pathlib
import sys
import threading

from muster_test import Cases, Skip, contains, equal, fail
from pods import (container, exec_probe, is_ready, node, pod, state_of, statuses, wait_until)

cases = Cases()
NOTIFY = """
import os, socket, sys, time
def say(text):
    address = os.environ["NOTIFY_SOCKET"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(text.encode(), "\\0" + address[1:] if address[0] == "@" else address)
"""


def over(thing):
    return thing["status"].get("phase") in ("Succeeded", "Failed")


def output(n, name, *containers, **spec):
    """What the first container of a pod that ends printed."""
    thing = n.run(pod(name, *containers, restartPolicy="Never", **spec), over)
    first = containers[0]["name"]
    ended = statuses(thing)[first]["state"].get("terminated", {})
    if ended.get("exitCode") != 0:
        fail(f"{name} ended with {ended}, log {n.log(thing, first)!r}")
    return n.log(thing, first)


def configmap(n, name, data):
    n.api.ok("POST", "/api/v1/namespaces/default/configmaps",
             {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


# ---- environment ----

@cases
def environment_from_everywhere(n):
    configmap(n, "settings", {"color": "blue", "size": "7", "9lives": "x"})
    env = [{"name": "PLAIN", "value": "a"}, {"name": "BOTH", "value": "$(PLAIN)-$$(PLAIN)-$(NONE)"},
           {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
           {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['x']"}}},
           {"name": "CPU", "valueFrom": {"resourceFieldRef": {
               "resource": "requests.cpu", "divisor": "1m"}}},
           {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings",
                                                               "key": "color"}}},
           {"name": "GONE", "valueFrom": {"configMapKeyRef": {"name": "nothing", "key": "k",
                                                              "optional": True}}}]
    text = output(n, "env", container(
        "a", "echo $PLAIN $BOTH $WHO $LABEL $CPU $COLOR ${GONE-unset} $P_size; echo \"$@\"",
        env=env, envFrom=[{"prefix": "P_", "configMapRef": {"name": "settings"}}],
        args=["zero", "$(WHO)"], resources={"requests": {"cpu": "250m"}}),
        annotations={"x": "y"})
    equal(text, "a a-$(PLAIN)-$(NONE) env y 250 blue unset 7\nenv\n")


@cases
def a_pod_waits_for_its_configmap(n):
    n.create(pod("later", container("a", "echo $V", env=[{"name": "V", "valueFrom": {
        "configMapKeyRef": {"name": "late", "key": "v"}}}]), restartPolicy="Never"))
    thing = n.wait("later", lambda p: statuses(p).get("a", {}).get("state", {}).get(
        "waiting", {}).get("reason") == "CreateContainerConfigError")
    contains(statuses(thing)["a"]["state"]["waiting"]["message"], "late")
    configmap(n, "late", {"v": "here"})
    thing = n.wait("later", over)
    equal(n.log(thing, "a"), "here\n")


@cases
def the_working_directory_and_the_user(n):
    if os.getuid() != 0:
        raise Skip("only root starts processes of other users")
    text = output(n, "who", container("a", "pwd; id -u; id -g; id -G", workingDir="/usr",
                                      securityContext={"runAsUser": 65534, "runAsGroup": 65533}),
                  securityContext={"supplementalGroups": [65532]})
    equal(text.split("\n")[:3], ["/usr", "65534", "65533"])
    contains(text, "65532")


# ---- volumes ----

@cases
def volumes_are_shared_and_go_with_the_pod(n):
    if os.getuid() != 0:
        raise Skip("mounting needs root")
    configmap(n, "files", {"a.txt": "from the map"})
    host = n.scratch("host")
    host.mkdir()
    mounts = [{"name": "share", "mountPath": "/tmp/muster-test-share"},
              {"name": "map", "mountPath": "/tmp/muster-test-map", "readOnly": True},
              {"name": "host", "mountPath": "/tmp/muster-test-host"}]
    volumes = [{"name": "share", "emptyDir": {}}, {"name": "map", "configMap": {"name": "files"}},
               {"name": "host", "hostPath": {"path": str(host)}}]
    try:
        text = output(n, "volumes", container(
            "a", "while ! test -f /tmp/muster-test-share/b; do sleep 0.02; done; "
                 "cat /tmp/muster-test-share/b /tmp/muster-test-map/a.txt; "
                 "echo x > /tmp/muster-test-host/made; "
                 "(echo y > /tmp/muster-test-map/no) 2> /dev/null || echo read-only",
            volumeMounts=mounts),
            container("b", "echo from b > /tmp/muster-test-share/b", volumeMounts=mounts),
            volumes=volumes)
        equal(text, "from b\nfrom the mapread-only\n")
        equal((host / "made").read_text(), "x\n")
        n.delete("volumes")
        wait_until(lambda: not list((n.server.data / "node/pods").iterdir()), "files are gone")
    finally:
        for name in ("share", "map", "host"):
            with contextlib.suppress(OSError):
                os.rmdir(f"/tmp/muster-test-{name}")


@cases
def case_85_86_volumes_outlive_a_restart_of_all_containers(n):
    if os.getuid() != 0:
        raise Skip("mounting needs root")
    place = "/tmp/muster-test-kept"
    mounts = {"volumeMounts": [{"name": "kept", "mountPath": place}]}
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [64]}}
    try:
        n.create(pod("kept", container(
            "a", f"echo a >> {place}/runs; test $(grep -c a {place}/runs) = 2 || exit 64; "
                 f"cat {place}/runs; exec sleep 1000", restartPolicy="Never", restartPolicyRules=[rule], **mounts),
            container("b", "exec sleep 1000"), inits=[container("i", f"echo i >> {place}/runs", **mounts)],
            restartPolicy="Never", volumes=[{"name": "kept", "emptyDir": {}}]))
        thing = n.wait("kept", lambda p: is_ready(p) and len(statuses(p)) == 3 and
                       all(one["restartCount"] == 1 for one in statuses(p).values()))
        wait_until(lambda: n.log(thing, "a", generation=2) == "i\na\ni\na\n", "what both runs wrote")
        equal({name: one["lastState"]["terminated"]["exitCode"] for name, one in statuses(thing).items()},
              {"i": 0, "a": 64, "b": 137}, "last states")
        n.delete("kept", grace=0)
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(place)


# ---- readiness ----

@contextlib.contextmanager
def web_server(answers):
    """An HTTP server that answers with answers["code"], or hangs up."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answers.setdefault("seen", []).append((self.path, self.headers.get("X-Test")))
            self.send_response(answers["code"])
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@cases
def http_and_tcp_probes(n):
    answers = {"code": 503}
    with web_server(answers) as port:
        n.create(pod("web", container("a", readinessProbe={
            "httpGet": {"port": port, "path": "/well?x=1",
                        "httpHeaders": [{"name": "X-Test", "value": "yes"}]},
            "periodSeconds": 1, "failureThreshold": 1}),
            container("b", readinessProbe={"tcpSocket": {"port": port}})))
        thing = n.wait("web", lambda p: state_of(p, "b") == "ready")
        equal(state_of(thing, "a"), "starting")
        answers["code"] = 204
        n.wait("web", is_ready)
        equal(answers["seen"][0], ("/well?x=1", "yes"))
        answers["code"] = 500
        thing = n.wait("web", lambda p: not statuses(p)["a"]["ready"])
        equal(statuses(thing)["a"]["restartCount"], 0)
        equal(state_of(thing, "a"), "ready", "has been ready")
    n.delete("web", grace=0)


@cases
def a_container_says_that_it_is_ready(n):
    go = n.scratch("go")
    script = NOTIFY + (f"say('STATUS=loading')\nwhile not os.path.exists({str(go)!r}): time.sleep(.02)\n"
                       "say('READY=1\\nSTATUS=serving')\ntime.sleep(1000)")
    n.create(pod("tells", container("a", ["python3", "-c", script]),
                 annotations={"muster.dev/notify": "true"}))
    thing = n.wait("tells", lambda p: statuses(p).get("a", {}).get("lifecycle", {}).get(
        "message") == "loading")
    equal(state_of(thing, "a"), "starting")
    go.write_text("")
    n.wait("tells", lambda p: is_ready(p) and
           statuses(p)["a"]["lifecycle"].get("message") == "serving")
    n.delete("tells", grace=0)


@cases
def more_time_can_be_asked_for(n):
    script = NOTIFY + ("for i in range(8):\n say('EXTEND_TIMEOUT_USEC=2000000')\n time.sleep(.1)\n"
                       "say('READY=1')\ntime.sleep(1000)")
    n.run(pod("slow", container("a", ["python3", "-c", script], startTimeout="400ms"),
              annotations={"muster.dev/notify": "a"}, restartPolicy="Never"))
    n.delete("slow", grace=0)


@cases
def a_watchdog_that_is_not_fed_restarts(n):
    script = NOTIFY + "say('READY=1')\nsay('WATCHDOG=1')\ntime.sleep(1000)"
    n.create(pod("dog", container("a", ["python3", "-c", script]),
                 annotations={"muster.dev/notify": "true", "muster.dev/watchdog": "700ms"}))
    n.wait("dog", lambda p: statuses(p).get("a", {}).get("restartCount") == 1)
    n.delete("dog", grace=0)


# ---- limits ----

def need_groups(n):
    conditions = n.api.get("/api/v1/nodes")["items"][0]["status"]["conditions"]
    for one in conditions:
        if one["type"] == "ControlGroups" and one["status"] != "True":
            raise Skip(one["message"])


@cases
def too_much_memory_is_told_as_such(n):
    need_groups(n)
    thing = n.run(pod("greedy", container(
        "a", ["python3", "-c", "x = bytearray(200 << 20); print(len(x))"],
        resources={"limits": {"memory": "40Mi"}}), restartPolicy="Never"), over)
    ended = statuses(thing)["a"]["state"]["terminated"]
    equal((ended["reason"], ended["exitCode"]), ("OOMKilled", 137))


@cases
def pods_get_the_descriptors_of_the_shell(n):
    import resource
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    equal(output(n, "descriptors", container("a", "ulimit -n; ls /proc/self/fd | wc -l")).split(),
          [str(soft), "4"])


@cases
def a_starting_pod_weighs_less(n):
    need_groups(n)
    go = n.scratch("go")
    n.create(pod("heavy", container("a", readinessProbe=exec_probe(f"test -f {go}"),
                                    resources={"requests": {"cpu": "1"}})))
    thing = n.wait("heavy", lambda p: state_of(p, "a") == "starting")
    files = [p for pattern in ("cpu/muster.slice", "cpu,cpuacct/muster.slice", "muster.slice")
             for p in pathlib.Path("/sys/fs/cgroup").glob(
                 f"{pattern}/*/pod-{thing['metadata']['uid']}.slice/cpu.*")
             if p.name in ("cpu.shares", "cpu.weight")]
    if not files:
        raise Skip("no weights here")
    starting = int(files[0].read_text())
    go.write_text("")
    n.wait("heavy", is_ready)
    wait_until(lambda: int(files[0].read_text()) > starting, "the full weight")
    n.delete("heavy", grace=0)


# ---- what cannot be ----

@cases
def what_is_not_supported_is_refused_by_name(n):
    refused = {
        "image": {"image": "busybox"},
        "privileged": {"securityContext": {"privileged": True}},
        "secretKeyRef": {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s",
                                                                             "key": "k"}}}]},
        "grpc": {"livenessProbe": {"grpc": {"port": 1}}},
    }
    for number, (word, more) in enumerate(refused.items()):
        thing = n.run(pod(f"refused-{number}", container("a", **more)), over)
        equal((thing["status"]["phase"], thing["status"]["reason"]), ("Failed", "Unsupported"))
        contains(thing["status"]["message"], word, "spec.containers[0]")
    thing = n.run(pod("nfs", container("a"), volumes=[{"name": "v", "nfs": {
        "server": "s", "path": "/p"}}]), over)
    contains(thing["status"]["message"], "spec.volumes[0].nfs")


@cases
def an_image_may_be_ignored_on_the_pods_own_wish(n):
    equal(output(n, "ignored", container("a", "echo ran", image="busybox"),
                 annotations={"muster.dev/runtime": "process"}), "ran\n")


if __name__ == "__main__":
    sys.exit(cases.main(node))

# SPDX-License-Identifier: Apache-2.0
"""Pods as real processes: the order in which containers start, the throttle, and each row of what
the throttling study leaves open."""

import contextlib
import sys

from muster_test import Cases, contains, equal, fail
from pods import (PODS, check_order, container, exec_probe, is_ready, moved_at, moves, node, pod,
                  state_of, statuses, wait_until)

cases = Cases()


def waiting(thing, name):
    return statuses(thing).get(name, {}).get("state", {}).get("waiting", {})


def ready_file(path, work="", then="exec sleep 1000"):
    """A container that works, then makes a file, and a probe that looks for it."""
    return {"command": ["sh", "-c", f"rm -f {path}; {work}\n: > {path}; {then}"],
            "readinessProbe": exec_probe(f"test -f {path}")}


# ---- the graph ----

@cases
def the_studys_example_starts_in_its_order(n):
    """Declared in the wrong order on purpose."""
    names = "edcba"
    needs = {"a": [], "b": ["a"], "c": ["b"], "d": ["b"], "e": ["c", "d"]}
    thing = n.run(pod("study", *(
        {"name": f"app-{x}", "dependsOn": [f"app-{y}" for y in needs[x]],
         **ready_file(n.scratch(x))} for x in names)))
    check_order(thing, [(f"app-{y}", f"app-{x}") for x in names for y in needs[x]])
    n.delete("study")


@cases
def unknown_names_and_circles_are_refused(n):
    def refusal(*containers):
        return n.api.refused(422, "POST", PODS, pod("wrong", *containers))["message"]

    contains(refusal(container("app-a"), container("app-b", dependsOn=["app_a"])),
             "dependsOn[0].name", "app_a", "app-a")
    contains(refusal(container("a", dependsOn=["b"]), container("b", dependsOn=["c"]),
                     container("c", dependsOn=["a"])), "cycle: a -> b -> c -> a")
    contains(refusal(container("a", dependsOn=["a"])), "cannot wait for itself")
    contains(refusal(container("a"), container("b", dependsOn=["a", "a"])), "Duplicate value")


@cases
def completed_and_started_are_conditions(n):
    flag = n.scratch("flag")
    n.create(pod("conditions",
                 container("after", f"test -f {flag} && exec sleep 1000",
                           dependsOn=[{"name": "setup", "condition": "completed"}]),
                 container("beside", dependsOn=[{"name": "slow", "condition": "started"}]),
                 container("slow", readinessProbe=exec_probe("false")),
                 container("setup", f": > {flag}", restartPolicy="OnFailure",
                           restartPolicyRules=[{"action": "Terminate",
                                                "exitCodes": {"operator": "In", "values": [0]}}])))
    thing = n.wait("conditions", lambda p: state_of(p, "after") == "ready" and
                   state_of(p, "beside") == "ready")
    equal(state_of(thing, "setup"), "exited")
    equal(state_of(thing, "slow"), "starting")
    n.delete("conditions")


@cases
def a_dependency_that_failed_for_good_is_the_reason_shown(n):
    n.create(pod("hopeless", container("db", "exit 3", readinessProbe=exec_probe("false")),
                 container("app", dependsOn=["db"]),
                 container("other"), restartPolicy="Never"))
    thing = n.wait("hopeless", lambda p: waiting(p, "app").get("reason") == "DependencyFailed")
    contains(waiting(thing, "app")["message"], "db")
    equal(state_of(thing, "app"), "blocked")
    equal(state_of(thing, "other"), "ready")
    n.delete("hopeless", grace=0)


@cases
def a_blocked_container_is_deleted_without_a_trace(n):
    thing = n.run(pod("waits", container("db", readinessProbe=exec_probe("false")),
                      container("app", dependsOn=["db"])),
                  lambda p: state_of(p, "app") == "blocked" and state_of(p, "db") == "starting")
    equal(n.log(thing, "app"), "")
    n.delete("waits", grace=0)
    again = n.run(pod("waits", container("app")))
    equal(statuses(again)["app"]["restartCount"], 0)
    n.delete("waits")


# ---- the throttle ----

@cases
def never_more_than_the_cap_are_starting(n):
    n.configure(maxStarting=2)
    count, gone = 6, n.scratch("log")
    command = f"echo + >> {gone}; sleep 0.1; echo - >> {gone}; : > {{}}; exec sleep 1000"
    files = [n.scratch(str(i)) for i in range(count)]
    thing = n.run(pod("capped", *(
        {"name": f"c{i}", "command": ["sh", "-c", command.format(files[i])],
         "readinessProbe": exec_probe(f"test -f {files[i]}")} for i in range(count))))
    running = most = 0
    for sign in gone.read_text().split():
        running += 1 if sign == "+" else -1
        most = max(most, running)
    if most > 2:
        fail(f"{most} were starting at one time")
    spans = sorted((moved_at(thing, f"c{i}", "starting"), moved_at(thing, f"c{i}", "ready"))
                   for i in range(count))
    for i in range(2, count):
        if sum(1 for start, ready in spans[:i] if ready > spans[i][0]) > 1:
            fail(f"a third container started: {spans}")
    n.delete("capped")
    n.configure()


@cases
def the_unlucky_flow_is_dissolved_by_the_minimum_rate(n):
    """b and c hold both slots and wait for a, which nobody has told the node of."""
    n.configure(maxStarting=2, minRate=2)
    there = n.scratch("a")
    wait_for_a = {"readinessProbe": exec_probe(f"test -f {there}")}
    thing = n.run(pod("unlucky", container("b", **wait_for_a), container("c", **wait_for_a),
                      container("a", f": > {there}; exec sleep 1000",
                                readinessProbe=exec_probe("true"))))
    if moved_at(thing, "a", "starting") <= moved_at(thing, "c", "starting"):
        fail("a started before c: that was the lucky flow")
    metrics = n.api.call("GET", "/metrics").text
    if "muster_forced_starts_total 0\n" in metrics:
        fail("no start was forced")
    n.delete("unlucky")
    n.configure()


@cases
def with_the_dependency_written_down_the_same_pod_needs_no_luck(n):
    n.configure(maxStarting=2, minRate=0)
    there = n.scratch("a")
    wait_for_a = {"readinessProbe": exec_probe(f"test -f {there}"), "dependsOn": ["a"]}
    n.run(pod("lucky", container("b", **wait_for_a), container("c", **wait_for_a),
              container("a", f": > {there}; exec sleep 1000",
                        readinessProbe=exec_probe(f"test -f {there}"))))
    n.delete("lucky")
    n.configure()


@cases
def zero_freezes_and_the_gate_is_named(n):
    n.configure(maxRate=0)
    n.create(pod("frozen", container("a", readinessProbe=exec_probe("true"))))
    thing = n.wait("frozen", lambda p: waiting(p, "a").get("reason") == "StartThrottled")
    contains(waiting(thing, "a")["message"], "frozen")
    n.configure(maxRate=100)
    n.wait("frozen", is_ready)
    n.delete("frozen")
    n.configure()


@cases
def a_start_that_takes_too_long_fails_and_frees_its_slot(n):
    n.configure(maxStarting=1)
    n.create(pod("slow", container("slow", "trap '' TERM; while :; do sleep 0.1; done",
                                   startTimeout="300ms", readinessProbe=exec_probe("false")),
                 container("next", readinessProbe=exec_probe("true")), restartPolicy="Never"))
    thing = n.wait("slow", lambda p: state_of(p, "next") == "ready")
    equal(state_of(thing, "slow"), "failed")
    equal(statuses(thing)["slow"]["state"]["terminated"]["reason"], "StartTimeout")
    n.delete("slow")
    n.configure()


# ---- ends and restarts ----

@cases
def a_program_that_is_not_there_is_a_reason_of_its_own(n):
    n.create(pod("nothing", container("a", ["/no/such/program"]), restartPolicy="Never"))
    thing = n.wait("nothing", lambda p: p["status"].get("phase") == "Failed")
    ended = statuses(thing)["a"]["state"]["terminated"]
    equal(ended["reason"], "StartError")
    contains(ended["message"], "/no/such/program", "No such file")
    n.delete("nothing")


@cases
def an_exit_while_starting_is_a_failure_at_once(n):
    n.create(pod("early", container("a", "exit 7", readinessProbe=exec_probe("false")),
                 restartPolicy="Never"))
    thing = n.wait("early", lambda p: p["status"].get("phase") == "Failed")
    equal(statuses(thing)["a"]["state"]["terminated"]["exitCode"], 7)
    equal(moves(thing, "a")[-2:], ["starting", "failed"])
    n.delete("early")


@cases
def a_ready_container_that_crashes_passes_the_throttle_again(n):
    stop, up = n.scratch("stop"), n.scratch("up")
    command = (f": > {up}; while ! test -f {stop}; do sleep 0.02; done; rm {stop}; exit 1")
    n.run(pod("crash", container("a", command, readinessProbe=exec_probe(f"test -f {up}"))))
    stop.write_text("")
    thing = n.wait("crash", lambda p: statuses(p)["a"]["restartCount"] == 1 and is_ready(p))
    equal(moves(thing, "a")[-4:], ["blocked", "pending", "starting", "ready"])
    equal(statuses(thing)["a"]["lastState"]["terminated"]["exitCode"], 1)
    stop.write_text("")
    thing = n.wait("crash", lambda p: waiting(p, "a").get("reason") == "CrashLoopBackOff")
    n.delete("crash", grace=0)


@cases
def only_a_liveness_probe_makes_ready_first_and_restarts_later(n):
    well = n.scratch("well")
    n.create(pod("lively", container(
        "a", livenessProbe=exec_probe(f"test -f {well}", failureThreshold=1))))
    thing = n.wait("lively", lambda p: state_of(p, "a") == "starting")
    equal(statuses(thing)["a"]["restartCount"], 0)
    well.write_text("")
    n.wait("lively", is_ready)
    well.unlink()
    n.wait("lively", lambda p: statuses(p)["a"]["restartCount"] == 1)
    n.delete("lively", grace=0)


@cases
def init_containers_and_sidecars_come_first_and_sidecars_go_last(n):
    order = n.scratch("order")
    say = f"echo {{0}} >> {order}; trap 'echo {{0}}-ends >> {order}; exit 0' TERM; "
    stay = "while :; do sleep 0.05; done"
    n.create(pod(
        "parts", container("main", say.format("main") + "sleep 0.1"),
        inits=[container("one", say.format("one")),
               container("side", say.format("side") + stay, restartPolicy="Always",
                         startupProbe=exec_probe(f"grep -q side {order}")),
               container("two", say.format("two"))],
        restartPolicy="Never"))
    thing = n.wait("parts", lambda p: p["status"].get("phase") == "Succeeded")
    equal(order.read_text().split(), ["one", "side", "two", "main", "side-ends"])
    equal(state_of(thing, "side"), "exited")
    n.delete("parts")


@cases
def rules_decide_by_exit_code(n):
    again = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}},
             {"action": "Terminate", "exitCodes": {"operator": "NotIn", "values": [3]}}]
    count = n.scratch("count")
    n.create(pod("rules", container(
        "a", f"echo x >> {count}; test $(wc -l < {count}) -ge 2 && exit 4; exit 3",
        restartPolicy="Always", restartPolicyRules=again)))
    thing = n.wait("rules", lambda p: p["status"].get("phase") == "Failed")
    equal(statuses(thing)["a"]["restartCount"], 1)
    equal(statuses(thing)["a"]["state"]["terminated"]["exitCode"], 4)
    n.delete("rules")


@cases
def restart_all_containers_begins_with_the_init_containers(n):
    count = n.scratch("count")
    thing = n.run(pod(
        "all", container("agent", f"test $(wc -l < {count}) -ge 2 && exec sleep 1000; exit 42",
                         restartPolicy="Never", restartPolicyRules=[
                             {"action": "RestartAllContainers",
                              "exitCodes": {"operator": "In", "values": [42]}}]),
        container("worker"), inits=[container("init", f"echo x >> {count}")]),
        lambda p: is_ready(p) and statuses(p)["worker"]["restartCount"] == 1)
    equal({name: s["restartCount"] for name, s in statuses(thing).items()},
          {"init": 1, "agent": 1, "worker": 1})
    n.delete("all")


@cases
def everything_ends_in_reverse_order_with_its_hooks(n):
    order = n.scratch("order")
    loop = "while :; do sleep 0.02; done"
    trap = f"trap 'echo {{0}} >> {order}; exit 0' TERM; echo up; {loop}"
    thing = n.run(pod("stops", container("db", trap.format("db"), lifecycle={"preStop": {"exec": {
        "command": ["sh", "-c", f"echo hook >> {order}"]}}}),
        container("app", trap.format("app"), dependsOn=["db"]),
        container("web", trap.format("web"), dependsOn=["app"])))
    for name in ("db", "app", "web"):
        wait_until(lambda: "up" in n.log(thing, name), f"the trap of {name} is set")
    n.delete("stops")
    equal(order.read_text().split(), ["web", "app", "hook", "db"])


@cases
def what_ignores_the_signal_is_killed_when_its_grace_is_over(n):
    thing = n.run(pod("deaf", container("a", "trap '' TERM; echo up; while :; do sleep 0.05; done"),
                      grace=1))
    wait_until(lambda: "up" in n.log(thing, "a"), "the trap is set")
    n.delete("deaf")


@cases
def children_that_hide_are_found(n):
    pids = n.scratch("pids")
    n.run(pod("hides", container(
        "a", f"(setsid sh -c 'trap \"\" TERM HUP; echo $$$$ >> {pids}; while :; do sleep 1; done' &) ; "
             f"while ! test -s {pids}; do sleep 0.02; done; echo $$$$ >> {pids}; exec sleep 1000",
        readinessProbe=exec_probe(f"test $(wc -l < {pids}) -eq 2"))))
    n.delete("hides")
    for pid in map(int, pids.read_text().split()):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] != "Z":
                    fail(f"process {pid} is still there")


if __name__ == "__main__":
    sys.exit(cases.main(node))

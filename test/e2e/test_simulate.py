# SPDX-License-Identifier: Apache-2.0
"""muster simulate: scenarios in virtual time, told as lines of JSON."""

import json
import subprocess
import sys

from muster_test import SOURCE, Cases, contains, equal, fail, muster_path

cases = Cases()

NODES = "nodes:\n  - {name: n, count: 2, capacity: {cpu: 4, memory: 16Gi, example.com/gpu: 4}}\n"


def job(name, pods, start="5s", run="10m", more=""):
    return (f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {{"
            f"completionMode: Indexed, parallelism: {pods}, completions: {pods}, {more} template: {{"
            f"metadata: {{annotations: {{sim.muster.dev/start: {start}, sim.muster.dev/run: {run}}}}},"
            "spec: {restartPolicy: Never, containers: [{name: worker, image: x, "
            "resources: {requests: {cpu: 1}}}]}}}}")


def scenario(body, seed=1, until="2h"):
    text = body.replace("\n", "\n  ")
    return ("apiVersion: muster.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
            f"  seed: {seed}\n  until: {until}\n  {text}\n")


def run(*args, stdin=None, code=0):
    done = subprocess.run([muster_path(), "simulate", *args], input=stdin, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(done.returncode, code, f"exit code ({done.stderr})")
    return done


def play(text, code=0):
    """The lines and the end."""
    done = run("-", "-o", "jsonl", stdin=text, code=code)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    equal(lines[-1]["type"], "End", "last line")
    return lines[:-1], lines[-1], done.stderr


def find(lines, **wanted):
    return [line for line in lines if all(line.get(k) == v for k, v in wanted.items())]


def times(lines, **wanted):
    return [line["ms"] for line in find(lines, **wanted)]


@cases
def a_narrow_terminal_gets_a_narrow_table(_):
    text = scenario(NODES + "events:\n- {at: 30s, create: " + job("of-some-length", 2) + "}")
    for width in (80, 120):
        out = run("-", "--width", str(width), stdin=text).stdout
        rows = [line for line in out.splitlines() if line.startswith(("JOB", "job/"))]
        longest = max(map(len, rows))
        if longest > width:
            fail(f"{longest} columns of {width}:\n{out}")
        equal("   CREATED   " in out, width == 120, "wide gaps")


@cases
def a_job_runs_to_its_end_at_exact_times(_):
    lines, end, _ = play(scenario(NODES + "events:\n- {at: 30s, create: " + job("a", 2) + "}"))
    equal(times(lines, kind="Job", name="a", type="Created"), [30000], "created")
    equal(times(lines, kind="Pod", type="Container", state="starting"), [30000] * 2, "starting")
    equal(times(lines, kind="Pod", type="Container", state="ready"), [35000] * 2, "ready")
    equal(times(lines, kind="Pod", type="Phase", phase="Succeeded"), [635000] * 2, "over")
    equal(times(lines, kind="Job", type="Condition", condition="Complete", status="True"), [635000],
          "complete")
    equal(end["ms"], 635000, "it ends when nothing can happen any more")
    kinds = {obj["kind"] for obj in end["objects"]}
    equal({"Job", "Pod", "Node", "Namespace", "Lease"} <= kinds, True, f"kinds at the end {kinds}")
    equal(lines, sorted(lines, key=lambda line: line["ms"]), "order of time")


@cases
def hundreds_start_on_one_node(_):
    """More than a node starts at a time: the rest is due at once, and time goes on all the same."""
    one = "nodes:\n  - {name: n, capacity: {cpu: 1000, pods: 1000}}\n"
    lines, _, _ = play(scenario(one + "events:\n- {at: 30s, create: " + job("a", 300) + "}"))
    ready = times(lines, kind="Pod", type="Container", state="ready")
    equal(len(ready), 300, "ready")
    equal(max(ready) - min(ready) < 1000, True, f"all within a second: {min(ready)} to {max(ready)}")
    equal(len(times(lines, kind="Job", type="Condition", condition="Complete", status="True")), 1,
          "complete")


@cases
def the_same_seed_is_the_same_run(_):
    body = NODES + "events:\n- {at: 1s, create: " + job("a", 3) + "}\n- {at: 1m, controller: restart}"
    first = run("-", "-o", "jsonl", stdin=scenario(body), code=0).stdout
    equal(run("-", "-o", "jsonl", stdin=scenario(body)).stdout == first, True, "same bytes")
    equal(run("-", "-o", "jsonl", stdin=scenario(body, seed=2)).stdout == first, False, "another seed, other names")
    equal(run("-", "-o", "jsonl", "--seed", "2", stdin=scenario(body)).stdout ==
          run("-", "-o", "jsonl", stdin=scenario(body, seed=2)).stdout, True, "--seed is the scenario's seed")


@cases
def a_restart_of_the_control_plane_changes_no_time(_):
    body = NODES + "events:\n- {at: 0s, create: " + job("a", 2) + "}"
    kills = "".join(f"\n- {{at: {at}, controller: restart}}" for at in ("0s", "4999ms", "6s", "601s"))
    def story(text):
        lines, end, _ = play(scenario(text))
        return [(line["ms"], line["type"], line.get("state"), line.get("condition"))
                for line in lines if line["kind"] in ("Job", "Pod")], end["ms"]
    equal(sorted(map(str, story(body + kills)[0])), sorted(map(str, story(body)[0])), "lines")
    lines, _, _ = play(scenario(body + "\n- {at: 5s, controller: restart}"))
    equal(len(find(lines, type="Container", state="ready")), 2, "ready, though nobody heard it")


@cases
def a_node_falls_silent_and_comes_back(_):
    lines, end, _ = play(scenario(
        NODES + "events:\n- {at: 0s, create: " + job("a", 2, run="1h") + "}\n"
        "- {at: 60s, node: n-1, state: Unreachable}\n- {at: 200s, node: n-1, state: Ready}"))
    ready = find(lines, kind="Node", name="n-1", type="Condition", condition="Ready")
    equal([(line["ms"], line["status"]) for line in ready],
          [(0, "True"), (100000, "Unknown"), (200000, "True")], "what is said of the node")
    equal(times(lines, kind="Job", type="Condition", condition="Complete"), [3605000], "complete")
    equal(end["ms"], 3605000, "end")


@cases
def a_node_that_is_gone_takes_its_pods_along(_):
    lines, _, _ = play(scenario(
        NODES + "events:\n- {at: 0s, create: " + job("a", 6, run="1h") + "}\n"
        "- {at: 60s, node: n-1, state: Gone}\n- {at: 90s, node: n-0, state: Cordoned}"))
    equal(times(lines, kind="Node", name="n-1", type="Deleted"), [60000], "the node")
    lost = find(lines, kind="Pod", type="Phase", phase="Failed")
    equal({line["ms"] for line in lost}, {100000}, "its pods")
    equal(times(lines, kind="Node", name="n-0", type="Field", path="spec.unschedulable", value=True),
          [90000], "cordoned")


@cases
def a_drained_node_is_emptied_and_takes_nothing_until_it_is_back(_):
    for restart in ("", "\n- {at: 60s, controller: restart}"):
        lines, _, _ = play(scenario(
            NODES + "events:\n- {at: 0s, create: " + job("a", 4, run="1h") + "}\n"
            "- {at: 60s, node: n-1, state: Drained}" + restart +
            "\n- {at: 90s, create: " + job("b", 1) + "}"
            "\n- {at: 10m, node: n-1, state: Ready}\n- {at: 11m, create: " + job("c", 4) + "}"))
        bound = find(lines, kind="Pod", type="Field", path="spec.nodeName")
        on_it = {line["name"] for line in bound if line["value"] == "n-1" and line["ms"] < 60000}
        equal(len(on_it) > 0, True, "somebody was there")
        gone = {line["name"] for line in find(lines, kind="Pod", type="Deleted")}
        equal(gone, on_it, "who was there went, nobody else")
        equal({line["value"] for line in bound if 60000 <= line["ms"] < 600000}, {"n-0"},
              "new pods meanwhile")
        equal("n-1" in {line["value"] for line in bound if line["ms"] > 600000}, True, "afterwards")


@cases
def node_objects_and_a_configuration_in_a_file_are_those_of_the_rehearsal(_):
    objects = ("{apiVersion: muster.dev/v1alpha1, kind: Configuration, waitForPodsReady: "
               "{enable: true, timeout: 30s}}\n---\n"
               "{apiVersion: v1, kind: Node, metadata: {name: big, labels: {size: l}}, "
               "status: {capacity: {cpu: 2}}}\n---\n"
               "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}\n---\n"
               "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: c}, spec: {"
               "namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, "
               "resources: [{name: cpu, nominalQuota: 8}]}]}]}}\n---\n"
               "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: l}, spec: "
               "{clusterQueue: c}}\n---\n" +
               job("a", 3).replace("{name: a}", "{name: a, labels: {kueue.x-k8s.io/queue-name: l}}"))
    lines, end, said = play(objects, code=0)
    equal(said, "", "nothing is assumed")
    equal(times(lines, kind="Workload", condition="Evicted", status="True")[:1], [30000],
          "three do not fit on two cores, and 30 s is what the file says")
    node = next(obj for obj in end["objects"] if obj["kind"] == "Node")
    equal((node["metadata"]["labels"]["size"], node["status"]["capacity"]["cpu"]), ("l", "2"), "node")
    lines, _, _ = play(objects + "\n---\n" + scenario(
        "configuration: {waitForPodsReady: {enable: true, timeout: 50s}}"))
    equal(times(lines, kind="Workload", condition="Evicted", status="True")[:1], [50000],
          "a Scenario that says it decides")


@cases
def a_container_ends_by_the_script(_):
    body = NODES + "events:\n- {at: 0s, create: " + job("a", 2, run="1h") + "}\n"
    for name in ("default/job-a-0", "default/a-0", "default/a-1"):
        lines, _, _ = play(scenario(body + f"- {{at: 70s, pod: {name}, container: worker, exit: 3}}"))
        failed = find(lines, kind="Pod", type="Phase", phase="Failed")
        equal([line["ms"] for line in failed], [70000], name)
        equal(failed[0]["name"].startswith("a-1-" if name.endswith("1") else "a-0-"), True, name)


@cases
def a_busy_machine_holds_starts_back(_):
    config = ("objects:\n- {apiVersion: muster.dev/v1alpha1, kind: NodeConfig, metadata: {name: default}, "
              "spec: {throttling: {maxStartingContainersPerCore: 10, maxCPU: 60, cpuWindow: 2s, maxRate: 2}}}\n"
              "- " + job("a", 8, start="0s").replace("sim.muster.dev/start: 0s", "sim.muster.dev/start-cpu: 4s")
              .replace("cpu: 1", "cpu: 100m"))
    lines, _, _ = play(scenario("nodes: [{name: n, capacity: {cpu: 4}}]\n" + config))
    starting = times(lines, type="Container", state="starting")
    equal(starting[:4], [0, 500, 1000, 1500], "at maxRate until it is busy")
    equal(starting[4] >= 5000, True, f"then when the first are ready: {starting}")


@cases
def what_cannot_be_done_is_told_with_its_place(_):
    body = NODES + "events:\n- {at: 0s, create: " + job("a", 1, run="1m") + "}\n"
    _, _, told = play(scenario(body + "- {at: 70s, pod: default/b-0, exit: 3}"), code=1)
    contains(told, "-:11:5: spec.events[1]: there is no pod default/b-0", "hint: ")
    _, _, told = play(scenario(body + "- {at: 30s, pod: default/b-0, exit: 3}"), code=1)
    contains(told, "there are: a-0-")
    _, _, told = play(scenario(body + "- {at: 70s, node: m, state: Gone}"), code=1)
    contains(told, "spec.events[1]: there is no node m", "n-0, n-1")
    _, _, told = play(scenario(
        body + "- {at: 1s, delete: {apiVersion: batch/v1, kind: Job, name: x}}"), code=1)
    contains(told, 'spec.events[1]: jobs.batch "x" not found')


@cases
def mistakes_are_found_before_anything_runs(_):
    text = scenario("nodse: []\nevents:\n- {at: 1s, create: {apiVersion: v1, kind: Pdo}}\n"
                    "- {at: 1s, node: n, state: Away}\n- {at: x, controller: restart, pod: a/b}")
    told = run("-", stdin=text, code=1).stderr
    contains(told, '-:7:3: spec.nodse: unknown field', 'did you mean "nodes"?', '"Pod"',
             "spec.events[1].state: Unsupported value", "spec.events[2].at: Invalid value",
             "spec.events[2]")
    told = run("-", stdin=scenario("") + "---\n" + scenario(""), code=1).stderr
    contains(told, "there is a second Scenario")
    told = run("-", stdin=scenario("configuration: {waitForPodsReady: {timeout: -1s}}"), code=1).stderr
    contains(told, "spec.configuration.waitForPodsReady.timeout")
    pod = ("{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {sim.muster.dev/%s}}, "
           "spec: {containers: [{name: c, image: i}]}}")
    told = run("-", stdin=scenario("nodes: [{name: n, count: 2}, {name: n-1}]\nobjects:\n- "
                                   + pod % "run: 10x" + "\n- " + pod % "runn: 10s"
                                   + "\nevents:\n- {at: 1s}"), code=1).stderr
    contains(told, '-:7:39: spec.nodes[1].name: Duplicate value: "n-1"', "spec.objects[0].metadata."
             'annotations[sim.muster.dev/run]: Invalid value: "10x": must be a duration such as 10m',
             'did you mean "sim.muster.dev/run"?', "must have one event: create, patch, delete")


@cases
def who_will_never_be_ready_is_told(_):
    """The example of two gangs, as it is run with real processes."""
    example, stuck = SOURCE / "examples" / "two-gangs", "will never be ready"
    ends = {}
    for name in ("wait", "nowait"):
        for form in ("timeline", "html"):
            told = run(f"{example}.yaml", f"{example}/{name}.yaml", "-o", form).stdout
            equal(stuck in told, name == "nowait", f"{name} as {form}")
        lines = [json.loads(line) for line in run(f"{example}.yaml", f"{example}/{name}.yaml", "-o",
                                                  "jsonl").stdout.splitlines()]
        ends[name] = [line["name"] for line in find(lines, kind="JobSet", condition="Completed",
                                                    status="True")]
    equal(ends, {"wait": ["red", "blue"], "nowait": []}, "who is done")
    contains(run(f"{example}.yaml", f"{example}/nowait.yaml").stdout,
             "\njobset/red, jobset/blue will never be ready: nothing can happen any more\n")
    # Whoever is cut short by `until` may yet be.
    equal(stuck in run("-", stdin=scenario(NODES + "objects:\n- " + job("a", 1, start="3h"))).stdout,
          False, "cut short")


@cases
def without_a_scenario_there_is_one_node(_):
    done = run("-", "-o", "jsonl", stdin=job("a", 1))
    contains(done.stderr, "no Scenario")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    equal(lines[-1]["ms"], 605000, "end")


if __name__ == "__main__":
    sys.exit(cases.main())

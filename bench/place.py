# SPDX-License-Identifier: Apache-2.0
"""The section `place`: what a vreplica costs, and how that grows with the number of pods."""

FEW, MANY = 10, 10000
A_POD = 100  # vreplicas of the vpod for each pod, in the runs that are compared


def judge(bench, told, by_pods, most):
    """What a vreplica costs with the most pods, and how that compares with few."""
    ratio = by_pods[MANY] / by_pods[FEW]
    bench.row(f"ns a vreplica, {told}", ", ".join(f"{ns:,.0f} at {n:,} pods" for n, ns in by_pods.items()),
              f"{ratio:.1f} x", *bench.bars.judge("place", most / 1000, f"{most:.0f} ns, {told}"))
    bench.bars.judge("place flat", ratio, f"{ratio:.1f} x, {told}")


def measure(bench, program):
    """`bench` is scripts/bench."""
    result = bench.run([program])
    bench.figures["place"] = result
    for policy in dict.fromkeys(run["policy"] for run in result["runs"]):
        for vpods, what in ((1, f"one vpod, {A_POD} a pod"), (10000, "10 000 vpods of 10")):
            runs = [run for run in result["runs"] if run["policy"] == policy and run["vpods"] == vpods]
            # As many on each pod, whatever the number of pods: what fills a pod at a time takes a
            # step a pod, and with a thousand times the pods for the same vreplicas it takes more steps.
            by_pods = {run["pods"]: run["ns"] for run in runs
                       if vpods > 1 or run["vreplicas"] == A_POD * run["pods"]}
            judge(bench, f"{policy}, {what}", by_pods, max(run["ns"] for run in runs))
    for gang in result["gang"]:
        bench.row(f"nodes for a gang of {gang['pods']:,} on {gang['nodes']:,}", f"{gang['ms']:.1f} ms")

# SPDX-License-Identifier: Apache-2.0
"""The section `place`: what a vreplica costs, and how that grows with the number of pods."""

BAR_NS = 1000


def measure(bench, program):
    """`bench` is scripts/bench."""
    result = bench.run([program])
    bench.figures["place"] = result
    for policy in dict.fromkeys(run["policy"] for run in result["runs"]):
        for vpods, what in ((1, "one vpod"), (10000, "10 000 vpods of 10")):
            runs = [run for run in result["runs"] if run["policy"] == policy and run["vpods"] == vpods]
            by_pods = {run["pods"]: 0 for run in runs}
            for run in runs:
                by_pods[run["pods"]] = max(by_pods[run["pods"]], run["ns"])
            most = max(by_pods.values())
            told = ", ".join(f"{ns:,.0f} at {pods:,} pods" for pods, ns in by_pods.items())
            bench.row(f"ns a vreplica, {policy}, {what}", told, bar=f"<= {BAR_NS} ns",
                      holds=bench.verdict(most, BAR_NS, True))
    for gang in result["gang"]:
        bench.row(f"nodes for a gang of {gang['pods']:,} on {gang['nodes']:,}", f"{gang['ms']:.1f} ms")

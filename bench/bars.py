# SPDX-License-Identifier: Apache-2.0
"""The bars, in one table. A section reports what it measured by the bar's name; where it reports more
than one figure for a bar, the worst of them decides. A bar of which nobody told is not left out."""

from collections import namedtuple

COLUMNS = ("bar", "to reach", "measured", "verdict")
Bar = namedtuple("Bar", "section what sign limit unit")
Told = namedtuple("Told", "value text")
BARS = {
    "restart 5000": Bar("restart", "restart of 5000 workers, death to last start", "<=", 1.5, " x bare"),
    "restart 8": Bar("restart", "restart of 8 workers", "<=", 2, " x bare"),
    "restart 64": Bar("restart", "restart of 64 workers", "<=", 1.3, " x bare"),
    "restart 512": Bar("restart", "restart of 512 workers", "<=", 1.2, " x bare"),
    "control path": Bar("agents", "control path alone, 5000 agents", "<=", 0.5, " s"),
    "usage": Bar("admit", "Kueue's set of 15 000: queue usage", ">=", 95, " %"),
    "admissions": Bar("admit", "Kueue's set: admissions a CPU second", ">=", 100, " x Kueue's"),
    "blocked": Bar("admit", "blockAdmission, gangs ready at once", ">=", 1000, " admissions/s"),
    "place": Bar("place", "placement of a vreplica", "<=", 1, " us"),
    "place flat": Bar("place", "placement, 10 000 pods against 10: flat", "<=", 2, " x"),
    "last ready": Bar("start", "throttled start: last ready", "<=", 1.02, " x all at once"),
    "own start": Bar("start", "throttled start: own start p99", "<=", 1.2, " x alone"),
    "writes": Bar("server", "durable updates of 20 000 Pods in the store", ">=", 20000, "/s"),
    "lost": Bar("kill", "acknowledged writes lost by kill -9", "<=", 0, ""),
    "watch": Bar("server", "one event to 5000 watchers", "<=", 100, " ms CPU"),
    "idle": Bar("server", "muster up, idle: RSS", "<=", 15, " MB"),
    "pod": Bar("server", "RSS a pod", "<=", 20, " KB"),
    "agent": Bar("agents", "agent on the node's socket, static: RSS", "<=", 100, " KB"),
    "agent tls": Bar("agents", "agent with TLS: RSS", "<=", 5, " MB"),
}
told = {}  # bar: what was reported
missing = {}  # section: why something of it could not be measured


def verdict(value, limit, at_most):
    return "holds" if (value <= limit if at_most else value >= limit) else "falls short"


def wanted(bar):
    return f"{bar.sign} {bar.limit:,}{bar.unit}"


def judge(name, value, text):
    """Notes one figure, in the bar's unit; returns the bar and the verdict for a row of the figures."""
    bar = BARS[name]
    told.setdefault(name, []).append(Told(value, text))
    return wanted(bar), verdict(value, bar.limit, bar.sign == "<=")


def line(name, sections):
    bar = BARS[name]
    if name not in told:
        why = missing.get(bar.section, "no time left") if bar.section in sections else \
            f"section {bar.section} was not run"
        return bar.what, wanted(bar), "-", f"not measured: {why}"
    at_most = bar.sign == "<="
    worst = (max if at_most else min)(told[name], key=lambda one: one.value)
    many = f" (worst of {len(told[name])})" if len(told[name]) > 1 else ""
    return bar.what, wanted(bar), worst.text + many, verdict(worst.value, bar.limit, at_most)


def table(sections):
    """All bars; `sections` are those that were run."""
    return [line(name, sections) for name in BARS]

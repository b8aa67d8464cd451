# SPDX-License-Identifier: Apache-2.0
"""The section `kill`: whether kill -9 loses what was acknowledged. That is what the test e2e/crash is for,
so it is run on the release, with its data where the other sections have theirs. scripts/bench passes
itself as `kit`."""

import os
import pathlib
import re
import subprocess
import sys

ROUNDS = 50
LIMIT_S = 120
TEST = pathlib.Path(__file__).resolve().parents[1] / "test" / "e2e" / "test_crash.py"


def run(kit, folder):
    env = {**os.environ, "MUSTER": str(kit.BUILD / "muster"), "MUSTER_RELEASE": str(kit.BUILD),
           "CRASH_ROUNDS": str(ROUNDS), "TMPDIR": str(folder)}
    child = kit.spawn([sys.executable, str(TEST)], kit.signal.SIGTERM, env=env, text=True,
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        return child.communicate(timeout=LIMIT_S)[0], child.returncode
    except subprocess.TimeoutExpired:
        raise kit.Skipped(f"no end after {LIMIT_S} s") from None
    finally:
        kit.end(child)


def measure(kit, folder):
    """The test stops at the first loss, so there is no count of what was lost but none and some."""
    if kit.time_is_up():
        raise kit.Skipped("no time left")
    said, code = run(kit, folder)
    kit.figures["kill"] = {"said": said, "exit_code": code}
    found = re.search(r"# (\d+) acknowledged writes in (\d+) rounds", said)
    bad = re.findall(r"^not ok \d+ - (.*)", said, re.M)
    if not found and not bad:
        raise kit.Skipped(f"{TEST.name} ended with {code}")
    text = f"not so: {bad[0]}" if bad else f"none of {int(found[1]):,} in {found[2]} kills"
    kit.row("acknowledged writes lost by kill -9", text, "the test e2e/crash",
            *kit.bars.judge("lost", len(bad), text))

# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/ and the READMEs of folders, typed in as they stand (see typed.py)."""

import sys

from muster_test import SOURCE, Cases, equal
from typed import add_page

# What needs another machine, root, or hours. Who adds one here has looked for a way to run it.
NOT_RUN_MAX = 3
FIRST = ("README.md", "docs/tour.md")  # test_tour.py has them
cases = Cases()


def pages():
    for pattern in ("*.md", "docs/*.md", "src/*/README.md", "test/README.md", "bench/README.md", "model/README.md",
                    "fuzz/README.md", "examples/README.md", "examples/*/README.md"):
        for path in sorted(SOURCE.glob(pattern)):
            if path.relative_to(SOURCE).as_posix() not in FIRST:
                yield path


if __name__ == "__main__":
    found = [add_page(cases, path) for path in pages()]

    @cases
    def few_blocks_are_not_run(_):
        equal(sum(page.not_run for page in found) <= NOT_RUN_MAX, True, "blocks marked not-run")

    @cases
    def many_commands_are_run(_):
        equal(sum(len(page.steps) for page in found) > 60, True, "enough commands")

    sys.exit(cases.main())

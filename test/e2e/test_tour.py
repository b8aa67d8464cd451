# SPDX-License-Identifier: Apache-2.0
"""What somebody reads first, typed in as it stands: the README and the tour (see typed.py)."""

import sys

from muster_test import SOURCE, Cases, equal
from typed import Page, add_page, lines_match

cases = Cases()


@cases
def the_comparison_can_fail(_):
    table = [(["a"], ["a"], True), (["a"], ["b"], False), (["a*c"], ["abbc"], True), (["*"], [], True),
             (["*"], ["a", "b"], True), (["*", "b"], ["a", "b"], True), (["*", "b"], ["a"], False),
             (["a   b"], ["a b  "], True), (["x[0].y: *"], ["x[0].y: z"], True),
             (["x[0].y"], ["x0.y"], False), (["a"], ["a", "b"], False)]
    for patterns, lines, wanted in table:
        equal(lines_match(patterns, lines), wanted, f"{patterns} against {lines}")


@cases
def blocks_are_told_apart(_):
    page = Page("\n".join(["```sh", "$ a \\", "b", "out", "```", "$ not this", "```c", "nor this", "```",
                           "```sh not-run", "$ apt-get install x", "```", "```yaml", "# x.yaml", "a: 1", "```"]))
    equal(page.steps, [("a b", ["out"])], "steps")
    equal((page.errors, page.not_run, page.files), ([], 1, {"x.yaml": "# x.yaml\na: 1\n"}), "the rest")
    for text in ("```\n$ a\n```", "```\nmuster get pods\n```", "```sh\nmuster get pods\n```"):
        equal(len(Page(text).errors), 1, f"errors of {text!r}")


if __name__ == "__main__":
    for name in ("README.md", "docs/tour.md"):
        page = add_page(cases, SOURCE / name)
        cases.add(f"{name} has commands", lambda _, page=page: equal(len(page.steps) > 0, True, "commands"))
    sys.exit(cases.main())

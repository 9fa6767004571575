# SPDX-License-Identifier: MIT
"""The table that bench/fast_path prints: rows come out as soon as they are known."""
import re, statistics, sys, traceback

class Skip(Exception):
    """What is missing for a row, in words."""

class Table:
    def __init__(self, only):
        self.only = re.compile(only)
        self.over = []
        self.line("work", "measured", "least..most", "must", "aim", "holds?")

    def line(self, work, measured, spread, must, aim, holds, note=""):
        print(f"{work:48} {measured:>14} {spread:>20} {must:>9} {aim:>9} {holds:7}{note}".rstrip(),
              flush=True)

    def wants(self, work):
        return self.only.search(work)

    def row(self, work, unit, must, aim, measure, note=None, most=True):
        """measure() gives a list of numbers; must and aim are bounds from above, or from
        below where most is False, or None. note(list) is said behind the row."""
        if not self.wants(work):
            return None
        try:
            values = measure()
        except Skip as missing:
            print(f"{work:48} skipped: {missing}", flush=True)
            return None
        except Exception as error:  # One row that cannot be had is not the others' end.
            print(f"{work:48} failed: {type(error).__name__}: {error}", flush=True)
            if "-v" in sys.argv:
                traceback.print_exc()
            return None
        value = statistics.median(values)
        def good(bound):
            return value <= bound if most else value >= bound
        holds = "" if must is None else "aim" if good(aim) else "yes" if good(must) else "NO"
        if holds == "NO":
            self.over.append(work)
        def shown(bound):
            return "" if bound is None else f"{'' if most else '>='}{bound:g}"
        self.line(work, f"{value:.2f} {unit}", f"{min(values):.2f}..{max(values):.2f}",
                  shown(must), shown(aim), holds, f" {note(values)}" if note else "")
        return value

    def finish(self):
        print(f"not held: {', '.join(self.over) or 'none'}")

# SPDX-License-Identifier: MIT
"""The table that bench/fast_path prints, and the order in which its rows are measured.

A Row is one line of the table. It shows the median of its measured values. A Task is an experiment that measures one or
more rows. All tasks run once, then all run again, so that other load on the machine affects them equally. Below each
row of dtrace are the rows of its peers, which are other tools that do the same work.
"""
import os, re, statistics, sys, traceback

class Skip(Exception):
    """Raised if a row cannot be measured. The text says what is missing."""

class Row:
    def __init__(self, work, unit="ns", must=None, aim=None, most=True, peer_of=None):
        """`must` is the required value and `aim` is the goal. Both are upper bounds, or lower bounds if
        `most` is False."""
        self.work, self.unit, self.must, self.aim, self.most = work, unit, must, aim, most
        self.peer_of = peer_of  # in a row of a peer: the `work` of the corresponding dtrace row
        self.values, self.notes, self.missing = [], [], ""

    def note(self, text):
        """Adds a note to the row if the row does not have the same note yet."""
        if text and text not in self.notes:
            self.notes.append(text)

    def value(self):
        return statistics.median(self.values)

    def verdict(self):
        if self.must is None or not self.values:
            return ""
        def good(bound):
            return self.value() <= bound if self.most else self.value() >= bound
        return "aim" if good(self.aim) else "yes" if good(self.must) else "NO"

class Task:
    def __init__(self, rows, once, at_most=1000):
        """once() runs the experiment. It returns a list with one value for each row, or a number if there is one row.
        The experiment runs at most `at_most` times."""
        self.rows, self.once, self.at_most = rows, once, at_most
        self.n_failed = 0

def ours(once, *words, **more):
    row = Row(*words, **more)
    return Task([row], lambda: once(row))

def peer(of, tool, once, unit="ns", at_most=3):
    row = Row(tool, unit, peer_of=of)
    return Task([row], lambda: once(row), at_most)

class Table:
    def __init__(self, only, runs):
        self.only, self.runs = re.compile(only), runs
        self.tasks, self.details, self.loads = [], [], []

    def add(self, *tasks):
        for task in tasks:
            if any(self.only.search(row.peer_of or row.work) for row in task.rows):
                self.tasks.append(task)

    def measure(self):
        for run in range(self.runs):
            for task in self.tasks:
                if run < task.at_most and task.n_failed < 2:
                    self.once(run, task)

    def once(self, run, task):
        self.loads.append(os.getloadavg()[0])
        try:
            values = task.once()
        except Skip as missing:
            task.n_failed = 2
            values = str(missing)
        except Exception as error:  # The other experiments still run if one fails.
            task.n_failed += 1
            values = f"failed: {type(error).__name__}: {error}"
            if os.environ.get("BENCH_TRACEBACK"):
                traceback.print_exc()
        if isinstance(values, str):
            for row in task.rows:
                row.missing = values
            said = values
        else:
            values = values if isinstance(values, (list, tuple)) else [values]
            for row, value in zip(task.rows, values):
                row.values.append(value)
            said = ", ".join(f"{value:.2f}" for value in values)
        name = task.rows[0].work + (f" ({task.rows[0].peer_of})" if task.rows[0].peer_of else "")
        print(f"  run {run + 1}: {name}: {said}", file=sys.stderr, flush=True)

    def print_row(self, row, ours=None):
        indent = "    " if row.peer_of else ""
        if not row.values:
            print(f"{indent + row.work:50} {'-':>14}  {row.missing}")
            return
        value = row.value()
        def shown(bound):
            return "" if bound is None else f"{'' if row.most else '>= '}{bound:g}"
        spread = f"{min(row.values):.2f}..{max(row.values):.2f}" if len(row.values) > 1 else ""
        notes = list(row.notes)
        if ours and ours.values and ours.unit == row.unit == "ns":
            notes.insert(0, f"{value / max(ours.value(), 0.5):,.0f} x")
        if row.missing:
            notes.append(f"{len(row.values)} runs; {row.missing}")
        print(f"{indent + row.work:50} {f'{value:,.2f} {row.unit}':>14} {spread:>20} "
              f"{shown(row.must):>8} {shown(row.aim):>8}  {row.verdict():7} {'; '.join(notes)}".rstrip())

    def print(self):
        print(f"{'work':50} {'median':>14} {'least..most':>20} {'must':>8} {'aim':>8}  holds?")
        rows = [row for task in self.tasks for row in task.rows]
        for row in rows:
            if row.peer_of:
                continue
            self.print_row(row)
            for other in rows:
                if other.peer_of == row.work:
                    self.print_row(other, row)
        known = {row.work for row in rows if not row.peer_of}
        for row in rows:
            if row.peer_of and row.peer_of not in known:
                self.print_row(row)
        for line in self.details:
            print(line)
        judged = [row for row in rows if row.must is not None]
        for word, text in (("NO", "not held"), ("yes", "held, short of the aim")):
            names = [row.work for row in judged if row.verdict() == word]
            print(f"{text}: {len(names)}{': ' if names else ''}{'; '.join(names)}")
        unknown = [row.work for row in judged if not row.values]
        if unknown:
            print(f"not measured: {len(unknown)}: {'; '.join(unknown)}")
        load, cpus = max(self.loads, default=0), os.cpu_count()
        print(f"load {min(self.loads, default=0):.1f} to {load:.1f} on {cpus} CPUs" +
              (": other processes used the CPUs; if a range is wide, trust its lowest value"
               if load > cpus + 0.5 else ""))

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Loads libraries with a probe and fires it: loads.py STEP...
  LIBRARY*N     loads the library, fires the probe N times, unloads the library
  +LIBRARY*N    the same, but keeps the library
  ( ... )       a forked child executes the steps between the parentheses
  spawn ...     a new process, created by vfork, executes all following steps
  exec ...      this process executes all following steps in a new program
  wait          prints "ready" and waits for a line
For each library, prints how many times the probe was enabled."""
import _ctypes, ctypes, os, subprocess, sys

def load(step):
    path, n = step.lstrip("+").split("*")
    library = ctypes.CDLL(path)
    traced = sum(library.fire(i) for i in range(int(n)))
    print("traced", traced, flush=True)
    if not step.startswith("+"):
        _ctypes.dlclose(library._handle)

def after_child(steps):
    depth = 1
    while depth != 0:
        depth += {"(": 1, ")": -1}.get(steps.pop(0), 0) if steps else -depth
    return steps

steps = sys.argv[1:]
while steps:
    step = steps.pop(0)
    if step == "(":
        child = os.fork()
        if child != 0:
            os.waitpid(child, 0)
            steps = after_child(steps)
    elif step == ")":
        os._exit(0)
    elif step == "spawn":
        subprocess.run([sys.executable, __file__, *steps], check=True, close_fds=False)
        break
    elif step == "exec":
        os.execv(sys.executable, [sys.executable, __file__, *steps])
    elif step == "wait":
        print("ready", flush=True)
        sys.stdin.readline()
    else:
        load(step)

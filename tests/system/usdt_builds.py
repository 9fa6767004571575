"""Functions that compile programs with the headers that dtrace -h writes."""
import subprocess, time

from harness import *
from traced import good

ROOT = HERE.parent.parent
USDT = ROOT / "tests/victims/usdt"
STRICT = ["-Wall", "-Wextra", "-Werror", "-Wpedantic"]

def made(t, *flags, script=USDT / "shop.d", name="shop.h"):
    """Writes the header for a provider with dtrace -h. Returns the header's directory."""
    folder = t.scratch / f"made{time.monotonic_ns()}"
    folder.mkdir()
    good(t.run("-h", "-C", *flags, "-s", str(script), "-o", str(folder / name)))
    return folder

def compiled(folder, compiler, *flags, out, source=USDT / "shop.c"):
    """Runs the compiler, which writes to the directory. Returns the path of its output."""
    need(compiler)
    language = ["-x", "c++"] if "++" in compiler and str(source).endswith(".c") else []
    done = subprocess.run([compiler, f"-I{folder}", *flags, *language, str(source), "-x", "none", "-o", str(folder / out)],
                          capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), f"{compiler} {flags}")
    return str(folder / out)

"""Tests that real programs have the same output and exit status with probes at every entry and return."""
import os, re, signal, subprocess, time
from xml.etree import ElementTree

from harness import Skip, equal, fired, main, need, so_far
from traced import Traced, released

EVERYTHING = "pid$target:::entry,pid$target:::return { @ = count(); }"

SCRIPTS = {
    "work.pl": 'my %h; $h{$_ % 977} += $_ for 1 .. 100000; '
               'eval { die "thrown\\n" }; print join(",", map { $h{$_} } (1 .. 20)), $@;',
    "work.js": "let a = []; for (let i = 0; i < 50000; i++) a.push({x: i % 97});\n"
               "try { null.x } catch (e) { console.log(e instanceof TypeError) }\n"
               "setTimeout(() => console.log(a.reduce((s, o) => s + o.x, 0)), 20)",
    "work.py": "import decimal, hashlib, json, re, sqlite3, threading\n"
               "t = threading.Thread(target=lambda: print(decimal.Decimal(2).sqrt()))\n"
               "t.start(); t.join()\n"
               "print(hashlib.sha256(json.dumps(list(range(9999))).encode()).hexdigest())\n"
               "print(re.sub('[aeiou]+', '-', 'every module of a program'))\n",
    "work.sql": "with recursive c(x) as (select 1 union all select x + 1 from c where "
                "x < 20000) select sum(x * x % 1000) from c;",
    "work.sh": "for i in $(seq 50); do x=$(echo $i); done; echo $x",
    "work.txt": "".join(f"{n} {n * n % 7919} of a text\n" for n in range(80000)),
    "work.awk": "BEGIN { for (i = 0; i < 100000; i++) s += i % 7; print s }",
    "work.c": "#include <stdio.h>\n" +
              "\n".join(f"int f{i}(int x) {{ return x * {i} + 1; }}" for i in range(200)),
    # A thousand goroutines run, and their stacks grow and move.
    "work.go": "package main\nimport \"fmt\"\n"
               "func deep(n int) int { var a [64]int; if n == 0 { return 1 }; a[n%64] = n; return deep(n-1) + a[n%64] - n }\n"
               "func main() { done := make(chan int); for i := 0; i < 1000; i++ { go func() { done <- deep(200) }() }\n"
               "sum := 0; for i := 0; i < 1000; i++ { sum += <-done }; fmt.Println(sum) }\n",
    "Work.java": "public class Work { public static void main(String[] a) { try { Object o "
                 "= null; o.toString(); } catch (NullPointerException e) { "
                 "System.out.println(java.util.stream.IntStream.range(0, 9999).sum()); } } }",
}

def made(t, path):
    """Returns the contents of a file that a command wrote, and removes the file. Returns None if path is None."""
    if path is None:
        return None
    text = (t.scratch / path).read_bytes()
    (t.scratch / path).unlink()
    return text

def same_as_untraced(t, *command, min_count=1000, makes=None, shown=lambda said: said):
    """Compares a traced run with an untraced one. `shown` removes the parts of the output that differ between runs."""
    need(command[0])
    for name, text in SCRIPTS.items():
        (t.scratch / name).write_text(text)
    bare = subprocess.run(command, capture_output=True, cwd=t.scratch, timeout=170)
    want = (bare.returncode, shown(bare.stdout), made(t, makes))
    equal(want[0], 0, bare.stderr)
    counts = t.scratch / "counts"
    counts.unlink(missing_ok=True)
    done = subprocess.run([t.dtrace, "-qn", EVERYTHING, "-o", str(counts), "-c",
                           " ".join(command)], capture_output=True, cwd=t.scratch, timeout=170)
    equal((done.returncode, shown(done.stdout), made(t, makes)), want, done.stderr)
    if int(counts.read_text()) < min_count:
        raise AssertionError(f"only {counts.read_text()} firings")

def test_of(title, *command, **more):
    def test(t):
        same_as_untraced(t, *command, **more)
    test.__name__ = f"{title}_works_the_same_with_every_module_probed"
    return test

def without_digits(said):
    """Removes numbers. Also shortens runs of spaces, because the length of a run depends on the numbers."""
    return re.sub(rb" +", b" ", re.sub(rb"[\d.]+", b"", said))

def in_order(said):
    return sorted(said.splitlines())

def python3_passes_its_own_tests_with_every_module_probed(t):
    """Each test case has the same result as without tracing."""
    python = "/usr/bin/python3"
    need(python)
    if subprocess.run([python, "-c", "import test.test_re"], capture_output=True).returncode != 0:
        raise Skip("python3 has no test modules (libpython3-testsuite)")
    modules = ["test_re", "test_struct", "test_ctypes", "test_thread", "test_mmap"]
    if t.long:
        modules += ["test_posix", "test_gc", "test_threading", "test_faulthandler", "test_subprocess",
                    "test_signal"]
    def cases(report):
        return sorted((case.get("name"), case.get("status"), case.get("result"))
                      for case in ElementTree.fromstring(report).iter("testcase"))
    def run(*words):
        done = subprocess.run(words, cwd=t.scratch, capture_output=True, timeout=900)
        equal(done.returncode, 0, done.stdout[-2000:])
        return cases(made(t, "report.xml"))
    command = [python, "-m", "test", "--junit-xml", "report.xml", *modules]
    want = run(*command)
    equal(run(t.dtrace, "-qn", EVERYTHING, "-o", "counts", "-c", " ".join(command)), want, "cases")
    equal(len(want) > 100, True, "enough cases")

def git_works_the_same_with_every_module_probed(t):
    need("git")
    stream = "".join(
        f"commit refs/heads/master\ncommitter A <a@b> {1000000000 + n} +0000\ndata 2\nc\n"
        f"M 644 inline file{n % 7}\ndata <<END\n" + "".join(f"{n} line {i * n}\n" for i in range(99)) +
        "END\n\n" for n in range(60))
    repo = ["git", "--git-dir=repo"]
    subprocess.run([*repo, "init", "-q", "--bare"], cwd=t.scratch, check=True, capture_output=True)
    subprocess.run([*repo, "fast-import", "--quiet"], cwd=t.scratch, check=True, input=stream.encode())
    for words in (["log", "-p", "--stat", "master"], ["grep", "-n", "line.9", "master"],
                  ["archive", "--format=tar", "master"], ["fsck", "--full"]):
        same_as_untraced(t, *repo, *words)

def gcc_makes_the_same_object_with_every_module_of_its_parts_probed(t):
    need("gcc", "as", "ld")
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    (t.scratch / "work.c").write_text(SCRIPTS["work.c"])
    subprocess.run(["gcc", "-E", "work.c", "-o", "work.i"], cwd=t.scratch, check=True)
    same_as_untraced(t, compiler, "-quiet", "-fpreprocessed", "-O2", "work.i", "-o", "work.s", makes="work.s")
    subprocess.run(["gcc", "-S", "-O2", "work.i", "-o", "work.s"], cwd=t.scratch, check=True)
    same_as_untraced(t, "as", "work.s", "-o", "work.o", makes="work.o")
    subprocess.run(["as", "work.s", "-o", "work.o"], cwd=t.scratch, check=True)
    same_as_untraced(t, "ld", "-r", "work.o", "-o", "whole.o", makes="whole.o")

def java_works_the_same_with_every_module_probed(t):
    need("java")
    (t.scratch / "Work.java").write_text(SCRIPTS["Work.java"])
    subprocess.run(["java", "-m", "jdk.compiler/com.sun.tools.javac.Main", "Work.java"], cwd=t.scratch, check=True, capture_output=True)
    same_as_untraced(t, "java", "Work")

# Each program works in rounds until its input ends. It then prints results, which are the same in every run.
UNTIL_TOLD = {
    "Rounds.java": """
import java.util.*;
public class Rounds {
    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }
    static String round() throws Exception {
        int[] caught = new int[1];
        Map<Integer, List<String>> kept = new TreeMap<>();
        List<Thread> threads = new ArrayList<>();
        for (int k = 0; k < 4; k++) {
            int id = k;
            threads.add(new Thread(() -> {
                for (int i = 0; i < 2000; i++) {
                    try { Object o = i % 3 == 0 ? null : "x" + i; o.hashCode(); deep(i % 500); }
                    catch (NullPointerException e) { synchronized (caught) { caught[0]++; } }
                    synchronized (kept) { kept.computeIfAbsent((i * 31 + id) % 97, x -> new ArrayList<>()).add("v" + i); }
                }
            }));
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        int sum = 0;
        for (List<String> list : kept.values()) { Collections.sort(list); sum = sum * 31 + list.hashCode(); }
        return caught[0] + " " + kept.size() + " " + sum;
    }
    public static void main(String[] words) throws Exception {
        Set<String> said = new TreeSet<>();
        said.add(round());
        System.out.println("ready");
        do { said.add(round()); } while (System.in.available() == 0);
        System.out.println(said);
    }
}
""",
    "rounds.go": """
package main
import ("bufio"; "fmt"; "os"; "runtime"; "sort"; "strings"; "sync")
func deep(n int) int { var a [64]int; if n == 0 { return 1 }; a[n%64] = n; return deep(n-1) + a[n%64] - n }
func thrown(n int) (got int) {
	defer func() { if e := recover(); e != nil { got = n } }()
	var p *int
	return *p
}
func round() string {
	var wait sync.WaitGroup
	var mutex sync.Mutex
	kept := map[int][]string{}
	sum := 0
	for g := 0; g < 200; g++ {
		wait.Add(1)
		go func(g int) {
			defer wait.Done()
			n := deep(50 + g) + thrown(g)
			for i := 0; i < 100; i++ {
				mutex.Lock()
				kept[(g+i)%97] = append(kept[(g+i)%97], fmt.Sprint(g*i))
				mutex.Unlock()
			}
			mutex.Lock()
			sum += n
			mutex.Unlock()
		}(g)
	}
	wait.Wait()
	runtime.GC()
	for _, list := range kept { sort.Strings(list); sum += len(strings.Join(list, ",")) }
	return fmt.Sprint(len(kept), " ", sum)
}
func main() {
	said := map[string]int{round(): 1}
	told := make(chan bool)
	fmt.Println("ready")
	go func() { bufio.NewReader(os.Stdin).ReadByte(); close(told) }()
	for going := true; going; {
		said[round()] = 1
		select { case <-told: going = false; default: }
	}
	for line := range said { fmt.Println(line) }
}
""",
}

def rounds(t, command, tracers=0):
    """Runs a program that works in rounds, and returns its output. While the program runs, tracers attach and detach
    one after the other."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=t.scratch)
    try:
        equal(process.stdout.readline(), "ready\n", "the target")
        for _ in range(tracers):
            tracer = Traced(t, EVERYTHING + so_far(), process.pid)
            fired(tracer.began.read_text, 100000)
            tracer.finish(signal.SIGINT)
            released(process.pid)
            equal(process.poll(), None, "its end")
        said, errors = process.communicate("x\n", timeout=60)
    finally:
        process.kill()
        process.wait()
    equal((process.returncode, errors), (0, ""), "its end")
    return said

def same_rounds(t, *command):
    equal(rounds(t, command, tracers=20 if t.long else 3), rounds(t, command))

def a_running_java_has_the_same_results_while_every_module_is_probed(t):
    """H6: dtrace attaches and detaches repeatedly"""
    need("java")
    (t.scratch / "Rounds.java").write_text(UNTIL_TOLD["Rounds.java"])
    subprocess.run(["java", "-m", "jdk.compiler/com.sun.tools.javac.Main", "Rounds.java"], cwd=t.scratch, check=True, capture_output=True)
    same_rounds(t, "java", "-Xmx256m", "Rounds")

def a_running_go_program_has_the_same_results_while_every_module_is_probed(t):
    """H5: goroutines grow their stacks, panics are recovered, and garbage is collected"""
    same_rounds(t, built_by_go(t, "rounds", UNTIL_TOLD["rounds.go"]))

def built_by_go(t, name, text):
    need("go")
    (t.scratch / f"{name}.go").write_text(text)
    subprocess.run(["go", "build", "-o", name, f"{name}.go"], cwd=t.scratch, check=True, capture_output=True,
                   env=dict(os.environ, GOCACHE=str(t.scratch / "go"), HOME=str(t.scratch)))
    return str(t.scratch / name)

def go_works_the_same_with_every_module_probed(t):
    same_as_untraced(t, built_by_go(t, "work", SCRIPTS["work.go"]))

TESTS = [
    test_of("perl", "perl", "work.pl"), test_of("python3", "/usr/bin/python3", "work.py"),
    test_of("node", "node", "work.js"), test_of("gcc", "gcc", "-O1", "-c", "work.c", "-o", "work.o", makes="work.o"),
    gcc_makes_the_same_object_with_every_module_of_its_parts_probed,
    python3_passes_its_own_tests_with_every_module_probed,
    test_of("xz_with_two_threads", "xz", "-T2", "-1", "--block-size=300000", "-kc", "work.txt"),
    test_of("openssl_enc", "openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-k", "x", "-nosalt", "-in", "work.txt"),
    test_of("openssl_speed", "openssl", "speed", "-seconds", "1", "-bytes", "4096", "sha256", "aes-128-cbc",
            shown=without_digits),
    test_of("ripgrep", "rg", "-j2", "-c", "7", "work.txt", "work.c", "/usr/share/doc/base-files", shown=in_order),
    git_works_the_same_with_every_module_probed, test_of("bash", "bash", "work.sh"),
    test_of("sqlite3", "sqlite3", ":memory:", "-init", "work.sql", ".quit"),
    test_of("gawk", "gawk", "-f", "work.awk"), test_of("sort", "sort", "-k2", "work.c"),
    test_of("tar", "tar", "cf", "-", "work.c"), test_of("find", "find", "/usr/share/doc", "-name", "copyright"),
    java_works_the_same_with_every_module_probed,
    test_of("busybox", "busybox", "sh", "work.sh"),
    go_works_the_same_with_every_module_probed,
    a_running_java_has_the_same_results_while_every_module_is_probed,
    a_running_go_program_has_the_same_results_while_every_module_is_probed,
]

if __name__ == "__main__":
    main(TESTS)

"""Every entry and every return of every module, in real programs at their own work: the
output and the exit status are those of the untraced run."""
import os, subprocess

from harness import equal, main, need

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
    "work.awk": "BEGIN { for (i = 0; i < 100000; i++) s += i % 7; print s }",
    "work.c": "#include <stdio.h>\n" +
              "\n".join(f"int f{i}(int x) {{ return x * {i} + 1; }}" for i in range(200)),
    # Stacks that grow and move while a thousand goroutines run.
    "work.go": "package main\nimport \"fmt\"\n"
               "func deep(n int) int { var a [64]int; if n == 0 { return 1 }; a[n%64] = n; return deep(n-1) + a[n%64] - n }\n"
               "func main() { done := make(chan int); for i := 0; i < 1000; i++ { go func() { done <- deep(200) }() }\n"
               "sum := 0; for i := 0; i < 1000; i++ { sum += <-done }; fmt.Println(sum) }\n",
    "Work.java": "public class Work { public static void main(String[] a) { try { Object o "
                 "= null; o.toString(); } catch (NullPointerException e) { "
                 "System.out.println(java.util.stream.IntStream.range(0, 9999).sum()); } } }",
}

def same_as_untraced(t, *command, min_count=1000):
    need(command[0])
    for name, text in SCRIPTS.items():
        (t.scratch / name).write_text(text)
    bare = subprocess.run(command, capture_output=True, cwd=t.scratch, timeout=100)
    counts = t.scratch / "counts"
    counts.unlink(missing_ok=True)
    done = subprocess.run([t.dtrace, "-qn", EVERYTHING, "-o", str(counts), "-c",
                           " ".join(command)], capture_output=True, cwd=t.scratch, timeout=170)
    equal((done.returncode, done.stdout), (0, bare.stdout), done.stderr)
    if int(counts.read_text()) < min_count:
        raise AssertionError(f"only {counts.read_text()} firings")

def test_of(title, *command):
    def test(t):
        same_as_untraced(t, *command)
    test.__name__ = f"{title}_works_the_same_with_every_module_probed"
    return test

def java_works_the_same_with_every_module_probed(t):
    need("java", "javac")
    (t.scratch / "Work.java").write_text(SCRIPTS["Work.java"])
    subprocess.run(["javac", "Work.java"], cwd=t.scratch, check=True, capture_output=True)
    same_as_untraced(t, "java", "Work")

def go_works_the_same_with_every_module_probed(t):
    need("go")
    (t.scratch / "work.go").write_text(SCRIPTS["work.go"])
    subprocess.run(["go", "build", "-o", "work", "work.go"], cwd=t.scratch, check=True, capture_output=True,
                   env=dict(os.environ, GOCACHE=str(t.scratch / "go"), HOME=str(t.scratch)))
    same_as_untraced(t, str(t.scratch / "work"))

TESTS = [
    test_of("perl", "perl", "work.pl"), test_of("python3", "python3", "work.py"),
    test_of("node", "node", "work.js"), test_of("gcc", "gcc", "-O1", "-c", "work.c", "-o", "work.o"),
    test_of("xz_with_two_threads", "xz", "-T2", "-kc", "work.c"),
    test_of("openssl_enc", "openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-k", "x", "-nosalt", "-in", "work.c"),
    test_of("git", "git", "--version"), test_of("bash", "bash", "work.sh"),
    test_of("sqlite3", "sqlite3", ":memory:", "-init", "work.sql", ".quit"),
    test_of("gawk", "gawk", "-f", "work.awk"), test_of("sort", "sort", "-k2", "work.c"),
    test_of("tar", "tar", "cf", "-", "work.c"), test_of("find", "find", "/usr/share/doc", "-name", "copyright"),
    java_works_the_same_with_every_module_probed,
    test_of("busybox", "busybox", "sh", "work.sh"),
    go_works_the_same_with_every_module_probed,
]

if __name__ == "__main__":
    main(TESTS)

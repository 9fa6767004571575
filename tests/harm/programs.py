"""The programs that tests/harm/run traces, and the work that each of them does.

The work is a shell script, which runs in a new directory that `prepare` has filled. All runs must have the same output,
exit status and files, so the scripts fix times, seeds and the order of results.
"""
from dataclasses import dataclass

@dataclass(frozen=True)
class Program:
    name: str
    packages: str           # Debian packages, separated by spaces
    work: str
    prepare: str = ""       # runs once, without tracing
    ignore: tuple = ()      # files that differ even between untraced runs, as fnmatch patterns
    status: int = 0         # exit status of the work
    user: bool = False      # whether the program refuses to run as root

C_SOURCE = r"""cat > sum.c <<'C'
#include <stdio.h>
#include <string.h>
struct item { int key; double weight; char name[12]; };
static int compare(const struct item *a, const struct item *b) { return (a->key > b->key) - (a->key < b->key); }
int main(void)
{
    struct item items[200];
    for (int i = 0; i < 200; i++) {
        items[i].key = i * 7919 % 211;
        items[i].weight = i / 3.0;
        snprintf(items[i].name, sizeof items[i].name, "item%d", i);
    }
    for (int i = 1; i < 200; i++)
        for (int j = i; j > 0 && compare(&items[j - 1], &items[j]) > 0; j--) {
            struct item swapped = items[j];
            items[j] = items[j - 1];
            items[j - 1] = swapped;
        }
    double sum = 0;
    for (int i = 0; i < 200; i++)
        sum += items[i].weight * i;
    printf("%s %s %.3f\n", items[0].name, items[199].name, sum);
    return (int)strlen(items[7].name);
}
C
"""

CPP_SOURCE = r"""cat > words.cpp <<'C'
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static int depth(int n) { if (n == 0) throw std::runtime_error("bottom"); return depth(n - 1) + 1; }
int main()
{
    std::map<std::string, int> counts;
    std::regex word("[a-z]+");
    for (int i = 0; i < 300; i++) {
        std::ostringstream line;
        line << "alpha" << i % 7 << " beta gamma" << i;
        std::string text = line.str();
        for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
            counts[at->str()]++;
        try { depth(i % 20); } catch (const std::exception& e) { counts[e.what()]++; }
    }
    std::vector<long> sums(4);
    std::vector<std::thread> threads;
    for (long t = 0; t < 4; t++)
        threads.emplace_back([&, t] { for (long i = 0; i < 100000; i++) sums[t] += i * t % 7; });
    for (auto& thread : threads)
        thread.join();
    for (auto& [name, count] : counts)
        std::cout << name << ' ' << count << '\n';
    for (long sum : sums)
        std::cout << sum << '\n';
}
C
"""

TEXT = r"""gawk 'BEGIN { srand(7); for (i = 0; i < 6000; i++) { s = ""
    for (j = 0; j < 9; j++) s = s sprintf("%c%d ", 97 + int(rand() * 26), int(rand() * 1000)); print s } }' > text
"""

JAVA_SOURCE = r"""cat > Work.java <<'C'
import java.util.*;
import java.util.stream.*;
public class Work {
    record Point(int x, int y) {}
    public static void main(String[] args) throws Exception {
        Map<Point, List<String>> map = new HashMap<>();
        for (int i = 0; i < 60000; i++)
            map.computeIfAbsent(new Point(i % 97, i % 89), p -> new ArrayList<>()).add("value" + i % 13);
        long sum = map.entrySet().stream().mapToLong(e -> (long) e.getKey().x() * e.getValue().size()).sum();
        Thread[] threads = new Thread[4];
        long[] sums = new long[4];
        for (int t = 0; t < 4; t++) {
            int n = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 20000; i++) sums[n] += new String("x" + i).hashCode() % 1000;
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(sum + " " + LongStream.of(sums).sum());
        System.out.println(IntStream.range(0, 50).mapToObj(Integer::toString).collect(Collectors.joining(",")));
    }
}
C
"""

def java(name, options):
    return Program(f"java {name}", "default-jdk-headless",
                   f"exec java -Xmx128m {options} -cp classes Work", JAVA_SOURCE + "javac -d classes Work.java")

PROGRAMS = [
    # Compilers, and programs that they have compiled.
    Program("gcc", "gcc libc6-dev", "gcc -O2 -g -c sum.c && gcc -o sum sum.o && ./sum; echo $?", C_SOURCE),
    Program("g++", "g++", "g++ -O1 -std=c++17 -o words words.cpp && ./words", CPP_SOURCE),
    Program("g++ result", "g++", "exec ./words", CPP_SOURCE + "g++ -O2 -std=c++17 -o words words.cpp"),
    Program("clang", "clang", "clang -O2 -c sum.c && clang -o sum sum.o && ./sum; echo $?", C_SOURCE),
    Program("rustc", "rustc", "rustc -O -C codegen-units=1 work.rs && ./work", r"""cat > work.rs <<'C'
use std::collections::BTreeMap;
use std::thread;
fn main() {
    let mut map: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for i in 0..5000u64 { map.entry(format!("key{}", i % 17)).or_default().push(i * i); }
    let threads: Vec<_> = (0..4).map(|t| thread::spawn(move || (0..50000u64).fold(0, |a, i| a ^ (i * t)))).collect();
    for t in threads { println!("{}", t.join().unwrap()); }
    for (k, v) in &map { println!("{} {}", k, v.iter().sum::<u64>()); }
    let caught = std::panic::catch_unwind(|| { let v: Vec<u8> = Vec::new(); v[3] });
    println!("{}", caught.is_err());
}
C
"""),
    Program("go", "golang-go", "exec ./work", r"""cat > work.go <<'C'
package main
import ("fmt"; "sort"; "strings"; "sync")
func deep(n int) int { var pad [64]int; if n == 0 { return 0 }; pad[n%64] = n; return deep(n-1) + pad[n%64] - n + 1 }
func main() {
	var group sync.WaitGroup
	sums := make([]int, 8)
	for g := range sums {
		group.Add(1)
		go func(g int) { defer group.Done(); for i := 0; i < 200; i++ { sums[g] += deep(i * 5); _ = make([]byte, i*100) } }(g)
	}
	group.Wait()
	words := map[string]int{}
	for i := 0; i < 20000; i++ { words[strings.Repeat("x", i%9)+fmt.Sprint(i%31)]++ }
	keys := make([]string, 0)
	for k := range words { keys = append(keys, k) }
	sort.Strings(keys)
	fmt.Println(sums, len(keys), keys[0], keys[len(keys)-1])
	func() { defer func() { fmt.Println(recover()) }(); var m map[string]int; m["a"] = 1 }()
}
C
GOCACHE=$PWD/../cache GO111MODULE=off go build -o work work.go"""),
    Program("go compiler", "golang-go", "GOCACHE=$PWD/cache GO111MODULE=off GOFLAGS=-p=2 go vet ./work.go && gofmt -d work.go",
            "printf 'package main\\n\\nimport \"fmt\"\\n\\nfunc main() {\\n\\tfmt.Println(7)\\n}\\n' > work.go",
            ignore=("cache/*",)),
    Program("ocaml", "ocaml-nox", "ocamlopt -o work work.ml && ./work", r"""cat > work.ml <<'C'
exception Deep of int
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let rec fail n = if n = 0 then raise (Deep 7) else 1 + fail (n - 1)
let () =
  Printf.printf "%d\n" (fib 22);
  (try ignore (fail 1000) with Deep n -> Printf.printf "deep %d\n" n);
  let table = Hashtbl.create 10 in
  for i = 0 to 9999 do Hashtbl.replace table (i mod 101) (string_of_int i) done;
  print_endline (String.concat "," (List.sort compare (Hashtbl.fold (fun _ v l -> v :: l) table [])))
C
""", ignore=("*.o", "work")),
    Program("gfortran", "gfortran", "gfortran -O2 -o work work.f90 && ./work", r"""cat > work.f90 <<'C'
program work
  real(8) :: a(40,40), b(40,40), c(40,40)
  integer :: i, j
  do i = 1, 40
    do j = 1, 40
      a(i,j) = i + j * 0.5d0
      b(i,j) = i - j * 0.25d0
    end do
  end do
  c = matmul(a, b)
  print '(F16.4)', sum(c), maxval(c), c(7,9)
end program
C
"""),
    Program("fpc", "fp-compiler", "fpc -v0 work.pas >log 2>&1; ./work", r"""cat > work.pas <<'C'
program work;
var i, n: longint; s: ansistring;
begin
  n := 0; s := '';
  for i := 1 to 5000 do begin n := (n * 31 + i) mod 100003; s := s + chr(65 + i mod 26); end;
  writeln(n, ' ', length(s), ' ', copy(s, 100, 20));
end.
C
""", ignore=("log",)),
    Program("javac", "default-jdk-headless", "javac -J-Xmx256m -d classes Work.java && ls classes", JAVA_SOURCE),
    java("serial", "-XX:+UseSerialGC"),
    java("parallel", "-XX:+UseParallelGC"),
    java("g1", "-XX:+UseG1GC"),
    java("z", "-XX:+UseZGC"),
    java("shenandoah", "-XX:+UseShenandoahGC"),
    # These programs for media, cryptography and compression run hand-written assembly.
    Program("ffmpeg", "ffmpeg", "exec ffmpeg -v error -threads 2 -f lavfi -i testsrc=size=160x120:rate=10 -t 2 "
            "-c:v mpeg4 -bitexact -flags bitexact out.avi"),
    Program("x264", "x264", "exec x264 --quiet --threads 2 --frames 12 --input-res 64x48 --fps 10 -o out.264 raw.yuv 2>/dev/null",
            "seq 1 40000 | head -c 55296 > raw.yuv"),
    Program("imagemagick", "imagemagick", "convert -size 120x80 gradient:red-blue -blur 0x3 -rotate 30 out.ppm && "
            "convert out.ppm -resize 50% -define png:exclude-chunks=date,time out.png && identify -format '%m %wx%h %z %#\\n' out.ppm"),
    Program("sox", "sox", "exec sox -R -n -r 8000 out.wav synth 2 sine 300 vol 0.5 reverb"),
    Program("flac", "flac sox", "flac -s -f raw.wav -o out.flac && flac -s -t out.flac && flac -s -d -c --force-raw-format --endian=little --sign=signed out.flac | sha256sum",
            "sox -R -n -r 8000 raw.wav synth 2 sine 300-900"),
    Program("openssl", "openssl", TEXT + "for h in md5 sha1 sha256 sha512 sha3-256 blake2b512; do openssl dgst -$h text; done\n"
            "for c in aes-128-cbc aes-256-gcm chacha20 camellia-128-cfb8; do "
            "openssl enc -$c -K 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f "
            "-iv 000102030405060708090a0b0c0d0e0f -in text -out out.$c 2>/dev/null; done"),
    Program("gpg", "gpg gpg-agent", "gpg --homedir $PWD/home --batch --quiet --no-tty --passphrase x --pinentry-mode loopback "
            "--decrypt text.gpg | sha256sum; gpg --homedir $PWD/home --print-md SHA512 text; "
            "gpgconf --homedir $PWD/home --kill all", TEXT + "mkdir -m 700 home; gpg --homedir $PWD/home --batch --quiet "
            "--passphrase x --pinentry-mode loopback -c text; gpgconf --homedir $PWD/home --kill all", ignore=("home/*",)),
    Program("tar and zstd", "tar zstd", "tar --sort=name --mtime=@0 --owner=0 --group=0 -cf all.tar text sum.c && zstd -q -T2 -9 all.tar "
            "&& zstd -q -d -c all.tar.zst | tar -tvf -", TEXT + C_SOURCE + "touch -d @0 text sum.c"),
    Program("xz", "xz-utils", "xz -k -T2 text && xz -dc text.xz | sha256sum", TEXT),
    Program("gzip", "gzip", "gzip -n -9 text && gzip -dc text.gz | sha256sum", TEXT),
    Program("bzip2", "bzip2", "bzip2 text && bzip2 -dc text.bz2 | sha256sum", TEXT),
    Program("brotli", "brotli", "brotli -q 9 text && brotli -dc text.br | sha256sum", TEXT),
    Program("lz4", "lz4", "lz4 -q text text.lz4 && lz4 -q -dc text.lz4 | sha256sum", TEXT),
    # Interpreters.
    Program("perl", "perl", r"""exec perl -e 'use strict; my %h; for my $i (1..60000) { $h{$i % 977} .= chr(65 + $i % 26) }
        my $n = 0; for (sort keys %h) { $n += length $h{$_}; $n ^= $_ } print "$n\n"; print join(",", map { sprintf "%x", $_ } grep { $_ % 3 } 1..40), "\n";
        eval { die { code => 7 } }; print $@->{code}, "\n"; my $t = "ab" x 500; $t =~ s/(a)(b)/$2$1/g; print substr($t, 0, 9), "\n"; local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; sleep 3;'"""),
    Program("python", "python3", r"""exec python3 -S -E -c '
import hashlib, json, re, threading, zlib, collections, functools
sums = [0] * 4
def work(t):
    for i in range(20000): sums[t] += i * t % 7
threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sums, json.dumps({str(i): i * i for i in range(50)}, sort_keys=True)[:80])
print(zlib.crc32(b"x" * 100000), hashlib.blake2b(b"y" * 1000).hexdigest()[:16], len(re.findall(r"(a|b)+c", "abac" * 500)))
@functools.lru_cache(None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(90))
def gen():
    try: yield from range(5)
    finally: print("closed")
print(sum(gen()))
'"""),
    Program("python's tests", "libpython3.11-testsuite", "python3 -m test -q test_json test_re test_struct test_zlib test_generators "
            "2>&1 | grep -v -E 'Total duration|load avg|^$|in [0-9.]+ sec'"),
    Program("ruby", "ruby", r"""exec ruby -e 'h = Hash.new(0); 40000.times { |i| h["k#{i % 97}"] += i }; puts h.sort.first(3).inspect
        puts (1..4).map { |t| Thread.new { (0..9000).sum { |i| i * t % 7 } } }.map(&:value).inspect
        f = Fiber.new { 3.times { |i| Fiber.yield i * i }; :done }; 4.times { p f.resume }
        begin; raise ArgumentError, "x"; rescue => e; puts e.message; end; puts [3, 1, 2].sort.pack("C*").unpack1("H*"); puts "héllo".scan(/l+/).inspect'"""),
    Program("node", "nodejs", r"""exec node -e '
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const code = `const { parentPort, workerData } = require("worker_threads");
let s = 0; for (let i = 0; i < 300000; i++) s = (s * 31 + i * workerData) % 1000003; parentPort.postMessage(s);`;
Promise.all([1, 2, 3].map(n => new Promise(done => new Worker(code, { eval: true, workerData: n }).on("message", done))))
  .then(all => { console.log(all); console.log(JSON.stringify([...Array(50).keys()].map(i => ({ i, t: "x".repeat(i % 5) }))).length);
    console.log(require("zlib").gzipSync("abc".repeat(9000)).length > 50, require("crypto").createHash("sha256").update("x").digest("hex")); });'"""),
    Program("php", "php-cli", r"""exec php -n -r '$a = []; for ($i = 0; $i < 60000; $i++) $a["k" . $i % 89] = ($a["k" . $i % 89] ?? 0) + $i;
        ksort($a); echo array_sum($a), " ", count($a), " ", md5(serialize($a)), "\n"; function g() { for ($i = 0; $i < 4; $i++) yield $i => $i * $i; }
        foreach (g() as $k => $v) echo "$k=$v "; try { intdiv(1, 0); } catch (DivisionByZeroError $e) { echo $e->getMessage(), "\n"; } echo preg_replace("/(a+)b/", "[$1]", "aabab"), "\n";'"""),
    Program("lua", "lua5.4", r"""exec lua5.4 -e 'local t = {} for i = 1, 60000 do t[i % 97] = (t[i % 97] or 0) + i end local s = 0 for k, v in pairs(t) do s = s + v end print(s)
        local c = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i * i) end end) for i = 1, 5 do io.write(c(), " ") end print(pcall(error, "x")) print(("x"):rep(9), ("a1b2"):gsub("%d", "#"))'"""),
    Program("guile", "guile-3.0", r"""exec guile --no-auto-compile -q -c '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 18)) (newline)
        (display (call/cc (lambda (k) (for-each (lambda (x) (if (> x 3) (k x))) (list 1 2 3 4 5)) 0))) (newline)'"""),
    Program("tcl", "tcl", r"""printf 'proc f n {if {$n < 2} {return $n}; expr {[f [expr {$n-1}]] + [f [expr {$n-2}]]}}\nputs [f 16]\nputs [lsort -integer {5 3 9}]\nputs [regsub -all {a+} xaayaz -]\n' > w.tcl; exec tclsh w.tcl"""),
    Program("erlang", "erlang-base", r"""exec erl -noshell -noinput -eval 'F = fun(G, 0) -> 0; (G, N) -> N + G(G, N - 1) end, P = self(), [spawn(fun() -> P ! {N, F(F, N * 100)} end) || N <- lists:seq(1, 20)],
        io:format("~p~n", [lists:sort([receive M -> M end || _ <- lists:seq(1, 20)])]), io:format("~p~n", [erlang:md5("x")]), halt(3).'""", status=3),
    # Tools.
    Program("git", "git", r"""export GIT_AUTHOR_DATE='1000000000 +0000' GIT_COMMITTER_DATE='1000000000 +0000' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main repo && cd repo && for i in 1 2 3; do seq 1 $((i * 400)) > f$i && git add . && git commit -q -m "change $i"; done
git checkout -q -b side HEAD~1 && echo side > f1 && git commit -q -am side && git merge -q -m merged main && git log --format='%H %s' --graph && git gc -q && git fsck && git blame f1 | tail -1""",
            ignore=("repo/.git/index", "repo/.git/logs/*", "repo/.git/objects/pack/*", "repo/.git/objects/info/*")),
    Program("sqlite3", "sqlite3", r"""exec sqlite3 data.db "create table t(a integer primary key, b text, c real); create index i on t(b);
        with recursive n(x) as (select 1 union all select x + 1 from n where x < 5000) insert into t select x, 'v' || (x * 7919 % 1009), x / 3.0 from n;
        select b, count(*), round(sum(c), 3) from t group by b order by 2 desc, 1 limit 9; update t set c = c * 2 where a % 7 = 0; delete from t where a % 11 = 0; vacuum; pragma integrity_check; select count(*), sum(a) from t;" """),
    Program("gawk", "gawk", "exec gawk '{ for (i = 1; i <= NF; i++) n[substr($i, 1, 2)]++ } END { PROCINFO[\"sorted_in\"] = \"@ind_str_asc\"; for (k in n) print k, n[k] }' text", TEXT),
    Program("sed and sort", "sed coreutils", "sed -E 's/([a-z])([0-9]+)/\\2\\1/g' text | sort --parallel=2 -n -k2 | uniq -c | head -50; shuf --random-source=text -n 5 text", TEXT),
    Program("grep and ripgrep", "grep ripgrep", "grep -c -E '(a|b)[0-9]{2} .*z' text; rg -j2 --no-config -c 'q\\d+ r\\d' text; grep -o -P 'x\\d(?=\\d )' text | sort | uniq -c", TEXT),
    Program("jq", "jq", "seq 1 2000 | jq -s 'map({n: ., s: (tostring | test(\"7\"))}) | group_by(.s) | map({s: .[0].s, n: length, t: (map(.n) | add)})'"),
    Program("bc", "bc", "echo 'scale=60; 4*a(1); e(1); for (i = 0; i < 200; i++) x = (x * 31 + i) % 1000003; x' | bc -l"),
    Program("make", "make gcc", "make -s -j2 all && ./a.out; make -s clean; ls", C_SOURCE +
            r"""printf 'all: a.out\na.out: sum.o two.o\n\tgcc -o a.out sum.o\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\ntwo.c: sum.c\n\tsed s/main/mine/ sum.c > two.c\nclean:\n\trm -f *.o a.out two.c\n' > Makefile"""),
    Program("busybox", "busybox-static", TEXT + "busybox sh -c 'busybox sort text | busybox md5sum; busybox gzip -c text | busybox gunzip | busybox wc; i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo $i'"),
    Program("bash", "bash", r"""exec bash -c 'f() { local n=$1; (( n < 2 )) && { echo $n; return; }; echo $(( $(f $((n-1))) + $(f $((n-2))) )); }; f 7; trap "echo usr1" USR1; kill -USR1 $$; a=(x y z); echo "${a[@]^^}" "${#a[@]}"; for i in {1..500}; do s+=$((i % 10)); done; echo ${#s}; wait; exit 5'""", status=5),
    Program("rsync", "rsync", "mkdir -p a b; for i in 1 2 3 4 5; do seq 1 $((i * 300)) > a/f$i; touch -d @$i a/f$i; done; rsync -a a/ b/; seq 1 99 > a/f3; touch -d @9 a/f3; rsync -ac --stats a/ b/ | grep -E 'regular files|Literal'; diff -r a b && echo equal"),
    Program("xmllint", "libxml2-utils", "xmllint --format big.xml | tail -3; xmllint --xpath 'count(//b[@n>50])' big.xml; echo", "(echo '<a>'; for i in $(seq 1 300); do echo \"<b n='$i'>t$i</b>\"; done; echo '</a>') > big.xml"),
    Program("graphviz", "graphviz", "(echo 'digraph g {'; for i in $(seq 1 60); do echo \"n$i -> n$((i * 7 % 61)); n$i -> n$((i * 11 % 61));\"; done; echo '}') | dot -Tplain | sha256sum"),
    Program("groff", "groff", "exec groff -man -Tutf8 page.1", "printf '.TH X 1 2020-01-01\\n.SH NAME\\nx \\\\- y\\n' > page.1; for i in $(seq 1 200); do printf '.PP\\nparagraph %d with some words to fill.\\n' $i; done >> page.1"),
    Program("ghostscript", "ghostscript", "exec gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=ppmraw -r36 -sOutputFile=out.ppm page.ps", "printf '%%!\\n/Helvetica findfont 40 scalefont setfont 72 300 moveto (Harmless) show 0 1 60 { dup 5 mul 100 moveto 300 exch 3 mul 200 add lineto stroke } for showpage\\n' > page.ps"),
    Program("vim", "vim", "vim -u NONE -i NONE -n -es -c '%s/\\v([a-z])(\\d+)/\\2\\1/g' -c 'sort n' -c 'g/7/m0' -c 'wq! out' text; sha256sum out", TEXT),
    Program("emacs", "emacs-nox", """exec emacs -Q --batch --eval '(progn (let ((h (make-hash-table :test (quote equal))) (n 0)) (dotimes (i 9000) (puthash (format "k%d" (% i 97)) i h)) (maphash (lambda (k v) (setq n (+ n v))) h) (message "%d" n)) (with-temp-buffer (dotimes (i 200) (insert (format "line %d\\n" (% (* i 7919) 211)))) (sort-lines nil (point-min) (point-max)) (message "%s" (secure-hash (quote sha256) (current-buffer)))))'"""),
    Program("latex", "texlive-latex-base", "export SOURCE_DATE_EPOCH=0 FORCE_SOURCE_DATE=1; pdflatex -interaction=batchmode doc.tex >/dev/null; pdflatex -interaction=batchmode doc.tex >/dev/null; sha256sum doc.pdf", r"""cat > doc.tex <<'C'
\documentclass{article}\pdfinfoomitdate=1\pdftrailerid{}\begin{document}\tableofcontents\section{One}\newcount\n\loop\ifnum\n<200 word~\the\n, $x^{\the\n}+\int_0^1 y$ \advance\n by 1\repeat\section{Two}\end{document}
C
""", ignore=("doc.log",)),
    Program("gdb", "gdb gcc", "exec gdb -q -batch -nx -ex 'set debuginfod enabled off' -ex 'info functions compare' -ex 'disassemble main' -ex 'ptype struct item' -ex 'info line compare' sum",
            C_SOURCE + "gcc -g -O1 -o sum sum.c"),
    Program("chromium", "chromium", "exec chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/profile --dump-dom file://$PWD/page.html 2>/dev/null",
            "echo '<p id=a></p><script>let s=0; for (let i=0;i<99999;i++) s=(s*31+i)%1000003; document.getElementById(\"a\").textContent=s;</script>' > page.html", ignore=("profile/*", ".*", ".*/*")),
    # Servers with a client that puts load on them.
    Program("redis", "redis-server redis-tools", "redis-server --port 0 --unixsocket $PWD/s --save '' --appendonly no >/dev/null 2>&1 & server=$!\n"
            "until redis-cli -s $PWD/s ping 2>/dev/null | grep -q PONG; do sleep 0.1; done\n"
            "redis-benchmark -s $PWD/s -q -n 2000 -r 100 -t set,get,lpush,zadd >/dev/null; redis-cli -s $PWD/s eval 'local s=0 for i=1,5000 do s=s+i end return s' 0; "
            "redis-cli -s $PWD/s llen mylist; redis-cli -s $PWD/s shutdown nosave; wait $server; echo $?", ignore=("s",)),
    Program("nginx", "nginx-light curl", "mkdir -p logs; nginx -p $PWD -c $PWD/conf; until curl -s --unix-socket s http://x/text -o /dev/null; do sleep 0.1; done\n"
            "for i in 1 2 3 4 5 6 7 8; do curl -s --unix-socket s http://x/text | sha256sum; done; kill -QUIT $(cat pid); while [ -e pid ]; do sleep 0.1; done",
            TEXT + "printf 'pid pid; error_log stderr error; worker_processes 2; events {} http { access_log off; server { listen unix:%s/s; root %s; gzip on; } }\\n' $PWD $PWD > conf",
            ignore=("s", "logs/*", "conf")),
    Program("haproxy", "haproxy curl python3", "python3 -S -m http.server --bind 127.0.0.1 18431 >/dev/null 2>&1 & back=$!\nhaproxy -q -f conf & front=$!\n"
            "until curl -sf http://127.0.0.1:18432/text -o /dev/null; do sleep 0.1; done; for i in 1 2 3 4 5 6; do curl -s http://127.0.0.1:18432/text | sha256sum; done; kill $front $back; wait; echo ended",
            TEXT + "printf 'defaults\\n mode http\\n timeout connect 5s\\n timeout client 30s\\n timeout server 30s\\nfrontend f\\n bind 127.0.0.1:18432\\n default_backend b\\nbackend b\\n server s 127.0.0.1:18431\\n' > conf"),
    Program("memcached", "memcached python3", "memcached -U 0 -s $PWD/s -t 2 & server=$!\nuntil [ -S s ]; do sleep 0.1; done\n" + r"""python3 -S -c '
import socket
s = socket.socket(socket.AF_UNIX); s.connect("s"); f = s.makefile("rwb")
n = 0
for i in range(3000):
    f.write(b"set k%d 0 0 4\r\nv%03d\r\n" % (i % 50, i % 1000)); f.flush(); assert f.readline() == b"STORED\r\n"
    f.write(b"get k%d\r\n" % (i % 50)); f.flush(); f.readline(); n += int(f.readline()[1:]); f.readline()
print(n)'
kill -INT $server; wait $server; echo $?""", ignore=("s",), user=True),
    Program("postgresql", "postgresql", "pg=$(ls -d /usr/lib/postgresql/*/bin); $pg/postgres -D data -k $PWD -h '' >log 2>&1 & server=$!\nuntil $pg/pg_isready -q -h $PWD; do sleep 0.2; done\n"
            "$pg/psql -h $PWD -d postgres -qAtc \"create table t as select i, md5(i::text) m from generate_series(1, 5000) i; create index on t(m); select count(*), max(m) from t where m > 'f'; select i % 7, count(*) from t group by 1 order by 1;\"\n"
            "$pg/pgbench -h $PWD -i -q -s 1 postgres >/dev/null 2>&1; $pg/pgbench -h $PWD -n -c 3 -j 2 -t 60 postgres 2>/dev/null | grep -E 'actually processed|failed'\n"
            "$pg/psql -h $PWD -d postgres -qAtc 'select count(*) from pgbench_history'; kill -INT $server; wait $server; echo $?",
            "$(ls -d /usr/lib/postgresql/*/bin)/initdb -D data -A trust -N >/dev/null", ignore=("data/*", "log", ".s*"), user=True),
    Program("mariadb", "mariadb-server", "mariadbd --no-defaults --datadir=$PWD/data --socket=$PWD/s --skip-networking --innodb-buffer-pool-size=16M >log 2>&1 & server=$!\nuntil mariadb-admin -u root -S $PWD/s ping >/dev/null 2>&1; do sleep 0.2; done\n"
            "mariadb -u root -S $PWD/s -N -e \"create database d; use d; create table t(a int primary key, b varchar(40)) engine=innodb; insert into t select seq, md5(seq) from seq_1_to_3000; select count(*), max(b) from t where b > 'f'; select a % 7, count(*) from t group by 1 order by 1; update t set b = 'x' where a % 3 = 0; select count(*) from t where b = 'x';\"\n"
            "mariadb-admin -u root -S $PWD/s shutdown; wait $server; echo $?", "mariadb-install-db --no-defaults --datadir=$PWD/data --auth-root-authentication-method=normal >/dev/null 2>&1", ignore=("data/*", "log", "s"), user=True),
]

# The compilers and interpreters for the programs of tests/harm/deaths.
DEATHS_PACKAGES = "default-jre-headless g++ golang-go nodejs"
# The tools that can be an argument of `tests/harm/run --tool`. binutils contains nm, which lists the functions to trace.
TOOLS_PACKAGES = "binutils bpftrace gdb uftrace"

if __name__ == "__main__":
    # tests/install-packages reads these lines.
    lists = [DEATHS_PACKAGES, TOOLS_PACKAGES, *(program.packages for program in PROGRAMS)]
    for package in sorted({package for packages in lists for package in packages.split()}):
        print("harm", package)

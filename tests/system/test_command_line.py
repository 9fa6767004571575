#!/usr/bin/env python3
"""Tests scripts, flags, options and arguments on the command line."""
import os, re, subprocess

from harness import *
from saying import *

# Options, operands, scripts

def a_missing_script_is_named(t):
    done = fails_with(t.run("-s", "/no/such/script.d"))
    equal(done.stderr, "dtrace: failed to open /no/such/script.d: No such file or directory\n",
          "message")

def unknown_options_are_named(t):
    fails_with(t.run("-x", "nosuchoption", "-n", "BEGIN"), "failed to set -x nosuchoption: ")
    for setting in ("bufsize=lots", "evaltime=soon", "strsize=-1", "quiet=maybe"):
        fails_with(t.run("-x", setting, "-n", "BEGIN { exit(0); }"),
                   f"failed to set -x {setting.split('=')[0]}: Invalid value for specified option")
    done = fails_with(t.run("-b", "much", "-n", "BEGIN { exit(0); }"))
    contains(done.stderr, "bufsize")

def unknown_flags_are_usage_errors(t):
    for flags in (["-y"], ["-n"], ["-l", "-V"], [], ["-q"]):
        done = t.run(*flags)
        equal(done.returncode, 2, f"status of {flags}: {done.stderr}")
        contains(done.stderr, "Usage: dtrace ")

def help_and_version_are_printed_with_status_0(t):
    done = t.run("--help")
    equal((done.returncode, done.stderr), (0, ""))
    contains(done.stdout, "Usage: dtrace ")
    done = t.run("-V")
    equal(done.returncode, 0, "-V")
    if not re.fullmatch(r"dtrace: .*\d+\.\d+.*\n", done.stdout):
        raise AssertionError(done.stdout)

def executable_scripts_take_combined_flags_and_operands(t):
    place = t.scratch / "scripts"
    place.mkdir(exist_ok=True)
    path = place / "hash-bang"
    path.write_text(f"#!{t.dtrace} -qs\n"
                    'BEGIN { printf("%d %s %s\\n", $1, $$2, $$0); exit($1); }\n')
    path.chmod(0o755)
    done = subprocess.run([str(path), "7", "word"], capture_output=True, text=True, timeout=20)
    equal(done.returncode, 7, done.stderr)
    equal(done.stdout.splitlines()[0], f"7 word {path}", "output")
    path.write_text(f"#!{t.dtrace} -Zqs\n"
                    "pid$target:a.out:work:entry { @ = count(); }\n"
                    'END { printa("%@d calls\\n", @); }\n')
    done = subprocess.run([str(path), "-c", t.victim("spin") + " 30 2"],
                          capture_output=True, text=True, timeout=20)
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "60 calls\n")

def macro_arguments_are_numbers_and_strings(t):
    done = t.run("-qn", 'BEGIN { printf("%d %s %s\\n", $1 + 1, $$1, $$2); exit(0); }', "41", "two")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "42 41 two\n")
    done = t.run("-qn", 'BEGIN { printf("%d %d %d %d\\n", $pid, $ppid, $uid, $gid); exit(0); }')
    fields = list(map(int, done.stdout.split()))
    equal(fields[1:], [os.getpid(), os.geteuid(), os.getegid()] if os.getuid() == os.geteuid()
          else fields[1:], "$ppid $uid $gid")

def missing_and_extraneous_arguments_are_errors(t):
    fails_with(t.run("-n", "BEGIN { trace($1); exit(0); }"), "$1")
    fails_with(t.run("-xerrtags", "-n", "BEGIN { trace($1); exit(0); }"), "[D_MACRO_UNDEF]")
    fails_with(t.run("-n", "BEGIN { exit(0); }", "extra"),
               "extraneous argument 'extra' ($1 is not referenced)")
    equal(t.run("-xargref", "-qn", "BEGIN { exit(0); }", "extra").returncode, 0, "-xargref")
    done = t.run("-xdefaultargs", "-qn", 'BEGIN { printf("[%d%s]", $1, $$2); exit(0); }')
    contains(done.stdout, "[0]")

def options_are_also_read_from_the_environment(t):
    done = t.run("-n", 'BEGIN { printf("here"); exit(0); }',
                 env=dict(os.environ, DTRACE_OPT_QUIET="1"))
    equal(done.stdout, "here\n", "quiet output")

def output_is_appended(t):
    path = t.scratch / "appended"
    path.write_text("before\n")
    for word in ("first", "second"):
        done = t.run("-qo", str(path), "-n", f'BEGIN {{ printf("{word}\\n"); exit(0); }}')
        equal((done.returncode, done.stdout), (0, ""), done.stderr)
    equal([line for line in path.read_text().splitlines() if line],
          ["before", "first", "second"], "the file")

def the_parts_of_a_description_may_be_flags(t):
    for flags in (["-P", "dtrace"], ["-P", "dtrace { }"], ["-i", "1"], ["-n", "BEGIN"],
                  ["-n", "dtrace:::BEGIN /1/ { }"]):
        done = t.run(*flags, "-n", "tick-10ms { exit(0); }")
        equal(done.returncode, 0, f"{flags}: {done.stderr}")
        if not re.search(r"^  *\d+ +1 +:BEGIN", done.stdout, re.M):
            raise AssertionError(f"no BEGIN by {flags}:\n{done.stdout}")
    done = t.run("-Zq", "-m", "pid$target:nolibrary", "-f", "pid$target:a.out:work { @ = count(); }",
                 "-b", "64k", "-n", "END { }", "-c", t.victim("spin") + " 1 1")
    equal(done.returncode, 0, done.stderr)

def a_script_is_read_from_standard_input(t):
    for name in ("-", "/dev/stdin"):
        done = t.run("-qs", name, stdin='BEGIN { printf("read\\n"); exit(0); }\n')
        equal((done.returncode, done.stdout), (0, "read\n\n"), done.stderr)

def several_programs_are_enabled_in_order(t):
    path = script(t, 'BEGIN { printf("two "); }\n')
    done = t.run("-qn", 'BEGIN { printf("one "); }', "-s", path,
                 "-n", 'BEGIN { printf("three"); exit(0); }')
    equal((done.returncode, done.stdout), (0, "one two three\n"), done.stderr)

def a_command_is_split_by_the_rules_of_the_shell(t):
    printer = "/usr/bin/printf '[%s]' "
    for text, words in (("one two", ["one", "two"]),
                        (r"""'a b' "c d" e\ f""", ["a b", "c d", "e f"]),
                        (r"""a'b c'"d e"f\ g""", ["ab cd ef g"]),
                        (r"""'\n' "\n" "\"" "\\" "\$x" \'""", [r"\n", r"\n", '"', "\\", "$x", "'"]),
                        (r"""'' "" x""", ["", "", "x"]),
                        (r"""$HOME * ~ `x` | ; & > #""", "$HOME * ~ `x` | ; & > #".split()),
                        ("one\\\ntwo 'a\nb'\tc\nd", ["onetwo", "a\nb", "c", "d"])):
        done = t.run("-qn", "BEGIN { }", "-c", printer + text)
        equal((done.returncode, done.stdout.rstrip("\n")), (0, "".join(f"[{w}]" for w in words)), done.stderr)

def a_command_with_an_open_quote_is_refused(t):
    for text, why in (("echo 'a b", "the ' at character 6 has no closing '"),
                      ('echo "a b\\"', 'the " at character 6 has no closing "'),
                      ("echo a\\", "it ends with a backslash"),
                      ("  ", "-c needs a command")):
        fails_with(t.run("-qn", "BEGIN { }", "-c", text), "failed to create process: ", why)

def a_description_with_too_many_fields_is_refused(t):
    done = t.run("-l", "-m", ":genunix::")
    equal((done.returncode, done.stdout), (1, ""), done.stderr)
    contains(done.stderr, 'invalid probe description ":genunix::": Overspecified probe description')
    # Empty fields at the start of the description are not counted.
    for description in ("main", "::main", ":::main"):
        done = t.run("-l", "-f", description)
        equal(done.returncode, 0, done.stderr)
        contains(done.stderr, "failed to match ::main:: No probe matches description")

def a_probe_id_is_accepted_instead_of_a_complete_description(t):
    equal(t.run("-n", "1 { exit(0); }").returncode, 0, "-n 1")
    for flag, what in (("-P", "providers"), ("-m", "modules"), ("-f", "functions")):
        done = t.run("-xerrtags", flag, "1")
        equal(done.returncode, 1, flag)
        contains(done.stderr, f"[D_PDESC_INVAL] probe identifier 1 not permitted when specifying {what}")

def compiling_without_a_program_is_not_an_error(t):
    done = t.run("-e")
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))

def programs_of_32_bits_are_refused_in_one_line(t):
    done = t.run("-32", "-n", "BEGIN { exit(0); }")
    equal((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
    contains(done.stderr, "32-bit programs cannot be traced")

def the_stability_report_names_the_program_without_quotes(t):
    done = t.run("-ev", "-n", "BEGIN { exit(0); }")
    contains(done.stderr, "Stability attributes for description BEGIN { exit(0); }:\n")

def the_value_of_stdc_depends_on_the_dialect(t):
    path = t.scratch / "stdc.d"
    path.write_text("#ifdef __STDC__\nBEGIN { trace(__STDC__); exit(0); }\n"
                    "#else\nBEGIN { trace(\"none\"); exit(0); }\n#endif\n")
    for dialect, value in (("a", "0"), ("c", "1"), ("s", "none"), ("t", "0")):
        for flags in (("-X", dialect), ("-x", f"stdc={dialect}")):
            done = t.run("-Cq", *flags, "-s", str(path))
            equal((done.stdout.strip(), done.stderr), (value, ""), flags)

def with_Z_a_program_that_enables_no_probe_waits_until_it_is_interrupted(t):
    for flags in (("-xempty", "-Zn", "inline int one = 1;"), ("-Zn", "nosuch:::probe { }")):
        with held(t.start(*flags)) as dtrace:
            time.sleep(1)  # dtrace must do nothing, so there is no event to wait for
            equal(dtrace.poll(), None, flags)
            dtrace.send_signal(signal.SIGINT)
            _, errors = dtrace.communicate(timeout=30)
            equal((dtrace.returncode, "no probes matched" in errors), (0, False), errors)

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)

/*
 * A C++ function is found by its demangled name.
 * @command: thrower 30
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:middle*:entry { n++; }
END { printf("%d\n", n); }

/*
 * The module name libc matches libc.so.6.
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:libc:exit:entry { printf("%s %d\n", probefunc, arg0); }

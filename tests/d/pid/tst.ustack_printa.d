/*
 * %k prints a key that is a stack.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 * @flags: -q
 */
pid$target:a.out:work:entry { @[ustack(2), probefunc] = count(); }
END { printa("stack %k of %s %@d\n", @); }

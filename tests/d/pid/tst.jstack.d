/*
 * jstack of a program without helpers is its stack.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 * @flags: -q
 */
pid$target:a.out:work:entry / arg0 == 2 / { jstack(2); }

/*
 * ustack records the stack, from the probed function to its callers.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 * @flags: -q
 */
pid$target:a.out:work:entry / arg0 == 2 / { ustack(3); }

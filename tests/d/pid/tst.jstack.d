/*
 * In a program without ustack helpers, jstack records the same stack as ustack.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 * @flags: -q
 */
pid$target:a.out:work:entry / arg0 == 2 / { jstack(2); }

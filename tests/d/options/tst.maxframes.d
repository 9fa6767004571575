/*
 * maxframes limits the frames that ustack and jstack record, regardless of their arguments.
 * @flags: -q -x maxframes=2 -x stackindent=4
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 */
pid$target:a.out:work:entry / arg0 == 2 / { ustack(); ustack(1); jstack(20); }

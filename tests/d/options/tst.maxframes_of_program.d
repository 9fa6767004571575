/*
 * A program may set maxframes itself.
 * @flags: -q
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 */
#pragma D option maxframes=1
#pragma D option stackindent=4
pid$target:a.out:work:entry / arg0 == 2 / { ustack(7); }

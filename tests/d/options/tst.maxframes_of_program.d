/*
 * A program's own maxframes counts, too; 0 would be no stack at all and is refused.
 * @flags: -q
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 */
#pragma D option maxframes=1
#pragma D option stackindent=4
pid$target:a.out:work:entry / arg0 == 2 / { ustack(7); }

/*
 * ustackframes is how many frames ustack has, stackindent how far they are indented.
 * @flags: -q -x ustackframes=2 -x stackindent=4
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 */
pid$target:a.out:work:entry / arg0 == 2 / { ustack(); }

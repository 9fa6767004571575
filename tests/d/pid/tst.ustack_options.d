/*
 * ustackframes is the default number of frames of ustack; stackindent is their indentation.
 * @flags: -q -x ustackframes=2 -x stackindent=4
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 */
pid$target:a.out:work:entry / arg0 == 2 / { ustack(); }

/*
 * ustackdepth is the number of frames, and ucaller is an address in the caller.
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:outer:entry { self->d = ustackdepth; }
pid$target:a.out:work:entry { printf("%d %d\n", ustackdepth == self->d + 1, ucaller != 0); }

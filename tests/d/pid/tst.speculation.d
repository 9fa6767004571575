/*
 * The records of a speculation are printed if the speculation is committed, but not if it is discarded.
 * @command: spin 8 1
 * @replace: ^calls .*\n -> 
 * @flags: -q -x nspec=4
 */
pid$target:a.out:work:entry { self->s = speculation(); }
pid$target:a.out:work:entry / self->s / { speculate(self->s); printf("arg %d ", arg0); }
pid$target:a.out:work:return / self->s / { speculate(self->s); printf("ret %d\n", arg1); }
pid$target:a.out:work:return / self->s && arg1 == 50 / { commit(self->s); self->s = 0; }
pid$target:a.out:work:return / self->s && arg1 != 50 / { discard(self->s); self->s = 0; }

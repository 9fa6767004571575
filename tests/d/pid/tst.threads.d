/*
 * A probe fires in every thread, and each call is counted.
 * @command: spin 200 8
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry { @total = count(); @by[tid] = count(); }
pid$target:a.out:work:entry / !self->seen / { self->seen = 1; @threads = count(); }
END { printa("%@d\n", @total); printa("%@d\n", @threads); trunc(@by); }

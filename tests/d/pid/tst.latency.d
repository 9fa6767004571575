/*
 * A thread-local variable keeps its value from the entry to the return.
 * @command: spin 100 4
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry { self->ts = timestamp; self->arg = arg0 + 1; }
pid$target:a.out:work:return / self->ts /
{
	@n = count();
	@bad = sum(timestamp < self->ts);
	@args = sum(self->arg);
	self->ts = 0;
	self->arg = 0;
}
END { printa("%@d\n", @n); printa("%@d\n", @bad); printa("%@d\n", @args); }

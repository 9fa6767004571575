/*
 * A thread-local variable that is set at one static probe can be read at another static probe.
 * @command: kinds 3
 * @replace: ^[a-z].*\n ->
 * @flags: -q
 */
kinds*:::none
{
	self->turn++;
	self->since = timestamp;
}

kinds*:::small
/self->turn/
{
	printf("> small of turn %d\n", self->turn);
}

kinds*:::twelve
/arg0 == self->turn/
{
	@late = sum(timestamp >= self->since);
}

END
{
	printa("> %@d\n", @late);
}

/*
 * If a thread-local variable is set at one static probe, it can be read at another one.
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

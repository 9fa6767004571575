/*
 * The memory of freed elements can be used again.
 * @flags: -q -x dynvarsize=64k -x cleanrate=5000hz
 * @stderr
 */
int n;

tick-1ms
{
	a[n] = 1;
	a[n] = 0;
	self->x = n + 1;
	self->x = 0;
	n++;
}

tick-1ms / n == 200 / { printf("%d\n", n); exit(0); }

/*
 * A dynamic variable is counted as a drop if there is no space for it.
 * @flags: -q -x dynvarsize=4k
 * @stderr
 * @replace: dtrace: \d+ dynamic -> dtrace: N dynamic
 * @replace: (dtrace: N dynamic variable drops\n)+ -> dtrace: N dynamic variable drops\n
 */
int n;

tick-1ms / n < 2000 /
{
	a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++;
	a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++;
	a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++;
	a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++; a[n] = 1; n++;
}

tick-1ms / n >= 2000 / { printf("%d %d\n", a[0], a[1999]); exit(0); }

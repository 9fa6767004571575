/*
 * A key that finds no room is a drop.
 * @flags: -q -x aggsize=4k
 * @stderr
 * @replace: \d+ aggregation drops? on CPU \d+ -> N aggregation drops on CPU C
 * @replace: (dtrace: N aggregation drops on CPU C\n)+ -> dtrace: N aggregation drops on CPU C\n
 */
int n;

tick-1ms / n < 1000 /
{
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
}

tick-1ms / n >= 1000 / { trunc(@); printf("end\n"); exit(0); }

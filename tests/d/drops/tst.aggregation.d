/*
 * An aggregation key is counted as a drop if there is no space for it.
 * @flags: -q -x aggsize=4k
 * @stderr
 * @replace: \d+ aggregation drops? on CPU \d+ -> N aggregation drops on CPU C
 * @replace: (dtrace: N aggregation drops on CPU C\n)+ -> dtrace: N aggregation drops on CPU C\n
 */
int n;

BEGIN
{
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
	@[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++; @[n] = count(); n++;
}

BEGIN { trunc(@); printf("end\n"); exit(0); }

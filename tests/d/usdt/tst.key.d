/*
 * Arguments of a static probe may be used in keys and predicates, and may be summed.
 * @command: kinds 20
 * @replace: ^[a-z].*\n ->
 * @flags: -q
 */
kinds*:::twelve
/arg0 % 2 == 0/
{
	@even[arg9] = count();
}

kinds*:::twelve
{
	@sum[arg9] = sum(arg0);
	@low = sum(arg8 - arg0);
}

END
{
	printa("> even %d: %@d\n", @even);
	printa("> sum %d: %@d\n", @sum);
	printa("> low %@d\n", @low);
}

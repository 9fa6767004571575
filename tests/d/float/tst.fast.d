/*
 * Floating-point code that runs in a target does not disturb the target's own computation.
 * @command: floats 20000
 * @flags: -q
 */
double total;
pid$target:a.out:step:entry
{
	total += arg0 / 4.0;
	@ = sum(arg0 * 0.5);
	@n = count();
}
END
{
	printf("%.1f\n", total);
}

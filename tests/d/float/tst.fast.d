/*
 * Floating point within a target: its own computation goes on undisturbed.
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

/*
 * An else belongs to the nearest if.
 * @flags: -q
 */
BEGIN
{
	a = 1;
	b = 0;
	if (a)
		if (b)
			printf("both\n");
		else
			printf("a alone\n");
	exit(0);
}

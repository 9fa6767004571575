/*
 * if runs one of its branches.
 * @flags: -q
 */
BEGIN
{
	x = 5;
	if (x > 3)
		printf("large\n");
	else
		printf("small\n");
	if (x < 3) {
		printf("small\n");
	} else {
		printf("not small\n");
	}
	exit(0);
}

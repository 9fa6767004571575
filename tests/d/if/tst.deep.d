/*
 * Branches may be nested deeply.
 * @flags: -q
 */
int n;
tick-2ms
{
	if (n < 4) {
		if (n < 2) {
			if (n < 1) { printf("0"); } else { printf("1"); }
		} else {
			if (n < 3) { printf("2"); } else { printf("3"); }
		}
	} else if (n == 4) {
		printf("4");
	} else {
		printf("5\n");
		exit(0);
	}
	n++;
}

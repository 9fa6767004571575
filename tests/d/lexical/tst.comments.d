/*
 * A comment is allowed wherever whitespace is allowed.
 * @flags: -q
 */
/* before */ BEGIN /* after the probe */ /* over
 * several lines, with a // and a " and a '
 */
/ 1 /* in the predicate */ == 1 /
/* before the body */
{
	printf(/* first */ "%d\n" /* second */, /* third */ 7);
	exit(0); /* last */
}
/* after the body */

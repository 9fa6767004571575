/*
 * A slash divides inside a predicate and closes it before the body.
 * @flags: -q
 */
BEGIN
/ 8 / 2 == 4 /
{
	printf("divided\n");
}

BEGIN / (12 / 3 / 2) == 2 / { printf("twice\n"); }

BEGIN
/1/ /* a comment behind it */
{
	exit(0);
}

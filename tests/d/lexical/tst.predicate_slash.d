/*
 * A slash inside a predicate is a division, and a slash before the body ends the predicate.
 * @flags: -q
 */
BEGIN
/ 8 / 2 == 4 /
{
	printf("divided\n");
}

BEGIN / (12 / 3 / 2) == 2 / { printf("twice\n"); }

BEGIN
/1/ /* a comment after the predicate */
{
	exit(0);
}

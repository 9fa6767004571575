/*
 * A leading colon does not add an empty field to a probe description.
 * @flags: -q
 */
dtrace:::BEGIN, :::BEGIN, ::::BEGIN
{
	n++;
}

BEGIN
{
	printf("%d\n", n);
	exit(0);
}

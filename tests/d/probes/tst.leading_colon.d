/*
 * A leading colon separates: it adds no field of its own.
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

/*
 * toupper and tolower change only ASCII letters.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s\n", toupper("aZ09-z\344"), tolower("aZ09-Z\304"));
	exit(0);
}

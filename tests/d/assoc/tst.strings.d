/*
 * The values of an associative array may be strings.
 * @flags: -q
 */
BEGIN
{
	name[1] = "one";
	name[2] = "two";
	printf("%s %s %d\n", name[1], name[2], name[3] == NULL);
	name[1] = name[2];
	printf("%s\n", name[1]);
	exit(0);
}

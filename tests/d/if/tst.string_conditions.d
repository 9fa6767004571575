/*
 * A condition may compare strings and call subroutines.
 * @flags: -q
 */
BEGIN
{
	if (probename == "BEGIN" && strlen(execname) > 0) printf("yes\n");
	else printf("no\n");
	exit(0);
}

/*
 * A constant index into a member of curlwpsinfo is within its bounds, whether or not the session can tell its value.
 */
BEGIN
{
	trace(curlwpsinfo->pr_name[256]);
	exit(0);
}

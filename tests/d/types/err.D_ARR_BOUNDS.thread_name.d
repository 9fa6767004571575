/*
 * A constant index into a member of curlwpsinfo is within its bounds, even if the member's value is unknown.
 */
BEGIN
{
	trace(curlwpsinfo->pr_name[256]);
	exit(0);
}

/*
 * A constant index into a curlwpsinfo member must be in bounds, even if the member's value is unknown.
 */
BEGIN
{
	trace(curlwpsinfo->pr_name[256]);
	exit(0);
}

/*
 * trunc without a number removes all keys.
 * @flags: -q
 */
BEGIN
{
	@["a"] = sum(5);
	@["b"] = sum(6);
	printa("%s %@d\n", @);
	trunc(@);
	printa("%s %@d\n", @);
	printf("end\n");
	exit(0);
}

/*
 * setopt can change the sort options of printa.
 * @flags: -q
 */
BEGIN
{
	@["a"] = sum(2);
	@["b"] = sum(1);
	printa("%s", @);
	setopt("aggsortkey", "true");
	printa("%s", @);
	setopt("aggsortrev", "true");
	printa("%s", @);
	printf("\n");
	exit(0);
}

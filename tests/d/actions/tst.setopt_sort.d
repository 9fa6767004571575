/*
 * printa uses the sort options that setopt has set.
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

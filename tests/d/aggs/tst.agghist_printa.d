/*
 * printa() without a format draws a table each time, until setopt() turns agghist off.
 * @flags: -q -x agghist
 */
BEGIN
{
	@["a"] = sum(10);
	@["b"] = sum(30);
	printa(@);
	normalize(@, 10);
	printa(@);
	setopt("agghist", "no");
	printa(@);
	exit(0);
}

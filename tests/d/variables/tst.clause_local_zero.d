/*
 * A clause-local variable is zero at the beginning of each firing.
 * @flags: -q
 */
this int a;
this string s;

tick-20ms
{
	printf("%d [%s]\n", this->a, this->s);
	this->a = 7;
	this->s = "set";
	n++;
}

tick-20ms / n == 2 / { exit(0); }

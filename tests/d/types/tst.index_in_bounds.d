/*
 * The last byte of a string may be indexed. After a cast or stringof, bounds are not checked.
 *
 * @flags: -q
 */
#pragma D option strsize=8

int a[4];
string words[int];

BEGIN
{
	words[1] = "abcdefghij";
	printf("%d %c%c\n", words[1][7], words[1][0], words[1][6]);
	a[3] = 7;
	printf("%d\n", a[3] + ((int *)&a[1])[2]);
	this->ten = (char *)alloca(16);
	this->ten[12] = 'z';
	printf("%c %c\n", (stringof(this->ten))[12], "twelve bytes long"[13]);
	exit(0);
}

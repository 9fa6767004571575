/* A syntax error names the token that it met, in the line of the token. */
BEGIN
{
	x = 1;
	y = * ;
}

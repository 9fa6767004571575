/* A syntax error names the unexpected token and its line. */
BEGIN
{
	x = 1;
	y = * ;
}

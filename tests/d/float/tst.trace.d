/*
 * trace() and print() accept doubles and floats.
 * @flags: -q
 */
float f;
BEGIN
{
	f = 0.5;
	trace(1.25);
	trace(" ");
	trace(f);
	trace(" ");
	print(f);
	trace(" ");
	print(f * 3);
	exit(0);
}
